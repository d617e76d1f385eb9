"""`trinity plan`: what the pipeline will ask and cost, before it is paid."""

import argparse


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "plan",
        help="what every stage will ask of the pool: calls, tokens, dollars, time",
        description="Says from params.yaml, the splits and the response store how many calls every stage will make, "
        "and what they come to, at least and at most (docs/plan.md). It asks no model.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object alone on stdout")
    parser.set_defaults(run=_plan)


def _plan(args: argparse.Namespace) -> int:
    import json

    from trinity.config import load_config
    from trinity.plan.estimate import Plan
    from trinity.plan.show import as_dict, as_text

    config = load_config()
    plan = Plan(config)
    print(json.dumps(as_dict(plan, config.pool)) if args.json else as_text(plan, config.pool))
    return 0
