import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
    assert done.stdout == (
        "demo_choice: train 9, valid 48, test 60; duplicates removed: 0 from train and 0 from valid; "
        "no evaluation set compared (data.decontaminate)\n"
    )
    folder = tmp_path / "data/splits/demo_choice"
    assert len(read_split(folder, "train")) == 9
    assert read_manifest(folder)["sizes"]["train"] == 9


def test_a_mistake_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    for name, message in (("rlpr", "no commit of "), ("nothing", "no such task; available: ")):
        done = run(tmp_path, "--task", name)
        assert done.returncode == 1
        assert done.stderr.startswith(f"task {name}: {message}")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


def parameters(folder: Path, **data: object) -> None:
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["data"] |= data
    (folder / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")


def sources(folder: Path) -> Path:
    """The folder that DVC watches for local copies."""
    made = folder / "data/sources"
    made.mkdir(parents=True, exist_ok=True)
    return made


def aime(number: int) -> dict[str, str]:
    return {"id": str(number), "problem": f"What is ${number}+{number}$?", "answer": str(2 * number)}


def test_a_benchmark_from_a_local_file_without_the_questions_of_another(tmp_path: Path) -> None:
    lines = [
        {"unique_id": f"u{n}", "problem": f"What is {n} + {n}?", "answer": str(2 * n), "subject": "Sums"}
        for n in range(50)
    ]
    for name, rows in (("math.jsonl", lines), ("aime.jsonl", [aime(n) for n in range(20, 60)])):
        (sources(tmp_path) / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    source = {"math500": "data/sources/math.jsonl", "aime2025": "data/sources/aime.jsonl"}
    parameters(tmp_path, source=source, decontaminate=["aime2025"])
    done = run(tmp_path, "--task", "math500")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "data/splits/math500"
    left = {split: [int(item.id[1:]) for item in read_split(folder, split)] for split in ("train", "valid", "test")}
    assert max(left["train"] + left["valid"]) < 20
    assert len(left["test"]) == 10
    removed = 40 - len(left["train"]) - len(left["valid"])
    manifest = read_manifest(folder)
    counts = manifest["duplicates"]
    assert counts["across"]["aime2025"]["compared"] == 40
    assert counts["across"]["aime2025"]["normalised"] == sum(counts["removed"].values()) == removed
    assert manifest["provenance"]["files"][0]["rows"] == 50
    sizes = f"train {len(left['train'])}, valid {len(left['valid'])}, test 10"
    assert done.stdout.startswith(f"math500: {sizes}; duplicates removed: ")
    assert f"aime2025 0 exact + {removed} normalised" in done.stdout
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run(tmp_path, "--task", "math500").returncode == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_task_for_evaluation_can_be_split_and_not_trained_on(tmp_path: Path) -> None:
    (sources(tmp_path) / "aime.jsonl").write_text("".join(json.dumps(aime(n)) + "\n" for n in range(30)))
    parameters(tmp_path, source={"aime2025": "data/sources/aime.jsonl"})
    done = run(tmp_path, "--task", "aime2025")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("aime2025: train 0, valid 0, test 30; ")
    assert len(read_split(tmp_path / "data/splits/aime2025", "test")) == 30
    text = (tmp_path / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text.replace("- demo_math\n", "- aime2025\n"), encoding="utf-8")
    done = run(tmp_path, "--task", "demo_choice")
    assert done.returncode == 1
    assert done.stderr == (
        "missing training questions: task aime2025: for evaluation only: cannot be trained on; the transfer stage that "
        "evaluates it is not built yet; its split can be made with `python stages/split.py --task aime2025`: leave it "
        "out of tasks\n"
    )


def test_settings_of_no_task_and_absent_files_are_named(tmp_path: Path) -> None:
    parameters(tmp_path, source={"math500": "none.jsonl", "math5000": "params.yaml"}, decontaminate=["gpqa"])
    sources(tmp_path)
    done = run(tmp_path, "--task", "math500")
    assert done.returncode == 1
    first, second, third, fourth = done.stderr.splitlines()
    assert first.startswith("missing task math5000: data.source: no such task; available: demo_math, ")
    assert second.startswith("missing task gpqa: data.decontaminate: no such task; available: demo_math, ")
    assert third == "missing data none.jsonl: put the file or folder there, or take data.source.math500 out"
    assert fourth.startswith("missing watch on params.yaml: move it into data/sources, ")


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
