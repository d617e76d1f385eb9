"""The text benchmarks: real files where they are at hand, and rows of the same form elsewhere."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shared_files import shared
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.rewards.choice import last_letter
from trinity.tasks.base import Splits
from trinity.tasks.benchmarks.aime2025 import Aime2025
from trinity.tasks.benchmarks.base import Benchmark
from trinity.tasks.benchmarks.gpqa_diamond import GpqaDiamond
from trinity.tasks.benchmarks.gsm8k import Gsm8k
from trinity.tasks.benchmarks.math500 import Math500
from trinity.tasks.benchmarks.mmlu import Mmlu
from trinity.tasks.benchmarks.rlpr import Rlpr
from trinity.types import SPLITS, Item


def load(kind: type[Benchmark], path: Path, seed: int = 0) -> Splits:
    data = Data(seed=seed, caps={}, outcomes={}, source={kind.name: str(path)}, revision={}, decontaminate=[])
    return kind(data).load()


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sizes(splits: Splits) -> tuple[int, ...]:
    return tuple(len(splits.items[split]) for split in SPLITS)


def everything(splits: Splits) -> dict[str, Item]:
    items = [item for split in SPLITS for item in splits.items[split]]
    assert len({item.id for item in items}) == len(items)
    return {item.id: item for item in items}


MATH = {"problem": "What is $1+1$?", "answer": "2", "subject": "Algebra", "unique_id": "a/1", "level": 1}


def test_math500_in_full() -> None:
    splits = load(Math500, shared("data/math500/math500.jsonl"))
    assert sizes(splits) == (320, 80, 100)
    items = everything(splits)
    item = items["test/precalculus/807.json"]
    assert (item.domain, item.reward, item.reference) == ("Precalculus", "math", "\\left( 3, \\frac{\\pi}{2} \\right)")
    assert item.question == f"{item.extra['stem']}\n\nPut the final answer in \\boxed{{}}."
    assert splits.provenance["split"] == "80/20 of all, 80/20 of the rest"
    assert (splits.provenance["rows_used"], splits.provenance["rows_left_out"]) == (500, 0)
    assert everything(load(Math500, shared("data/math500/math500.jsonl"), seed=1)).keys() == items.keys()
    assert load(Math500, shared("data/math500/math500.jsonl"), seed=1).items != splits.items


def test_gsm8k_in_full() -> None:
    splits = load(Gsm8k, shared("data/gsm8k"))
    assert sizes(splits) == (5978, 1495, 1319)
    items = everything(splits)
    assert all(item.reference.lstrip("-").isdigit() for item in items.values())
    assert items["test-00001"].reference == "18"
    assert splits.provenance["split"] == "official train and test, 80/20 of train"
    assert [file["rows"] for file in splits.provenance["files"]] == [1319, 7473]


def test_the_stem_questions_of_mmlu() -> None:
    splits = load(Mmlu, shared("data/mmlu_stem"))
    assert sizes(splits) == (1931, 483, 604)
    items = everything(splits)
    letters = Counter(item.reference for item in items.values())
    assert set(letters) == set("ABCD")
    assert len({item.domain for item in items.values()}) == 18
    assert items["test-00001"].domain == "college_biology"


def test_gsm8k_takes_the_answer_after_the_last_mark(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "answer": f"#### 7\n{n} + 0\n#### {n:,}"} for n in range(1000, 1010)]
    items = everything(load(Gsm8k, written(tmp_path, *rows)))
    assert {item.reference for item in items.values()} == {str(n) for n in range(1000, 1010)}
    for answer in ("no mark", "#### "):
        with pytest.raises(DataError, match=r"rows\.jsonl: row 1: answer: nothing stands after ####"):
            load(Gsm8k, written(tmp_path, {"question": "q", "answer": answer}))


def mmlu(number: int, **changes: Any) -> dict[str, Any]:
    row = {"question": f"q{number}", "choices": ["w", "x", "", "z"], "answer": number % 4, "subject": "anatomy"}
    return {**row, **changes}


def test_mmlu_has_official_splits_and_nested_rows(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    nested = [{"train": mmlu(n, subject="")} for n in range(8)]
    parts = {
        "auxiliary_train/train": nested,
        "all/validation": [mmlu(n) for n in range(2)],
        "all/test": [mmlu(n) for n in range(3)],
    }
    for name, rows in parts.items():
        path = tmp_path / f"{name}-00000-of-00001.parquet"
        path.parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    splits = load(Mmlu, tmp_path)
    assert sizes(splits) == (8, 2, 3)
    assert splits.provenance["split"] == "official"
    item = splits.items["train"][5]
    assert (item.domain, item.reference, item.extra) == ("auxiliary", "B", {"stem": "q5"})
    assert splits.items["test"][0].domain == "anatomy"
    assert item.question == (
        'q5\n\nA. w\nB. x\nC. \nD. z\n\nFinish with a line "Answer: X", where X is the letter of the right option.'
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": 4}, "answer: 4, and there are 4 choices"),
        ({"answer": -1}, "answer: -1, and there are 4 choices"),
        ({"answer": "A"}, "answer: must be a whole number, got 'A'"),
        ({"answer": True}, "answer: must be a whole number, got True"),
        ({"answer": None}, "answer: missing; fields of the row: question, choices, answer, subject"),
        ({"choices": []}, "choices: must be a list of texts that is not empty, got []"),
        ({"choices": ["a", 3]}, "choices[1]: must be text, got 3"),
        ({"choices": ["a"] * 11}, "choices: 11, and there are letters for 10"),
        ({"question": " "}, "question: is empty"),
        ({"question": "\ud800"}, "question: holds half a surrogate pair, which is no character"),
        ({"subject": 3}, "subject: must be text, got 3"),
    ],
)
def test_a_bad_row_of_mmlu_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = written(tmp_path, mmlu(0), mmlu(1, **changes))
    with pytest.raises(DataError) as caught:
        load(Mmlu, path)
    assert str(caught.value) == f"{path}: row 2: {message}"


def rlpr(number: int, answer: Any, **changes: Any) -> dict[str, Any]:
    prompt = [{"role": "system", "content": "Be good."}, {"role": "user", "content": f"How many? {number}"}]
    row = {"prompt": prompt, "reward_model": {"ground_truth": answer, "style": "rule"}, "ability": "Physics"}
    return {**row, "data_source": "WebInstruct", "extra_info": {"index": number}, **changes}


def test_rlpr_keeps_short_answers(tmp_path: Path) -> None:
    rows = [rlpr(n, f"{n} m/s") for n in range(98)] + [
        rlpr(98, "y" * 31),
        rlpr(99, "x" * 30),
        rlpr(100, 5, ability=None),
    ]
    splits = load(Rlpr, written(tmp_path, *rows))
    assert sizes(splits) == (64, 16, 20)
    assert (splits.provenance["rows_used"], splits.provenance["rows_left_out"]) == (100, 1)
    items = everything(splits)
    assert items["all-00100"].reference == "x" * 30
    assert (items["all-00101"].reference, items["all-00101"].domain) == ("5", "WebInstruct")
    item = items["all-00001"]
    assert (item.reward, item.domain, item.extra["stem"]) == ("freeform", "Physics", "How many? 0")
    assert item.question == 'How many? 0\n\nFinish with a line "Answer: X", where X is the final answer alone.'


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (rlpr(1, ""), "reward_model: ground_truth: is empty"),
        (rlpr(1, None), "reward_model: ground_truth: missing; fields of the row: ground_truth, style"),
        (rlpr(1, "a", reward_model="a"), "reward_model: must be an object, got 'a'"),
        (rlpr(1, "a", prompt="a"), "prompt: must be a list of messages with role and content"),
        (rlpr(1, "a", prompt=[]), "prompt: no message of the user"),
        (rlpr(1, "a", prompt=[{"role": "user"}]), "prompt: content: must be text, got None"),
        (rlpr(1, "a", ability=None, data_source=None), "data_source: missing; fields of the row: prompt, "),
    ],
)
def test_a_bad_row_of_rlpr_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = written(tmp_path, rlpr(0, "a"), row)
    with pytest.raises(DataError) as caught:
        load(Rlpr, path)
    assert str(caught.value).startswith(f"{path}: row 2: {message}")


def test_aime_has_a_test_split_alone(tmp_path: Path) -> None:
    rows = [{"problem": f"p{n}", "answer": n if n % 2 else str(n), "id": str(n)} for n in range(30)]
    splits = load(Aime2025, written(tmp_path, *rows))
    assert sizes(splits) == (0, 0, 30)
    assert [item.reference for item in splits.items["test"]] == [str(n) for n in range(30)]
    assert splits.provenance["split"] == "evaluation only"
    for row in rows:
        del row["id"]
    assert [item.id for item in load(Aime2025, written(tmp_path, *rows)).items["test"]][:2] == [
        "all-00001",
        "all-00002",
    ]


def test_the_options_of_gpqa_are_shuffled_by_record(tmp_path: Path) -> None:
    import csv

    fields = (
        "Record ID",
        "Question",
        "Correct Answer",
        "Incorrect Answer 1",
        "Incorrect Answer 2",
        "Incorrect Answer 3",
    )

    def file(ids: list[int]) -> Path:
        with (tmp_path / "gpqa_diamond.csv").open("w", encoding="utf-8", newline="") as sink:
            writer = csv.writer(sink)
            writer.writerow([*fields, "High-level domain"])
            writer.writerows([f"rec{n}", f"Why,\nthen {n}?", "right\n", "w1", "w2", "w3", "Physics"] for n in ids)
        return tmp_path / "gpqa_diamond.csv"

    items = everything(load(GpqaDiamond, file(list(range(198)))))
    letters = Counter(item.reference for item in items.values())
    assert set(letters) == set("ABCD")
    assert min(letters.values()) > 30
    for item in items.values():
        assert f"{item.reference}. right\n" in item.question
        assert last_letter(f"Answer: {item.reference}") == item.reference
    backwards = everything(load(GpqaDiamond, file(list(range(197, -1, -1))), seed=5))
    assert backwards == items


def test_a_missing_reference_and_a_duplicate_id_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, MATH, {**MATH, "unique_id": "a/2", "answer": ""})
    with pytest.raises(DataError, match=r"rows\.jsonl: row 2: answer: is empty"):
        load(Math500, path)
    written(tmp_path, MATH, {**MATH, "unique_id": "a/2"}, MATH)
    with pytest.raises(
        DataError, match=r"rows\.jsonl: row 3: id 'a/1' is that of .*rows\.jsonl: row 1: ids must differ"
    ):
        load(Math500, path)


def test_a_long_answer_is_only_long(tmp_path: Path) -> None:
    answer = "9" * 1_000_000
    path = written(tmp_path, {**MATH, "answer": answer})
    (item,) = everything(load(Math500, path)).values()
    assert item.reference == answer
    written(tmp_path, {**MATH, "problem": ["x" * 1_000_000]})
    with pytest.raises(DataError) as caught:
        load(Math500, path)
    assert len(str(caught.value)) < 400


def test_splits_that_are_neither_official_nor_a_pool_are_refused(tmp_path: Path) -> None:
    for name in ("valid", "test"):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(json.dumps({**MATH, "unique_id": name}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"task math500: the source has splits test, valid: needed are train and test"):
        load(Math500, tmp_path)


@pytest.mark.parametrize("answer", ["$$", "\\text{}", "$ $"])
def test_a_reference_with_nothing_to_compare_is_refused_with_its_row(tmp_path: Path, answer: str) -> None:
    row = {"unique_id": "1", "problem": "What?", "answer": answer, "subject": "s", "level": 1}
    (tmp_path / "m.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"m\.jsonl: row 1: the reference .* holds nothing to compare with"):
        load(Math500, tmp_path / "m.jsonl")
