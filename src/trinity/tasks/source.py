"""Where a benchmark's rows come from: a pinned download from the Hugging Face Hub, or a local copy of it."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.files import SUFFIXES, Located, is_data_file, read_file, sha256_of

POOL = "all"
# Where messages propose to put a file by hand.
BY_HAND = Path("data/sources")

_SPLIT_OF_STEM = {"train": "train", "valid": "valid", "validation": "valid", "val": "valid", "test": "test"}
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


@dataclass(frozen=True)
class Hub:
    """A data set of the Hugging Face Hub.

    Attributes:
        repository: owner/name.
        revision: The commit; None has no pin.
        files: By split, files inside the repository.
        rows: By split, how many rows a download must have (at the pinned commit).
        gated: Its terms must be accepted on its page first.
    """

    repository: str
    revision: str | None
    files: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    gated: bool = False


@dataclass(frozen=True)
class Rows:
    """What was read.

    Attributes:
        by_split: Pairs (where, row); `where` is "file: row N", for messages. A file without splits is the split "all".
        provenance: Source, revision, and of each file its split, checksum and row count: JSON-able, for the manifest.
    """

    by_split: Mapping[str, tuple[Located, ...]]
    provenance: Mapping[str, Any]


def read_rows(task: str, hub: Hub, data: Data) -> Rows:
    """The rows of a benchmark: of `data.source[task]` where it is given, else of the download.

    A local file is one split, "all". A local folder holds the files of the repository under their own names or by
    their last part, and further files named train, valid (or validation, val) or test; or one file, which is "all".

    Raises:
        DataError: there is no such file, the download is refused or its row count is another, or a row is unusable;
            says what to do.
    """
    local = data.source.get(task)
    if local is not None:
        return _local(task, hub, Path(local))
    revision = data.revision.get(task, hub.revision)
    by_split: dict[str, tuple[Located, ...]] = {}
    described: list[dict[str, Any]] = []
    for split, names in hub.files.items():
        rows: list[Located] = []
        for name in names:
            read = _described(_download(task, hub, revision, name), f"{hub.repository}/{name}", split, described)
            rows.extend(read)
        by_split[split] = tuple(rows)
        expected = hub.rows.get(split)
        if revision == hub.revision and expected is not None and len(by_split[split]) != expected:
            raise DataError(
                f"task {task}: {hub.repository} at {revision}: {split} has {len(by_split[split])} rows, expected "
                f"{expected}: the download is damaged or the pin is wrong: remove it from the cache and try again"
            )
    source: dict[str, Any] = {"source": "hub", "repository": hub.repository, "revision": revision, "files": described}
    return Rows(by_split, source)


def _local(task: str, hub: Hub, path: Path) -> Rows:
    key = f"data.source.{task}"
    if path.is_file():
        files = {POOL: [path]}
    elif path.is_dir():
        files = _folder(key, hub, path)
    else:
        raise DataError(f"{path}: no such file or folder ({key})")
    described: list[dict[str, Any]] = []
    by_split = {
        split: tuple(row for name in names for row in _described(name, str(name), split, described))
        for split, names in files.items()
    }
    return Rows(by_split, {"source": "local", "path": str(path), "files": described})


def _folder(key: str, hub: Hub, folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    absent = []
    for split, names in hub.files.items():
        found = {name: _find(folder, name) for name in names}
        files[split] = [path for path in found.values() if path is not None]
        absent += [name for name, path in found.items() if path is None]
    files = {split: paths for split, paths in files.items() if paths}
    if files and absent:
        raise DataError(f"{folder}: lacks {', '.join(absent)} beside the other files of {hub.repository} ({key})")
    claimed = {path for paths in files.values() for path in paths}
    others = [
        path for path in sorted(folder.iterdir()) if is_data_file(path) and path.is_file() and path not in claimed
    ]
    for path in others:
        stem = path.name.split(".")[0]
        named = _SPLIT_OF_STEM.get(_SHARD.sub("", stem))
        if named is None:
            continue
        if named in files and not (_SHARD.search(stem) and files[named][-1] in others):
            raise DataError(f"{folder}: {files[named][-1].name} and {path.name} are both {named} ({key}): remove one")
        files.setdefault(named, []).append(path)
    if not files and len(others) == 1:
        return {POOL: others}
    if not files:
        found_names = ", ".join(path.name for path in others) or "no data file"
        raise DataError(
            f"{folder}: holds {found_names}: name one file in {key}, or call the files train, valid, test with one "
            f"of the endings {', '.join(SUFFIXES)}"
        )
    return files


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / Path(name).name) if path.is_file()), None)


def _described(path: Path, shown: str, split: str, described: list[dict[str, Any]]) -> tuple[Located, ...]:
    rows = read_file(path, shown)
    described.append({"split": split, "file": shown, "sha256": sha256_of(path), "rows": len(rows)})
    return rows


def _download(task: str, hub: Hub, revision: str | None, name: str) -> Path:
    """The cached file of a commit without asking the network, else through `datasets`."""
    from datasets import DownloadConfig, DownloadManager
    from huggingface_hub import try_to_load_from_cache

    if revision is not None:
        cached = try_to_load_from_cache(hub.repository, name, revision=revision, repo_type="dataset")
        if isinstance(cached, str):
            return Path(cached)
    at = f"@{revision}" if revision else ""
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it reports every retry
    try:
        manager = DownloadManager(download_config=DownloadConfig(disable_tqdm=True))
        return Path(manager.download(f"hf://datasets/{hub.repository}{at}/{name}"))
    except Exception as error:  # the client's own errors, the HTTP library's, the system's
        raise _unreachable(task, hub, name, error) from None


def _unreachable(task: str, hub: Hub, name: str, error: Exception) -> DataError:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    terms = (
        f"accept the terms at https://huggingface.co/datasets/{hub.repository} and run `hf auth login`, or "
        if hub.gated
        else "connect and run again, or "
    )
    path = BY_HAND / task / Path(name).name
    return DataError(
        f"task {task}: {hub.repository}/{name} cannot be had ({reason}): {terms}put the file at {path} and set "
        f"data.source.{task}: {path.parent}"
    )
