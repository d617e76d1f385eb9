"""The tasks of short questions: the mixture `small`, and one task a kind."""

from collections.abc import Mapping

from trinity.errors import DataError
from trinity.rng import generator
from trinity.tasks.base import Splits
from trinity.tasks.small.kinds import KINDS, Question
from trinity.types import SPLITS, Item, Split

MIXTURE = "small"
SMALL_TASKS = (MIXTURE, *(f"{MIXTURE}.{kind}" for kind in KINDS))
# Items of the mixture by split; each kind has an equal share.
SIZES: Mapping[Split, int] = {"train": 400, "valid": 60, "test": 400}
ATTEMPTS = 1000


class SmallTask:
    """A generated task (`Task`) of short questions: `small` has every kind in turn, `small.KIND` the same of one kind.

    The same seed gives the same items, and a question of `small.KIND` is one of `small`, by id and by text: responses
    that were recorded on the mixture serve the kinds too. No two items ask the same.

    Attributes:
        name: As in params.yaml; one of `SMALL_TASKS`.
    """

    evaluation_only = False
    reward = "freeform"

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        kind = name.removeprefix(MIXTURE).removeprefix(".")
        self._kinds = (kind,) if kind else tuple(KINDS)
        self._seed = seed

    def load(self) -> Splits:
        """Generates the items; see `Task.load`."""
        questions = {kind: self._questions(kind) for kind in self._kinds}
        items: dict[Split, tuple[Item, ...]] = {}
        start = 0
        for split in SPLITS:
            end = start + SIZES[split] // len(KINDS)
            items[split] = tuple(
                self._item(kind, number, questions[kind][number])
                for number in range(start, end)
                for kind in self._kinds
            )
            start = end
        return Splits(items, {"source": "generated", "split": "by number within kind", "kinds": list(self._kinds)})

    def _questions(self, kind: str) -> list[Question]:
        """The kind's questions in the order of their numbers: independent draws, so that any run of them is a split."""
        questions: dict[str, Question] = {}
        for number in range(sum(SIZES.values()) // len(KINDS)):
            for attempt in range(ATTEMPTS):
                question = KINDS[kind](generator("small question", self._seed, kind, number, attempt))
                if question.text not in questions:
                    questions[question.text] = question
                    break
            else:
                raise DataError(f"task {self.name}: kind {kind} has no more than {number} different questions")
        return list(questions.values())

    def _item(self, kind: str, number: int, question: Question) -> Item:
        return Item(
            id=f"{MIXTURE}-{kind}-{number:04d}",
            task=self.name,
            domain=kind,
            question=question.text,
            reward=question.reward,
            reference=question.reference,
        )
