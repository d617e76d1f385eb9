"""The demo's tasks: their sizes, their items, and how they are split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from trinity.errors import DataError
from trinity.rng import generator, shuffled
from trinity.tasks.base import Splits
from trinity.tasks.demo import choice, code, freeform, math
from trinity.tasks.demo.question import Generator, Question
from trinity.types import SPLITS, Item, Split

# Items of a task before the caps of data.n_*, all domains together.
ITEMS = 300
RELEASES = {"v1": 240, "v6": 60}
HELD_OUT = 0.2  # test of all, and validation of the rest (spec section 6.1)
ATTEMPTS = 1000


@dataclass(frozen=True)
class Kind:
    """A demo task: its reward, a generator for each domain, and whether its split is by release."""

    reward: str
    domains: Mapping[str, Generator]
    by_release: bool = False


KINDS = {
    "demo_math": Kind("math", {"equations": math.equations, "areas": math.areas, "percentages": math.percentages}),
    "demo_choice": Kind("choice", {"calendar": choice.calendar, "units": choice.units, "sequences": choice.sequences}),
    "demo_freeform": Kind(
        "freeform", {"reversal": freeform.reversal, "counting": freeform.counting, "roman": freeform.roman}
    ),
    "demo_code": Kind("code", {"strings": code.strings, "lists": code.lists, "numbers": code.numbers}, by_release=True),
}


class DemoTask:
    """A generated task (`Task`): the same seed gives the same items, and no two items of a task ask the same.

    Three domains in equal numbers and interleaved. The holdout is a keyed draw within each domain, so that every split
    has all three: 20 % for test, 20 % of the rest for validation. The code task is split by release, as LiveCodeBench
    is: release v6 is the test split; v1 is divided 80/20 into train and validation.

    Attributes:
        name: As in params.yaml; one of `KINDS`.
    """

    evaluation_only = False

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._kind = KINDS[name]
        self.reward = self._kind.reward
        self._seed = seed

    def load(self) -> Splits:
        """Generates the items; see `Task.load`."""
        by_domain = [self._split(domain, self._items(domain)) for domain in self._kind.domains]
        items = {split: _interleaved([parts[split] for parts in by_domain]) for split in SPLITS}
        how = "by release: v1 to train and valid, v6 to test" if self._kind.by_release else "holdout within domain"
        return Splits(items, {"source": "generated", "split": how})

    def _items(self, domain: str) -> list[Item]:
        count = sum(RELEASES.values()) if self._kind.by_release else ITEMS
        questions: dict[str, Question] = {}
        for number in range(count // len(self._kind.domains)):
            question = self._question(domain, number, questions)
            questions[question.key] = question
        return [self._item(domain, number, question) for number, question in enumerate(questions.values())]

    def _question(self, domain: str, number: int, taken: Mapping[str, Question]) -> Question:
        for attempt in range(ATTEMPTS):
            draw = generator("demo question", self._seed, self.name, domain, number, attempt)
            question = self._kind.domains[domain](draw)
            if question.key not in taken:
                return question
        raise DataError(f"task {self.name}: domain {domain} has no more than {number} different questions")

    def _item(self, domain: str, number: int, question: Question) -> Item:
        extra = {"right": question.right, "wrong": question.wrong, "malformed": question.malformed}
        if self._kind.by_release:
            extra["release"] = "v1" if number < RELEASES["v1"] // len(self._kind.domains) else "v6"
        return Item(
            id=f"{self.name}-{domain}-{number:04d}",
            task=self.name,
            domain=domain,
            question=question.text,
            reward=self._kind.reward,
            reference=question.reference,
            extra=extra,
        )

    def _split(self, domain: str, items: Sequence[Item]) -> dict[Split, list[Item]]:
        if self._kind.by_release:
            test = {item.id for item in items if item.extra["release"] == "v6"}
        else:
            test = self._held_out(items, "test", domain)
        valid = self._held_out([item for item in items if item.id not in test], "valid", domain)
        return {
            "train": [item for item in items if item.id not in test | valid],
            "valid": [item for item in items if item.id in valid],
            "test": [item for item in items if item.id in test],
        }

    def _held_out(self, items: Sequence[Item], split: Split, domain: str) -> set[str]:
        drawn = shuffled(items, "demo split", self._seed, self.name, domain, split)
        return {item.id for item in drawn[: round(HELD_OUT * len(drawn))]}


def _interleaved(domains: Sequence[Sequence[Item]]) -> tuple[Item, ...]:
    """One of each domain in turn."""
    return tuple(chain.from_iterable(zip(*domains, strict=True)))
