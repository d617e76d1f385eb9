"""The command line, `trinity COMMAND`; the pipeline is run by dvc.

Commands: doctor, preset, plan, import-outcomes, headline, grade, canonical, responses, bench.
"""

import argparse
import sys
from pathlib import Path

from trinity.entry import run_main
from trinity.errors import ConfigError


def main() -> None:
    """Runs one command; a user's mistake is one line on stderr and exit code 1."""
    run_main(_main)


def _main() -> None:
    from trinity.grading.canonical import add_parser as add_canonical
    from trinity.grading.lines import add_parser as add_grade
    from trinity.llm.store.command import add_parser as add_responses
    from trinity.plan.command import add_parser as add_plan
    from trinity.tasks.importers.command import add_parser as add_import_outcomes

    parser = argparse.ArgumentParser(
        prog="trinity",
        description="An evolved coordinator of LLMs. dvc repro runs the pipeline; these commands prepare and measure.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    doctor = commands.add_parser("doctor", help="check all that params.yaml needs, a line for each thing")
    doctor.add_argument("--offline", action="store_true", help="make no call to the models of a litellm pool")
    doctor.set_defaults(run=_doctor)
    _add_preset(commands)
    add_import_outcomes(commands)
    headline = commands.add_parser("headline", help="print the held-out results of the last run")
    headline.set_defaults(run=_headline)
    add_grade(commands)
    add_canonical(commands)
    add_responses(commands)
    add_plan(commands)
    _add_bench(commands)
    args = parser.parse_args()
    sys.exit(args.run(args))


def _doctor(args: argparse.Namespace) -> int:
    from trinity.config import load_config
    from trinity.preflight.doctor import examine

    config = load_config()
    found = examine(config, ask=not args.offline)
    print("\n".join([*found.missing, *found.present]))
    if found.missing:
        return 1
    print(f"nothing is missing: {', '.join(config.tasks)} on the {config.pool.kind} pool")
    return 0


def _headline(_: argparse.Namespace) -> int:
    from trinity.config import load_config
    from trinity.report.write import read_headline

    print(read_headline(load_config()))
    return 0


def _add_preset(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from trinity.presets import PRESETS

    parser = commands.add_parser(
        "preset",
        help=f"write a starting point into params.yaml: {' | '.join(PRESETS)}",
        description="Writes a starting point into params.yaml and shows what changed. "
        "The file that stood there is kept in .trinity/params.before.yaml.",
    )
    parser.add_argument("name", choices=PRESETS)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, write nothing")
    parser.set_defaults(run=_preset)


def _preset(args: argparse.Namespace) -> int:
    from trinity.presets import difference, write_preset

    changes = difference(args.name)
    if not changes:
        print(f"params.yaml is the preset {args.name} already")
        return 0
    print(changes)
    if not args.dry_run:
        write_preset(args.name)
        print(f"\nparams.yaml: preset {args.name} written; `trinity doctor` says what it needs", file=sys.stderr)
    return 0


def _add_bench(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from trinity.bench import BENCHES

    parser = commands.add_parser(
        "bench",
        help="measure speed as ratios within one run",
        description="Times one thing and its rival in the same run and prints a table.",
    )
    parser.add_argument("name", choices=BENCHES, help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))
    parser.add_argument("--json", action="store_true", help="one JSON object alone on stdout")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="coordinator: its picture as a PNG file too")
    parser.set_defaults(run=_bench)


def _bench(args: argparse.Namespace) -> int:
    import json

    from trinity.bench import measure, table

    if args.plot is not None and args.name != "coordinator":
        raise ConfigError(f"trinity bench {args.name}: --plot is for coordinator")
    result = measure(args.name)
    if args.plot is not None:
        from trinity.bench.coordinator_plot import draw

        draw(result, args.plot)
    print(json.dumps(result) if args.json else table(result))
    return 0


if __name__ == "__main__":
    main()
