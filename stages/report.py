"""Stage `report`: metrics, figures and report.md from what training and evaluation left."""

from trinity.config.load import load_config
from trinity.entry import run_main


def main() -> None:
    """Writes reports/ and prints the headline."""
    config = load_config()
    from trinity.report.write import write_report

    print(write_report(config))


if __name__ == "__main__":
    run_main(main)
