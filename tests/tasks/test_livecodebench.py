"""LiveCodeBench: the split by release, by file or by id, and how a problem is asked."""

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from shared_files import shared
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.rewards.code import unpack_tests
from trinity.tasks.benchmarks.livecodebench import V1_IDS, V6_IDS, LiveCodeBench

CASES = json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}])
PACKED = base64.b64encode(zlib.compress(pickle.dumps(CASES))).decode()


def problem(identity: str, **changes: Any) -> dict[str, Any]:
    return {
        "question_id": identity,
        "question_title": f"title of {identity}",
        "question_content": f"Add one to a number ({identity}).",
        "platform": "atcoder",
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": CASES,
        "private_test_cases": PACKED,
        "metadata": "{}",
        **changes,
    }


V1 = [problem(f"old-{number}") for number in range(400)]
NEW = [problem(f"new-{number}") for number in range(175)]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def task(source: Path, seed: int = 0) -> LiveCodeBench:
    sections: dict[str, Any] = {"caps": {}, "outcomes": {}, "revision": {}, "decontaminate": []}
    return LiveCodeBench(Data.model_validate({"seed": seed, "source": {"livecodebench": str(source)}, **sections}))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    write(tmp_path / "test.jsonl", V1)
    write(tmp_path / "test6.jsonl", NEW)
    return tmp_path


def test_v1_is_divided_and_what_is_new_in_v6_is_the_test(release: Path) -> None:
    splits = task(release).load()
    assert {split: len(items) for split, items in splits.items.items()} == {"train": 320, "valid": 80, "test": 175}
    assert [item.id for item in splits.items["test"]] == [row["question_id"] for row in NEW]
    assert {item.id for split in ("train", "valid") for item in splits.items[split]} == {f"old-{n}" for n in range(400)}
    assert task(release, seed=1).load().items["valid"] != splits.items["valid"]


def test_by_question_id_the_same_splits_come_out(release: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    by_id = tmp_path_factory.mktemp("by_id")
    write(by_id / "problems.jsonl", [*V1, problem("in-between"), *NEW])
    (by_id / V1_IDS).write_text(json.dumps([row["question_id"] for row in V1]), encoding="utf-8")
    (by_id / V6_IDS).write_text(json.dumps([row["question_id"] for row in NEW]), encoding="utf-8")
    assert task(by_id).load().items == task(release).load().items


@pytest.mark.parametrize("file", ["test.jsonl", "test6.jsonl"])
def test_another_number_of_rows_is_refused(release: Path, file: str) -> None:
    rows = (release / file).read_text(encoding="utf-8").splitlines(keepends=True)
    (release / file).write_text("".join(rows[1:]), encoding="utf-8")
    with pytest.raises(DataError, match=r"needed are the 400 problems of V1 and the 175 new in V6"):
        task(release).load()


def test_one_file_alone_says_what_is_needed(tmp_path: Path) -> None:
    write(tmp_path / "all.jsonl", [*V1, *NEW])
    with pytest.raises(DataError, match=r"found all 575; needed are .* test\.jsonl and test6\.jsonl"):
        task(tmp_path / "all.jsonl").load()


def test_ids_must_be_found_and_differ(release: Path) -> None:
    (release / "test6.jsonl").unlink()
    (release / "test.jsonl").rename(release / "problems.jsonl")
    (release / V1_IDS).write_text(json.dumps([row["question_id"] for row in V1]), encoding="utf-8")
    (release / V6_IDS).write_text('["old-7"]', encoding="utf-8")
    with pytest.raises(DataError, match=r"v6_question_ids\.json: old-7 stands in v1_question_ids\.json too"):
        task(release).load()
    (release / V6_IDS).write_text('["absent"]', encoding="utf-8")
    with pytest.raises(DataError, match="found train 400, test 0; needed are"):
        task(release).load()
    (release / V6_IDS).write_text("[", encoding="utf-8")
    with pytest.raises(DataError, match=r"v6_question_ids\.json: not a JSON list of question ids"):
        task(release).load()


def test_a_script_is_told_of_standard_input_and_a_method_of_its_starter_code(tmp_path: Path) -> None:
    script = task(tmp_path).question(problem("a"), "f")
    assert "standard input" in script.prompt
    assert script.reference["function"] is None
    assert len(unpack_tests(script.reference["tests"])) == 2
    starter = "class Solution:\n    def add(self, n: int) -> int:\n        "
    method = task(tmp_path).question(problem("b", starter_code=starter, metadata='{"func_name": "add"}'), "f")
    assert f"```python\n{starter.strip()}\n```" in method.prompt
    assert "standard input" not in method.prompt
    assert method.reference["function"] == "add"
    for question in (script, method):
        assert question.prompt.startswith(question.stem)
        assert "```python" in question.prompt


@pytest.mark.parametrize("changes", [{"starter_code": "def f(): ..."}, {"metadata": '{"func_name": "f"}'}])
def test_starter_code_and_function_go_together(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(DataError, match="f: row 1: starter_code and the func_name of metadata"):
        task(tmp_path).question(problem("a", **changes), "f: row 1")


def test_known_faults_are_marked_and_stay_in(tmp_path: Path) -> None:
    asked = task(tmp_path).question
    assert asked(problem("abc337_e"), "f").extra["erratum"] == "interactive"
    assert asked(problem("3221", question_title="find-the-peaks"), "f").extra["erratum"] == "several outputs are right"
    assert "erratum" not in asked(problem("abc300_a"), "f").extra


def test_a_row_without_tests_names_file_and_row(release: Path) -> None:
    write(release / "test6.jsonl", [*NEW[:-1], problem("new-174", public_test_cases="[]", private_test_cases="[]")])
    with pytest.raises(DataError, match=r"test6\.jsonl: row 175: neither public_test_cases .* holds a test"):
        task(release).load()


def test_the_published_ids_are_those_of_both_releases() -> None:
    folder = shared("data/lcb_outcomes")
    old, new = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("v1_400_question_ids.json", "v6_new_175_question_ids.json")
    )
    assert (len(set(old)), len(set(new)), len({*old, *new})) == (400, 175, 575)
