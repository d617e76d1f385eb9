"""The section `sandbox` of the committed params.yaml, for tests that need a grader."""

from pathlib import Path

from trinity.config import load_config

SANDBOX = load_config(Path(__file__).parents[1] / "params.yaml").sandbox
