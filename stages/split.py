"""Stage `split`: a task's items, capped, into data/splits/TASK."""

import argparse

from trinity.config.load import load_config
from trinity.entry import run_main
from trinity.preflight import require_all
from trinity.tasks.registry import get_task
from trinity.tasks.splits import splits_directory, write_splits


def main() -> None:
    """Reads params.yaml and writes the splits of one task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    task: str = parser.parse_args().task
    config = load_config()
    require_all(config)
    write_splits(splits_directory(task), task, get_task(config, task).load(), config.data)


if __name__ == "__main__":
    run_main(main)
