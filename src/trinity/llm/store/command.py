"""`trinity responses`: keeps, versions, shares and checks what real models answered (docs/responses.md)."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trinity.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trinity.config.pool import Pool
    from trinity.llm.store.database import Database, Entry

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Every reply of a real model is kept in .trinity/responses before it is used, and never paid again. Packs in
data/responses are how replies are versioned with DVC and shared; a run takes in the packs that it finds there.
docs/responses.md explains what a reply is kept under, and what happens to two replies to one call.
"""
ROOT = ("params.yaml", "dvc.yaml", ".dvc")
"""What a repository's root has."""
NOTHING = "no responses are stored yet in {}: a run with pool.kind: litellm and pool.responses: record stores them"


def add_parser(subparsers: "Subparsers") -> None:
    """Adds the subcommand; its `run` default takes the parsed arguments."""
    parser = subparsers.add_parser(
        "responses",
        help="what real models answered: pack | import | stats | verify | gc",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    pack = _add(
        commands, "pack", "write what no pack holds into a new pack, for DVC",
        "Writes the responses that no pack in data/responses holds into one new pack, and tracks it with `dvc add`. "
        "What to do next is printed: git add and commit, dvc push.",
    )  # fmt: skip
    pack.set_defaults(run=_in_repository(_pack))
    take = _add(
        commands, "import", "take in packs from elsewhere",
        "Takes packs into the store. Of two replies to one call the earlier stays, whatever came first, so that the "
        "order of imports does not matter. What is imported costs nothing of the budget.",
    )  # fmt: skip
    take.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH",
        help="a pack (.jsonl.gz), or a folder of packs (by default data/responses)",
    )  # fmt: skip
    take.set_defaults(run=_in_repository(_import))
    stats = _add(
        commands, "stats", "what is stored, what it cost, what of the budget is left",
        "Prints tokens, price and latency by agent, role and stage, calls that were made and calls that the store "
        "answered apart; the replies that are empty, filtered or cut; and what is left of the budget of params.yaml.",
    )  # fmt: skip
    stats.add_argument("--json", action="store_true", help="one JSON object alone on stdout")
    stats.set_defaults(run=_in_repository(_stats))
    verify = _add(
        commands, "verify", "check every response and every pack",
        "Reads everything, prints a line for each thing that is damaged, and ends with exit code 1 if something is "
        "and stays so.",
    )  # fmt: skip
    verify.add_argument(
        "--drop", action="store_true",
        help="take damaged responses out of the store: they are read from packs again, or asked again",
    )  # fmt: skip
    verify.set_defaults(run=_in_repository(_verify))
    collect = _add(
        commands, "gc", "take out what no agent can ask, and packs that others cover",
        "Takes out of the store what no agent of params.yaml can ask any more (another model, or other params; "
        "temperature, top_p and max_tokens may differ), and removes packs whose every response stands in others. "
        "Without --yes it only says what would go.",
    )  # fmt: skip
    collect.add_argument("--yes", action="store_true", help="do it")
    collect.set_defaults(run=_in_repository(_collect))


def _add(commands: "Subparsers", name: str, short: str, description: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=short, description=description)


def _in_repository(run: "Callable[[argparse.Namespace], int]") -> "Callable[[argparse.Namespace], int]":
    """A command that refuses to run elsewhere: a store beside the repository's would be a second one, and unseen."""

    def checked(args: argparse.Namespace) -> int:
        if "DVC_ROOT" not in os.environ and not any(Path(name).exists() for name in ROOT):
            raise StoreError(f"none of {', '.join(ROOT)} is here: run `trinity responses` in the repository's root")
        return run(args)

    return checked


def _store() -> "Database | None":
    """The store, if there is one."""
    from trinity.llm.store.database import Database, store_directory

    directory = store_directory()
    return Database(directory) if (directory / "store.sqlite").exists() else None


def _packs() -> Path:
    from trinity.llm.store.database import store_directory
    from trinity.llm.store.packs import packs_directory

    return packs_directory(store_directory())


def _pack(_: argparse.Namespace) -> int:
    from trinity.llm.store.database import store_directory
    from trinity.llm.store.packs import alone
    from trinity.llm.store.versioning import absent_packs, track, untracked_packs, why_not_tracked

    database, directory = _store(), _packs()
    if database is None and not untracked_packs(directory):
        print(NOTHING.format(store_directory()))
        return 0
    absent = absent_packs(directory)
    if absent:
        print(
            f"{len(absent)} packs are not here, `dvc pull` brings them: what they hold may be packed twice",
            file=sys.stderr,
        )
    with alone(directory):
        written = _write_new(database, directory) if database else None
        packs, why_not = untracked_packs(directory), why_not_tracked(directory)
        if packs and not why_not:
            track(packs)
    print(written or "nothing new: every response stands in a pack")
    names = ", ".join(path.name for path in packs)
    if packs and why_not:
        print(f"not tracked by DVC: {names}: {why_not}")
    elif packs:
        print(f"tracked by DVC: {names}")
        print(f'next: git add {directory}/*.dvc && git commit -m "Responses" && dvc push')
    return 0


def _write_new(database: "Database", directory: Path) -> str | None:
    """Packs what no pack holds; a line about it, None if there was nothing."""
    from trinity.llm.store.packs import mark_read, pack_files, progress, read_new_packs, read_pack, write_pack
    from trinity.llm.store.tables import megabytes

    read_new_packs(database)
    held = {
        entry.digest
        for path in pack_files(directory)
        for entry in progress(read_pack(path), f"reading {path.name}")
    }  # fmt: skip
    (total,) = database.rows("SELECT count(*) FROM replies")[0]
    count = 0

    def new() -> "Iterator[Entry]":
        nonlocal count
        for entry in progress(database.entries(), "packing", total):
            if entry.digest not in held:
                count += 1
                yield entry

    path = write_pack(directory, new())
    if path is None:
        return None
    mark_read(database, path)
    return f"{path}: {count:,} new responses, {megabytes(path.stat().st_size)}"


def _import(args: argparse.Namespace) -> int:
    from trinity.llm.store.database import Database, store_directory
    from trinity.llm.store.packs import SUFFIX, Taken, pack_files, take_in

    packs: list[Path] = []
    for path in args.paths or [_packs()]:
        found = pack_files(path) if path.is_dir() else [path]
        if not path.exists():
            raise StoreError(f"{path}: no such file: give a pack ({SUFFIX}) or a folder of packs")
        if not found:
            raise StoreError(
                f"{path}: no pack ({SUFFIX}) in it: where the store is, `trinity responses pack` writes one"
            )
        packs += found
    database = Database(store_directory())
    taken = Taken()
    for path in packs:
        taken = taken.plus(take_in(database, path))
    differ = taken.replaced + taken.left_out
    print(f"{len(packs)} packs: {taken.new:,} new responses, {taken.known:,} known, {differ:,} that differ")
    if taken.replaced:
        print(
            f"{taken.replaced:,} calls had a later reply here: the imported ones are kept, and results that were made "
            "here with the others will change when their stages run again"
        )
    if taken.left_out:
        print(
            f"{taken.left_out:,} calls had an earlier reply here: it is kept, and results that were made elsewhere "
            "with the others will come out otherwise here"
        )
    return 0


def _stats(args: argparse.Namespace) -> int:
    import json

    from trinity.llm.store.database import store_directory
    from trinity.llm.store.statistics import gather
    from trinity.llm.store.tables import show

    database = _store()
    statistics = gather(database, _packs(), _pool())
    if args.json:
        print(json.dumps(statistics.as_dict()))
    else:
        if database is None:
            print(NOTHING.format(store_directory()))
        print(show(statistics))
    if statistics.damaged:
        more = f" (and {len(statistics.damaged) - 1:,} more)" if len(statistics.damaged) > 1 else ""
        raise StoreError(statistics.damaged[0] + more)
    return 0


def _pool() -> "Pool | None":
    from trinity.config import load_config

    try:
        return load_config().pool
    except ConfigError:
        return None


def _verify(args: argparse.Namespace) -> int:
    from trinity.llm.store.database import store_directory
    from trinity.llm.store.packs import pack_files
    from trinity.llm.store.upkeep import damaged_packs

    lines = []
    try:
        database = _store()
        if database is None:
            print(NOTHING.format(store_directory()))
        else:
            lines += _verify_store(database, args.drop)
    except StoreError as error:  # the file as a whole; packs may still be sound
        lines.append(str(error))
    lines += damaged_packs(_packs())
    for line in lines:
        print(line)
    found = f"{len(lines):,} lines above say what is" if lines else "nothing is"
    print(f"{len(pack_files(_packs())):,} packs checked; {found} damaged")
    return 1 if lines else 0


def _verify_store(database: "Database", wanted: bool) -> list[str]:
    """Lines about what is damaged and stays so."""
    from trinity.llm.store.upkeep import check_store, drop

    checked = check_store(database)
    print(f"{checked.entries:,} stored responses checked")
    problems = [f"{database.path}: {problem}" for problem in checked.problems]
    if problems:
        problems.append(
            f"{database.path}: the file itself is damaged: move it away, then `trinity responses import` reads packs "
            "into a new one"
        )
    if not checked.damaged:
        return problems
    if wanted:
        drop(database, list(checked.damaged))
        for key in checked.damaged.values():
            print(f"{database.path}: entry {key}: was damaged, is taken out")
        print("packs are read again by the next run; what none of them holds is asked again")
        return problems
    advice = "`verify --drop` takes it out, so that it is imported or asked again"
    return [*problems, *(f"{database.path}: entry {key} is damaged: {advice}" for key in checked.damaged.values())]


def _collect(args: argparse.Namespace) -> int:
    from trinity.config import load_config
    from trinity.llm.store.packs import alone
    from trinity.llm.store.statistics import store_size
    from trinity.llm.store.tables import megabytes
    from trinity.llm.store.upkeep import find_garbage, take_out

    pool = load_config().pool
    if pool.kind != "litellm":
        raise ConfigError(
            f"params.yaml: pool.kind: {pool.kind}: its agents ask no real model, so everything would go: run this with "
            "the params.yaml of the pool whose responses are kept"
        )
    database, directory = _store(), _packs()
    with alone(directory):
        garbage = find_garbage(database, directory, pool.agents)
        models = ", ".join(f"{model} {count:,}" for model, count in sorted(garbage.models.items()))
        print(f"store: {len(garbage.keys):,} responses that no agent of params.yaml can ask{models and f': {models}'}")
        if garbage.unpacked and not args.yes:
            print(
                f"  {garbage.unpacked:,} of them stand in no pack, and would be paid again: `trinity responses pack` "
                "first keeps them"
            )
        names = ", ".join(path.name for path in garbage.packs)
        print(f"packs: {len(garbage.packs)} whose every response stands in others{names and f': {names}'}")
        if not garbage.keys and not garbage.packs:
            return 0
        if not args.yes:
            print("nothing was changed: --yes takes it out")
            return 0
        before = store_size(database)
        size = sum(path.stat().st_size for path in garbage.packs)
        take_out(database, garbage)
    print(f"taken out: {megabytes(max(0, before - store_size(database)) + size)} freed")
    if garbage.packs:
        print(f'next: git add -A {directory} && git commit -m "Fewer packs"')
    return 0
