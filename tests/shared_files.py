"""Real data and graded cases that stand beside the repository, in `../shared`, and are no part of it."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[1].parent / "shared"


def shared(path: str) -> Path:
    """A file or folder there. Without the folder `../shared` the test is skipped; a file that it lacks is a failure."""
    if not SHARED.is_dir():
        pytest.skip(f"{path} is not here: there is no folder ../shared")
    found = SHARED / path
    assert found.exists(), f"../shared holds no {path}"
    return found
