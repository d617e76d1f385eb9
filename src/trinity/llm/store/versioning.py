"""Packs under DVC: each has a .dvc file of its own, so that merges do not conflict and only new packs are uploaded."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from trinity.errors import StoreError
from trinity.llm.store.packs import SUFFIX, pack_files


def pointer(pack: Path) -> Path:
    """The file that stands for a pack in git."""
    return pack.with_name(f"{pack.name}.dvc")


def untracked_packs(directory: Path) -> list[Path]:
    """Packs of a folder that DVC does not track yet."""
    return [path for path in pack_files(directory) if not pointer(path).exists()]


def absent_packs(directory: Path) -> list[Path]:
    """Packs that DVC tracks in a folder and that are not here until `dvc pull`."""
    found = [path.with_suffix("") for path in sorted(directory.glob(f"*{SUFFIX}.dvc"))]
    return [path for path in found if not path.exists()]


def why_not_tracked(directory: Path) -> str | None:
    """Why packs of this folder are not to be tracked from here; None if they are."""
    here = Path.cwd()
    root = os.environ.get("DVC_ROOT")
    if root and Path(root).resolve() != here:
        return f"this is a temporary workspace: in {root}, `trinity responses pack` tracks it"
    if not any((parent / ".dvc").is_dir() for parent in directory.resolve().parents):
        return "there is no DVC repository here: `dvc init`, then `trinity responses pack` tracks it"
    return None


def track(packs: Sequence[Path]) -> None:
    """Tracks packs of one folder with the dvc command.

    Raises:
        StoreError: DVC refuses; the packs stay as they are.
    """
    names = [path.name for path in packs]
    command = [sys.executable, "-m", "dvc", "add", "--quiet", *names]
    done = subprocess.run(command, cwd=packs[0].parent, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split()).removeprefix("ERROR: ") or f"exit code {done.returncode}"
        raise StoreError(
            f"{packs[0].parent}: {', '.join(names)}: written, but DVC does not track it ({said}): mend that, then "
            "`trinity responses pack` again"
        )
