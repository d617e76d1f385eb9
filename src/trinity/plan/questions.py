"""How many questions each split of a task has, as far as it is known before the splits are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trinity.config import Config
from trinity.config.tasks import Caps
from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark
from trinity.tasks.holdout import HELD_OUT
from trinity.tasks.reasoning_gym import PREFIX, SIZES
from trinity.tasks.registry import BENCHMARKS, get_task
from trinity.tasks.splits import MANIFEST, cap_splits, read_manifest, read_split, splits_directory
from trinity.types import SPLITS, Item, Split


@dataclass(frozen=True, eq=False)
class Questions:
    """The items of a split.

    Attributes:
        number_of: By item, the number of its question: items that ask the same have one, shape (items,).
        texts: By number, what is asked; None where the items are not made yet.
    """

    number_of: np.ndarray
    texts: tuple[str, ...] | None

    @classmethod
    def of(cls, items: Sequence[Item]) -> "Questions":
        """Those of items that exist."""
        numbers: dict[str, int] = {}
        number_of = [numbers.setdefault(item.question, len(numbers)) for item in items]
        return cls(np.array(number_of, dtype=int), tuple(numbers))

    @classmethod
    def unseen(cls, items: int) -> "Questions":
        """As many that are taken to differ."""
        return cls(np.arange(items), None)

    def apart(self) -> "Questions":
        """Every item as a question of its own, whatever it asks."""
        texts = self.texts
        return Questions(np.arange(self.items), texts and tuple(texts[number] for number in self.number_of))

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.number_of)

    @property
    def count(self) -> int:
        """The number of questions that differ."""
        return int(self.number_of.max()) + 1 if self.items else 0


@dataclass(frozen=True)
class TaskQuestions:
    """A task's questions by split, and what had to be assumed of them; None where nothing had to."""

    task: str
    by_split: Mapping[Split, Questions]
    assumed: str | None = None


def questions_of(config: Config, task: str) -> TaskQuestions:
    """The questions of data/splits/TASK, or what will stand there.

    Raises:
        DataError: the splits are damaged, or their sizes cannot be told before they are made.
    """
    directory = splits_directory(task)
    if (directory / MANIFEST).is_file():
        manifest = read_manifest(directory)
        before = manifest.get("sizes_before_caps", manifest["sizes"])
        wanted = _capped(config, task, before)
        if wanted == manifest["sizes"] and manifest.get("seed") == config.data.seed:
            return TaskQuestions(task, {split: Questions.of(read_split(directory, split)) for split in SPLITS})
        return _unseen(task, wanted, f"sizes of {task}: its splits were made with other data.* and will be made again")
    if task.startswith(PREFIX):
        own = {"train": config.data.n_train, "valid": config.data.n_valid, "test": config.data.n_test}
        return _unseen(task, {split: own[split] or SIZES[split] for split in SPLITS}, _not_made(task))
    if task in BENCHMARKS and task not in config.data.outcomes:
        return _unseen(task, _sizes_of_download(config, task), _not_made(task))
    made = cap_splits(task, get_task(config, task).load(), config.data)
    by_split = {split: Questions.of(made.items[split]) for split in SPLITS}
    return TaskQuestions(task, by_split, _not_made(task))


def _not_made(task: str) -> str:
    return f"sizes of {task}: its splits are not made yet, and duplicates may still be taken out"


def _unseen(task: str, sizes: Mapping[Split, int], assumed: str) -> TaskQuestions:
    return TaskQuestions(task, {split: Questions.unseen(sizes[split]) for split in SPLITS}, assumed)


def _capped(config: Config, task: str, sizes: Mapping[str, int]) -> dict[Split, int]:
    caps = _caps(config, task)
    return {split: min([sizes[split], *caps[split]]) for split in SPLITS}


def _caps(config: Config, task: str) -> dict[Split, list[int]]:
    data, none = config.data, Caps(train=None, valid=None, test=None)
    own = data.caps.get(task, none)
    caps: dict[Split, tuple[int | None, int | None]] = {
        "train": (data.n_train, own.train), "valid": (data.n_valid, own.valid), "test": (data.n_test, own.test),
    }  # fmt: skip
    return {split: [cap for cap in caps[split] if cap is not None] for split in SPLITS}


def _sizes_of_download(config: Config, task: str) -> dict[Split, int]:
    """What a benchmark's pinned download holds, divided as its loader does, and capped; else the caps alone."""
    loader = get_task(config, task)
    rows = dict(loader.hub.rows) if isinstance(loader, Benchmark) and task not in config.data.source else {}
    if len(rows) == 1 or {"train", "test"} <= rows.keys():
        (rest,) = rows.values() if len(rows) == 1 else (rows["train"],)
        test = rows.get("test", 0) if len(rows) > 1 else round(HELD_OUT * rest)
        rest -= 0 if len(rows) > 1 else test
        valid = rows.get("valid", round(HELD_OUT * rest))
        rest -= 0 if "valid" in rows else valid
        return _capped(config, task, {"train": rest, "valid": valid, "test": test})
    caps = _caps(config, task)
    if not all(caps.values()):
        raise DataError(
            f"the number of its questions is not known: `python stages/split.py --task {task}`, or cap it with "
            f"data.n_train, data.n_valid, data.n_test or data.caps.{task}"
        )
    return {split: min(caps[split]) for split in SPLITS}
