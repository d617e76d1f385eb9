"""`trinity doctor`: what is missing and what is there, a line each."""

import configparser
import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.errors import TrinityError
from trinity.llm.client import table_price
from trinity.llm.keys import key_of
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.statistics import budget_left
from trinity.preflight import missing, model_config, sandbox_level
from trinity.preflight.pool import agent_lines
from trinity.smoke.pool_rung import ask_each

NEEDED_GB = {"simulated": 1, "recorded": 1, "litellm": 5}
"""Free space: half a million stored replies of about 4 kB, once in the store and once in packs and their copies."""
TRIES = 2
"""Attempts a call: the doctor tells of a server that does not answer, and waits for none."""
MILLION = 1_000_000


@dataclass
class Findings:
    """What the doctor saw.

    Attributes:
        missing: A line for each thing that is missing, with what to do; empty if all is there.
        present: A line for each thing that is there, and notes.
    """

    missing: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)


def examine(config: Config, *, ask: bool) -> Findings:
    """Looks at all that params.yaml needs.

    Args:
        config: Of params.yaml.
        ask: Whether each agent of a litellm pool gets one call (rung S6); what its store holds is not asked again.
    """
    found = Findings(missing(config))
    if config.pool.kind == "litellm":
        _agents(config, ask, found)
        found.missing.extend(_no_budget(config))
    for part in (_sandbox, _encoder, _disk, _dvc):
        found.present.extend(part(config))
    found.missing.extend(_no_space(config))
    found.missing = list(dict.fromkeys(found.missing))
    return found


def _agents(config: Config, ask: bool, found: Findings) -> None:
    ready, not_asked = [], []
    for agent in config.pool.agents:
        lines = agent_lines(config, agent, connect=ask)
        found.missing.extend(lines.values())
        if not lines.keys() & {"model", "provider"}:
            key = "key not set" if "key" in lines else _key(config, agent)
            found.present.append(f"agent {agent.name}: {agent.model}{_where(agent)}; {key}; {_price(agent)}")
        if lines:
            not_asked.append(f"answer of {agent.name}: not asked (no {', no '.join(lines)})")
        else:
            ready.append(agent)
    if not ask:
        found.present.append("answers: not asked for (--offline)")
        return
    found.present.extend(not_asked)
    if ready:
        _answers(config, ready, found)


def _answers(config: Config, ready: list[Agent], found: Findings) -> None:
    pool = config.pool.model_copy(update={"agents": ready, "tries": min(TRIES, config.pool.tries)})
    try:
        asked = ask_each(config.model_copy(update={"pool": pool}), "doctor")
    except TrinityError as error:
        found.missing.append(f"missing response store: {error}")
        return
    for name, answer in asked.items():
        if isinstance(answer, TrinityError):
            found.missing.append(f"missing answer of agent {name}: {str(answer).removeprefix(f'agent {name}: ')}")
            continue
        reply = answer.response
        most = "no limit" if answer.most is None else f"at most {answer.most}"
        odd = f"; {reply.cause}" if reply.cause else ""
        stored = {None: "not stored (live)", True: "stored and read back"}[answer.read_back]
        found.present.append(
            f"answer of {name}: {reply.completion_tokens} tokens ({most}), {reply.reasoning_tokens} of them "
            f"reasoning{odd}; {'stored before, not asked again' if answer.was_stored else f'asked now, {stored}'}"
        )
        agent = next(agent for agent in ready if agent.name == name)
        if (other := answer.other_model(agent)) is not None:
            found.present.append(
                f"note: {name} is {agent.model}, and the server{_where(agent)} says that it is {other}: if that is "
                "another model, its replies are kept under the wrong name (docs/pool.md: Servers of your own)"
            )


def _no_budget(config: Config) -> Iterator[str]:
    path, pool = store_directory(), config.pool
    if pool.responses == "replay" or not (path / "store.sqlite").exists():
        return
    try:
        with contextlib.closing(Database(path)) as database:
            ((usd, calls),) = database.rows("SELECT usd, calls FROM totals")
    except TrinityError:  # told as missing
        return
    left = budget_left(pool, usd, calls)
    if left.calls_left is not None and left.calls_left <= 0:
        yield f"missing budget: nothing is left of pool.budget_calls {left.calls:,}: raise it"
    if left.usd_left is not None and left.usd_left <= 0:
        yield f"missing budget: nothing is left of pool.budget_usd {left.usd:g}: raise it"


def _where(agent: Agent) -> str:
    return f" at {agent.api_base}" if agent.api_base else ""


def _key(config: Config, agent: Agent) -> str:
    if config.pool.responses == "replay":
        return "no key needed (replay)"
    name = key_of(agent)
    if name is None:
        return "no key sent" if agent.api_base else "key set"
    return f"key {name} set"


def _price(agent: Agent) -> str:
    read, written = table_price(agent, MILLION, 0), table_price(agent, 0, MILLION)
    if read is None or written is None:
        return "no price"
    source = "params.yaml" if agent.price else "litellm's table"
    return f"{read:g} and {written:g} US dollars per million tokens read and written ({source})"


def _sandbox(config: Config) -> Iterator[str]:
    try:
        level = sandbox_level(config)
    except TrinityError:  # told as missing
        return
    yield f"sandbox: {level}" if level else "sandbox: not needed, no task has code"


def _encoder(config: Config) -> Iterator[str]:
    slm = config.slm
    if slm.tiny is not None:
        yield f"encoder: {slm.model}, made from its configuration, hidden size {slm.tiny.hidden_size}"
        return
    path = model_config(slm.model)
    if path is None:  # told as missing
        return
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raw = None
    sizes = raw if isinstance(raw, dict) else {}
    size = sizes.get("hidden_size") or (sizes.get("text_config") or {}).get("hidden_size") or "not said in config.json"
    yield f"encoder: {slm.model}, hidden size {size}"


def _disk(config: Config) -> Iterator[str]:
    free = ", ".join(f"{_free_gb(path):.0f} GB free at {path}" for path in _places())
    yield f"disk: {free}; about {NEEDED_GB[config.pool.kind]} GB are needed"


def _no_space(config: Config) -> Iterator[str]:
    needed = NEEDED_GB[config.pool.kind]
    for path in _places():
        if _free_gb(path) < needed:
            yield f"missing space: {_free_gb(path):.1f} GB free at {path}, about {needed} GB are needed: make room"


def _places() -> list[Path]:
    """Where responses and DVC's cache are kept."""
    return [store_directory(), Path(".dvc") / _dvc_settings().get("cache", {}).get("dir", "cache")]


def _free_gb(path: Path) -> float:
    there = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    return shutil.disk_usage(there).free / 1e9


def _dvc(config: Config) -> Iterator[str]:
    if not Path(".dvc").is_dir():
        yield "dvc: no repository here: `dvc init` makes one (a note: stages can be run by hand)"
        return
    remotes = [name.split('"')[1] for name in _dvc_settings() if name.startswith('remote "')]
    if remotes:
        yield f"dvc: repository, remote {', '.join(remotes)}"
    else:
        yield "dvc: repository, no remote: `dvc remote add -d NAME PLACE` before `dvc push` (a note)"


def _dvc_settings() -> dict[str, dict[str, str]]:
    """The sections of the repository's DVC configuration, the local one last."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read([".dvc/config", ".dvc/config.local"], encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return {section.strip("'"): dict(parser[section]) for section in parser.sections()}
