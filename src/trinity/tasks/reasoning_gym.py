"""`reasoning_gym.GENERATOR`: any generator of the reasoning-gym library as a task (an optional extra)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.rewards.child import Child, Limits
from trinity.rewards.reasoning_gym import VERSION, refusal
from trinity.rng import integer
from trinity.tasks.base import Splits
from trinity.types import Item, Split

PREFIX = "reasoning_gym."
SIZES: Mapping[Split, int] = {"train": 400, "valid": 100, "test": 200}
BATCH = 20
# A generator that gives fewer new questions than one in ten has too few of them for the sizes asked for.
DRAWS_PER_ITEM = 10
LIMITS = Limits(cpu_seconds=300, wall_seconds=1200, memory_bytes=4 << 30, file_bytes=256 << 20)

_INSTRUCTION = "Reply with your reasoning, then give the final answer alone between <answer> and </answer>."


class ReasoningGymTask:
    """One generator of the library (`Task`).

    The splits have different seeds, keyed by `data.seed`, and no question stands twice. Their sizes are `data.n_*` or,
    without one, `SIZES`. Left out are entries that their own scorer grades wrongly: it does not take the entry's own
    answer for right, or takes nonsense for it.

    Attributes:
        name: `reasoning_gym.GENERATOR`.
        reward: reasoning_gym.
        evaluation_only: False.

    Raises:
        DataError: the library is absent or of another version, or the generator is refused.
    """

    reward = "reasoning_gym"
    evaluation_only = False

    def __init__(self, name: str, data: Data) -> None:
        self.name = name
        self._generator = name.removeprefix(PREFIX)
        self._data = data
        reason = refusal(self._generator)
        if reason is not None:
            raise DataError(reason)

    def load(self) -> Splits:
        """Draws the items; see `Task.load`.

        Raises:
            DataError: the library has no such generator, or it has too few questions.
        """
        child = Child("trinity.tasks.reasoning_gym_child", LIMITS)
        questions: set[str] = set()
        left_out: Counter[str] = Counter()
        try:
            # Test first: more training items must not take questions away from it.
            items = {split: self._items(child, split, questions, left_out) for split in ("test", "valid", "train")}
        finally:
            child.close()
        provenance = {
            "source": "generated",
            "generator": f"reasoning-gym {VERSION}: {self._generator}",
            "left_out": dict(sorted(left_out.items())),
        }
        return Splits({split: items[split] for split in SIZES}, provenance)

    def _items(self, child: Child, split: Split, questions: set[str], left_out: Counter[str]) -> tuple[Item, ...]:
        wanted = {"train": self._data.n_train, "valid": self._data.n_valid, "test": self._data.n_test}[split]
        size = wanted if wanted is not None else SIZES[split]
        items: list[Item] = []
        for identity, entry in self._draws(child, split, DRAWS_PER_ITEM * size):
            if entry["question"] in questions:
                left_out["asked before"] += 1
            elif entry["fault"] is not None:
                left_out[entry["fault"]] += 1
            else:
                questions.add(entry["question"])
                items.append(self._item(identity, entry))
                if len(items) == size:
                    return tuple(items)
        reasons = ", ".join(f"{count} left out: {fault}" for fault, count in sorted(left_out.items()))
        raise DataError(
            f"task {self.name}: {len(items)} of {size} {split} items after {DRAWS_PER_ITEM * size} draws ({reasons}): "
            f"lower data.n_{split} or choose another generator"
        )

    def _draws(self, child: Child, split: Split, limit: int) -> Iterator[tuple[str, dict[str, Any]]]:
        for batch in range(-(-limit // BATCH)):
            seed = integer(2**31, "reasoning_gym", self._data.seed, self._generator, split, batch)
            reply = child.call({"generator": self._generator, "seed": seed, "size": BATCH})
            drawn = self._parsed(reply.text, reply.ending)
            for index, entry in enumerate(drawn):
                yield f"{seed}-{index}", entry

    def _parsed(self, text: str, ending: str) -> list[dict[str, Any]]:
        try:
            result = json.loads(text)
        except ValueError:
            raise DataError(f"task {self.name}: the generator failed ({text[:200] or ending})") from None
        if "unknown" in result:
            raise DataError(f"task {self.name}: no such generator; there are: {', '.join(result['unknown'])}")
        entries: list[dict[str, Any]] = result["entries"]
        return entries

    def _item(self, identity: str, entry: Mapping[str, Any]) -> Item:
        stem = entry["question"]
        extra = {"stem": stem}
        if entry["answer"] is not None:
            extra["canonical"] = entry["answer"]
        return Item(
            id=identity,
            task=self.name,
            domain=entry["category"],
            question=f"{stem}\n\n{_INSTRUCTION}",
            reward="reasoning_gym",
            reference={"generator": self._generator, "entry": entry["packed"]},
            extra=extra,
        )
