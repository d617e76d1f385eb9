"""A task's splits on disk: capped, one JSON line an item, with a manifest that is written last.

The manifest's presence means that a folder is complete; its checksums, that nobody touched it since.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from trinity.config.tasks import Caps, Data
from trinity.errors import DataError
from trinity.rng import shuffled
from trinity.tasks.base import Splits
from trinity.types import SPLITS, Item, Split

MANIFEST = "manifest.json"
_TEXTS = ("id", "task", "domain", "question", "reward")
_FIELDS = tuple(field.name for field in fields(Item))


def splits_directory(task: str) -> Path:
    """Where the stage `split` puts a task's splits."""
    return Path("data/splits") / task


def cap_splits(task: str, splits: Splits, data: Data) -> Splits:
    """At most `data.n_SPLIT` and `data.caps[task]` items by a draw keyed by seed, task and split; their order stays."""
    own = data.caps.get(task, Caps(train=None, valid=None, test=None))
    caps = {
        "train": _lower(data.n_train, own.train),
        "valid": _lower(data.n_valid, own.valid),
        "test": _lower(data.n_test, own.test),
    }
    kept: dict[Split, tuple[Item, ...]] = {}
    for split in SPLITS:
        items = splits.items[split]
        drawn = sorted(shuffled(range(len(items)), "cap", data.seed, task, split)[: caps[split]])
        kept[split] = tuple(items[index] for index in drawn)
    return Splits(kept, splits.provenance)


def write_splits(
    directory: Path,
    task: str,
    splits: Splits,
    data: Data,
    duplicates: Mapping[str, Any] | None = None,
    *,
    evaluation_only: bool = False,
) -> dict[str, int]:
    """Caps the splits and writes `train.jsonl`, `valid.jsonl`, `test.jsonl` and the manifest.

    Args:
        directory: Where to; it is made.
        task: Name of the task.
        splits: What is left after duplicates are removed.
        data: The section `data` of params.yaml: seed and caps.
        duplicates: What was counted and removed (`trinity.tasks.duplicates`), for the manifest.
        evaluation_only: The task has a test split alone.

    Returns:
        The number of items written, by split.

    Raises:
        DataError: a split is empty (of a task for evaluation only: test is), two items have one id, or a text is no
            Unicode.
    """
    kept = cap_splits(task, splits, data)
    _check(task, kept, evaluation_only)
    directory.mkdir(parents=True, exist_ok=True)
    manifest = directory / MANIFEST
    manifest.unlink(missing_ok=True)
    checksums = {}
    for split in SPLITS:
        content = b"".join(_line(item) for item in kept.items[split])
        _file(directory, split).write_bytes(content)
        checksums[split] = hashlib.sha256(content).hexdigest()
    sizes: dict[str, int] = {split: len(kept.items[split]) for split in SPLITS}
    description = {
        "task": task,
        "evaluation_only": evaluation_only,
        "seed": data.seed,
        "sizes": sizes,
        "sizes_before_caps": {split: len(splits.items[split]) for split in SPLITS},
        "domains": {split: Counter(item.domain for item in kept.items[split]) for split in SPLITS},
        "sha256": checksums,
        "duplicates": duplicates,
        "provenance": splits.provenance,
    }
    text = json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    manifest.write_text(text, encoding="utf-8")
    return sizes


def read_manifest(directory: Path) -> dict[str, Any]:
    """What `write_splits` says of the splits.

    Raises:
        DataError: the splits were not made, or not to the end; or the file is no manifest.
    """
    path = directory / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{path}: not found: make the splits with `dvc repro`, or stages/split.py --task NAME"
        ) from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    if not isinstance(manifest, dict) or not {"task", "sizes", "sha256"} <= manifest.keys():
        raise DataError(f"{path}: no manifest of splits: make the splits again")
    return manifest


def read_split(directory: Path, split: Split) -> list[Item]:
    """The items of one split, checked row by row and against the manifest.

    Raises:
        DataError: a file is absent or differs from the manifest, or a row is unusable; names file and row.
    """
    manifest = read_manifest(directory)
    path = _file(directory, split)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}: make the splits again") from None
    items: dict[str, Item] = {}
    # Not splitlines(): a question may hold other line separators.
    lines = content.removesuffix(b"\n").split(b"\n")
    if not content and manifest.get("evaluation_only"):
        lines = []
    for number, line in enumerate(lines, 1):
        where = f"{path}: row {number}"
        item = _item(line, where)
        if item.id in items:
            raise DataError(f"{where}: id {item.id!r} is there twice")
        if item.task != manifest["task"]:
            raise DataError(f"{where}: task {item.task!r}, but the manifest says {manifest['task']!r}")
        items[item.id] = item
    if hashlib.sha256(content).hexdigest() != manifest["sha256"].get(split):
        raise DataError(f"{path}: differs from what {MANIFEST} says was written: make the splits again")
    return list(items.values())


def _file(directory: Path, split: Split) -> Path:
    return directory / f"{split}.jsonl"


def _line(item: Item) -> bytes:
    try:
        return (json.dumps(asdict(item), sort_keys=True, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError as error:
        raise DataError(f"task {item.task}: item {item.id!r}: a text is no Unicode: {error.reason}") from None


def _item(line: bytes, where: str) -> Item:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError(f"{where}: not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: not a JSON object")
    missing = [name for name in _FIELDS if name not in row]
    unknown = [name for name in row if name not in _FIELDS]
    if missing or unknown:
        problem = f"missing {', '.join(missing)}" if missing else f"unknown field {', '.join(unknown)}"
        raise DataError(f"{where}: {problem}")
    for name in _TEXTS:
        if not isinstance(row[name], str) or not row[name].strip():
            raise DataError(f"{where}: {name} must be a text that is not empty")
    if not isinstance(row["extra"], dict):
        raise DataError(f"{where}: extra must be an object")
    # A recorded outcome is graded by its score: its source may know no reference.
    if row["reward"] != "recorded" and _empty(row["reference"]):
        raise DataError(f"{where}: reference is empty, so nothing could be graded")
    return Item(**row)


def _empty(reference: Any) -> bool:
    return reference is None or (isinstance(reference, str | list | dict) and not reference) or str(reference).isspace()


def _lower(first: int | None, second: int | None) -> int | None:
    caps = [cap for cap in (first, second) if cap is not None]
    return min(caps) if caps else None


def _check(task: str, splits: Splits, evaluation_only: bool) -> None:
    taken: dict[str, Split] = {}
    for split in SPLITS:
        if not splits.items[split] and (split == "test" or not evaluation_only):
            raise DataError(f"task {task}: split {split} is empty")
        for item in splits.items[split]:
            if item.id in taken:
                raise DataError(f"task {task}: id {item.id!r} is in {taken[item.id]} and again in {split}")
            taken[item.id] = split
