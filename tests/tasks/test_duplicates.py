"""Questions in two places: found whatever their spelling, never where they differ in meaning."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_files import shared
from trinity.config.tasks import Data
from trinity.tasks.base import Splits
from trinity.tasks.benchmarks.math500 import Math500
from trinity.tasks.benchmarks.mmlu import Mmlu
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.tasks.duplicates import normalised, remove_duplicates, stem, summary
from trinity.tasks.files import read_file
from trinity.types import SPLITS, Item


def item(question: str, number: int = 0, **extra: str) -> Item:
    return Item(f"{question}-{number}", "toy", "d", question, "math", "1", extra)


def splits(train: list[str], valid: list[str], test: list[str]) -> Splits:
    texts = {"train": train, "valid": valid, "test": test}
    return Splits({split: tuple(item(text, n) for n, text in enumerate(texts[split])) for split in SPLITS}, {"a": 1})


def questions(found: Splits) -> dict[str, list[str]]:
    return {split: [entry.question for entry in found.items[split]] for split in SPLITS}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is $1+2$?", "what is 1 + 2"),
        ("Find $\\left(3, \\frac{\\pi}{2}\\right)$.", "Find $( 3,\\, \\dfrac{\\pi}{2} )$"),
        ("Evaluate$$x^{10}.$$", "Evaluate \\quad $$x^10$$"),
        ("x² − 1", "x^2 - 1"),
        ("2 \\cdot 3", "2 × 3"),
        ("It’s “so”, he said.", "It's so he said"),
        ("ﬁnd Ｘ", "find x"),
        ("at $80\\%$", "at 80%"),
        ("two\n\nlines", "two lines"),
    ],
)
def test_the_same_question_spelled_otherwise(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1+2", "1-2"), ("1.5", "15"), ("1.5", "1 5"), ("1, 5", "15"), ("x < 3", "x > 3"), ("x \\le 3", "x \\ge 3"),
        ("(1+2)*3", "1+2*3"), ("[0, 1)", "(0, 1]"), ("2^{1+n}", "2^1+n"), ("\\frac{12}{3}", "\\frac{1}{23}"),
        ("5!", "5"), ("f'(x)", "f(x)"), ("1:2", "12"), ("5%", "5"), ("a_1", "a 1"), ("|x|", "x"), ("a b", "ab"),
        ("\\sqrt{2}", "2"), ("C#", "C"), ("a != b", "a = b"), ("-3", "3"), ("x^2", "x2"), ("क", "कि"), ("5 €", "5"),
    ],
)  # fmt: skip
def test_a_difference_in_meaning_stays(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.lists(st.sampled_from(["12", "x", "foo", "+", "-", "(", ")", "\\frac", "="]), min_size=1), st.data())
def test_spacing_never_matters(tokens: list[str], draw: st.DataObject) -> None:
    gaps = st.sampled_from([" ", "  ", "\n", "\t", "\\, ", " $ ", "~", "\\quad "])
    one, other = ("".join(token + draw.draw(gaps) for token in tokens) for _ in range(2))
    assert normalised(one) == normalised(other)


@given(st.lists(st.sampled_from(["12", "x", "foo", "+", "-", "(", ")", "="])), st.data())
def test_other_tokens_are_another_question(tokens: list[str], draw: st.DataObject) -> None:
    other = draw.draw(st.permutations(tokens))
    assert (normalised(" ".join(tokens)) == normalised(" ".join(other))) == (tokens == other)


@given(st.text())
def test_any_text_can_be_normalised(text: str) -> None:
    assert normalised(text) == normalised(f" {text}\n")


def test_within_a_task_the_earlier_split_gives_way() -> None:
    given = splits(
        train=["in test", "In Valid!", "kept", "kept", "in both"],
        valid=["in valid", "IN TEST", "in both", "stays"],
        test=["in test", "in both", "own"],
    )
    found, counts = remove_duplicates(given, {})
    assert questions(found) == {
        "train": ["kept", "kept"], "valid": ["in valid", "stays"], "test": ["in test", "in both", "own"],
    }  # fmt: skip
    removed = {"train": 3, "valid": 2}
    assert counts == {"within": {"exact": 3, "normalised": 2, "removed": removed}, "across": {}, "removed": removed}
    assert found.provenance == given.provenance
    assert summary(counts) == (
        "duplicates removed: 3 from train and 2 from valid (found in this task 3 exact + 2 normalised)"
        "; no evaluation set compared (data.decontaminate)"
    )


def test_across_tasks_the_stems_are_compared_and_each_set_counts() -> None:
    asked = {"train": ["alone", "One thing. Box it.", "shared"], "valid": ["shared 2"], "test": ["shared", "t"]}
    items = {split: tuple(item(text, n) for n, text in enumerate(asked[split])) for split in SPLITS}
    items["train"] = (*items["train"][:1], item("One thing. Box it.", stem="one thing"), *items["train"][2:])
    evaluation = {
        "b": [item("ONE thing, as a letter", stem="ONE thing"), item("shared 2")],
        "a": [item("Shared 2."), item("other")],
    }
    found, counts = remove_duplicates(Splits(items, {}), evaluation)
    assert questions(found) == {"train": ["alone"], "valid": [], "test": ["shared", "t"]}
    assert counts["within"] == {"exact": 1, "normalised": 0, "removed": {"train": 1, "valid": 0}}
    assert counts["across"] == {
        "a": {"compared": 2, "exact": 0, "normalised": 1, "removed": {"train": 0, "valid": 1}},
        "b": {"compared": 2, "exact": 1, "normalised": 1, "removed": {"train": 1, "valid": 1}},
    }
    assert counts["removed"] == {"train": 2, "valid": 1}
    assert list(counts["across"]) == ["a", "b"]
    assert "a 0 exact + 1 normalised, b 1 exact + 1 normalised" in summary(counts)


def test_a_text_without_any_token_is_no_duplicate_of_another() -> None:
    found, counts = remove_duplicates(splits(["?", "…"], ["v"], ["!", "…"]), {})
    assert questions(found)["train"] == ["?"]
    assert counts["removed"] == {"train": 1, "valid": 0}
    assert summary(remove_duplicates(splits(["a"], [], ["b"]), {})[1]) == (
        "duplicates removed: 0 from train and 0 from valid; no evaluation set compared (data.decontaminate)"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_demo_has_none(kind: str) -> None:
    made = DemoTask(kind, 0).load()
    assert remove_duplicates(made, {})[0] == made


def test_many_questions_take_seconds() -> None:
    train = [
        f"Let $x_{{{n}}}$ be the root of $x^2 - {n}x = {n + 1}$; what is it? {'word ' * 20}" for n in range(25_000)
    ]
    given = splits(train, [], [f"{text}!" for text in train[:500]])
    start = time.process_time()
    found, _ = remove_duplicates(given, {"other": given.items["test"]})
    assert len(found.items["train"]) == 24_500
    assert time.process_time() - start < 10  # 1.5 s alone; comparing pairs would take minutes


def source(**paths: str) -> Data:
    local = {name: str(shared(f"data/{path}")) for name, path in paths.items()}
    return Data(seed=0, caps={}, outcomes={}, source=local, revision={}, decontaminate=[])


def everything(given: Splits) -> list[Item]:
    return [entry for split in SPLITS for entry in given.items[split]]


def test_the_training_problems_of_math_against_real_sets() -> None:
    data = source(math500="math500/math500.jsonl", mmlu="mmlu_stem")
    rows = json.loads(shared("data/math_train/rllm_math_train_7474.json").read_bytes())
    train = tuple(item(row["problem"], number) for number, row in enumerate(rows))
    evaluation = {"math500": everything(Math500(data).load()), "mmlu": everything(Mmlu(data).load())}
    _, counts = remove_duplicates(Splits({"train": train, "valid": (), "test": ()}, {}), evaluation)
    found: dict[str, Any] = {name: (entry["exact"], entry["normalised"]) for name, entry in counts["across"].items()}
    # high_school_mathematics of MMLU has problems of MATH's training set, some with other spacing.
    assert found == {"math500": (0, 0), "mmlu": (57, 17)}


def test_the_known_duplicates_of_a_table() -> None:
    path = shared("data/llmrouter_9models/outcomes.jsonl")
    rows = [row for _, row in read_file(path, path.name)]
    by_split = {split: [f"{row['question']}{row['choices'] or ''}" for row in rows if row["split"] == split]
                for split in ("train", "test")}  # fmt: skip
    _, counts = remove_duplicates(splits(by_split["train"], [], by_split["test"]), {})
    assert counts["within"] == {"exact": 69, "normalised": 0, "removed": {"train": 69, "valid": 0}}


def test_the_stem_is_what_stands_in_extra() -> None:
    assert stem(item("asked", stem="bare")) == "bare"
    assert stem(item("asked")) == "asked"
