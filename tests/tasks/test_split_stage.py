import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trinity.entry import run_main
from trinity.errors import DataError
from trinity.tasks.splits import read_manifest, read_split

ROOT = Path(__file__).parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "stages/split.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_stage_writes_the_splits_of_a_task(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    assert "  n_train: null" in text
    (tmp_path / "params.yaml").write_text(text.replace("  n_train: null", "  n_train: 9"), encoding="utf-8")
    done = run(tmp_path, "--task", "demo_choice")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "data/splits/demo_choice"
    assert len(read_split(folder, "train")) == 9
    assert read_manifest(folder)["sizes"]["train"] == 9


def test_a_mistake_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    for name, message in (("math500", "its loader is not built yet"), ("nothing", "no such task")):
        done = run(tmp_path, "--task", name)
        assert done.returncode == 1
        assert done.stderr.startswith(f"task {name}: {message}; available: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_run_main_lets_other_errors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    def mistaken() -> None:
        raise DataError("file: row 3: broken")

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(SystemExit) as end:
        run_main(mistaken)
    assert end.value.code == 1
    assert capsys.readouterr().err == "file: row 3: broken\n"
    with pytest.raises(ZeroDivisionError):
        run_main(broken)
