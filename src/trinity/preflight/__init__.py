"""What must be there before any work: all of it is checked together, one line for each thing that is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path

from trinity.config import Config
from trinity.errors import TrinityError
from trinity.preflight.pool import pool_lines
from trinity.roles.prompts import load_prompts
from trinity.tasks.registry import BENCHMARKS, GENERATORS, get_task, known_tasks

OUTCOMES, SOURCES, ROLES = "data/outcomes", "data/sources", "src/trinity/roles"


def require_all(config: Config) -> None:
    """Raises one error with a line `missing X: do Y` for each thing that is missing."""
    lines = missing(config)
    if lines:
        raise TrinityError("\n".join(lines))


def missing(config: Config) -> list[str]:
    """The lines, in the order pool, key, model, device, data, prompts, sandbox; empty if all is there."""
    parts = (pool_lines, _model, _device, _data, _prompts, _sandbox)
    return [line for part in parts for line in part(config)]


def _model(config: Config) -> Iterator[str]:
    name = config.slm.model
    if config.slm.tiny is not None or model_config(name) is not None:
        return
    folder = f"put a folder with config.json, tokenizer and safetensors at {name}" if Path(name).parent.exists() else ""
    yield f"missing model {name}: run `hf download {name}` once while connected{', or ' + folder if folder else ''}"


def model_config(name: str) -> Path | None:
    """The config.json of a model that is on this machine, in a folder or in the Hub's cache; None if it is not."""
    if (Path(name) / "config.json").is_file():
        return Path(name) / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def _device(config: Config) -> Iterator[str]:
    if not config.slm.device.startswith("cuda"):
        return
    import torch

    wanted = int(config.slm.device.partition(":")[2] or 0)
    if wanted >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        yield f"missing device {config.slm.device}: {count} CUDA devices are visible: set slm.device to auto or cpu"


def _data(config: Config) -> Iterator[str]:
    yield from _settings_of_tasks(config)
    for name in config.tasks:
        try:
            task = get_task(config, name)
        except TrinityError as error:
            yield f"missing data: {error}"
            continue
        if task.evaluation_only:
            yield (
                f"missing training questions: task {name}: for evaluation only: cannot be trained on; the transfer "
                "stage that evaluates it is not built yet; its split can be made with "
                f"`python stages/split.py --task {name}`: leave it out of tasks"
            )
        table = config.data.outcomes.get(name)
        if table is None:
            continue
        if not Path(table.path).is_file():
            yield f"missing data {table.path}: make it with `trinity import-outcomes`, or set data.outcomes.{name}.path"
        elif not _watched(table.path, OUTCOMES):
            yield f"missing watch on {table.path}: move it into {OUTCOMES}, or a change of it would go unseen"
        else:
            yield from _unreadable(task.load)


def _settings_of_tasks(config: Config) -> Iterator[str]:
    """What `data` says of a task that there is not, or has no source, or of a file that is not there."""
    data, known = config.data, known_tasks(config)
    for section in ("caps", "source", "revision", "decontaminate"):
        for name in getattr(data, section):
            if name not in known and not name.startswith(GENERATORS):
                yield f"missing task {name}: data.{section}: no such task; available: {', '.join(known)}"
    for section in ("source", "revision"):
        for name in getattr(data, section):
            if name not in BENCHMARKS and (name in known or name.startswith(GENERATORS)):
                yield f"missing download of {name}: data.{section}: it has none to replace: take it out"
    for name in set(data.source) & set(data.revision):
        yield f"missing choice for {name}: data.source and data.revision: a file or a commit, not both"
    for name, path in data.source.items():
        if not Path(path).exists():
            yield f"missing data {path}: put the file or folder there, or take data.source.{name} out"
        elif not _source_watched(path):
            yield (
                f"missing watch on {path}: move it into {SOURCES}, or a change of it would go unseen (one file may be "
                "linked there; DVC does not look into linked folders)"
            )
    for name in data.decontaminate:
        if name in known:
            try:
                get_task(config, name)
            except TrinityError as error:
                yield f"missing data: data.decontaminate: {error}"
    if config.grading.judge is not None:
        yield "missing judge: the stage that rates MT-Bench answers is not built yet: set grading.judge to null"


def _source_watched(path: str) -> bool:
    """Whether DVC sees changes: it follows a linked file, not a linked folder."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return folder.resolve().is_relative_to(Path(SOURCES).resolve())


def _prompts(config: Config) -> Iterator[str]:
    path = config.roles.prompts
    if path is None:
        return
    if not Path(path).is_file():
        yield f"missing prompts {path}: copy {ROLES}/prompts.yaml there, or set roles.prompts to null"
    elif not _watched(path, ROLES):
        yield f"missing watch on {path}: move it into {ROLES}, or a change of it would go unseen"
    else:
        yield from _unreadable(lambda: load_prompts(path))


def _unreadable(read: Callable[[], object]) -> Iterator[str]:
    """The line of a file that is there and cannot be used."""
    try:
        read()
    except TrinityError as error:
        yield f"missing usable data: {error}"


def _watched(path: str, folder: str) -> bool:
    """Whether a file lies in a folder that dvc.yaml names as a dependency."""
    return Path(path).resolve().is_relative_to(Path(folder).resolve())


def _sandbox(config: Config) -> Iterator[str]:
    try:
        sandbox_level(config)
    except TrinityError as error:
        yield f"missing sandbox: {error}"


def sandbox_level(config: Config) -> str | None:
    """The level that code of the tasks runs at; None if no task has code.

    Raises:
        RewardError: no level of params.yaml holds on this machine.
    """
    if not any(_reward(config, name) == "code" for name in config.tasks):
        return None
    from trinity.rewards.sandbox.levels import best_level

    return best_level(tuple(config.sandbox.levels))


def _reward(config: Config, name: str) -> str | None:
    try:
        return get_task(config, name).reward
    except TrinityError:  # told above
        return None
