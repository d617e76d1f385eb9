"""Stage `split`: a task's items without duplicates, capped, into data/splits/TASK."""

import argparse

from trinity.config.load import load_config
from trinity.entry import run_main
from trinity.preflight import require_all
from trinity.tasks.duplicates import remove_duplicates, summary
from trinity.tasks.registry import evaluation_sets, get_task
from trinity.tasks.splits import splits_directory, write_splits


def main() -> None:
    """Reads params.yaml and writes the splits of one task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    name: str = parser.parse_args().task
    config = load_config()
    require_all(config)
    task = get_task(config, name)
    splits, duplicates = remove_duplicates(task.load(), evaluation_sets(config, name))
    sizes = write_splits(
        splits_directory(name), name, splits, config.data, duplicates, evaluation_only=task.evaluation_only
    )
    written = ", ".join(f"{split} {size}" for split, size in sizes.items())
    print(f"{name}: {written}; {summary(duplicates)}")


if __name__ == "__main__":
    run_main(main)
