"""BigCodeBench: rows of the Hub and of copies, and what the reward is given."""

from typing import Any

import pytest

from shared_files import shared
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.benchmarks.bigcodebench import BigCodeBench, BigCodeBenchHard
from trinity.tasks.benchmarks.programs import defined_names

REAL = "data/bigcodebench_hard/BigCodeBench-instruct-hard.json"
ROW = {
    "task_id": "BigCodeBench/7",
    "complete_prompt": 'import os\ndef task_func():\n    """Doc."""\n',
    "instruct_prompt": "Do it.\nWrite code starting with:\n```\nimport os\ndef task_func():\n```",
    "code_prompt": "import os\ndef task_func():\n",
    "canonical_solution": "    return os.sep\n",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n    pass\n",
    "entry_point": "task_func",
}


def data(**source: str) -> Data:
    sections: dict[str, Any] = {"caps": {}, "outcomes": {}, "revision": {}, "decontaminate": []}
    return Data.model_validate({"seed": 0, "source": source, **sections})


def test_a_row_of_the_hub_asks_with_the_instruct_prompt() -> None:
    question = BigCodeBench(data()).question(ROW, "f")
    assert question.stem == ROW["instruct_prompt"]
    assert question.prompt.startswith(ROW["instruct_prompt"])
    assert question.reference == {
        "unittest": ROW["test"],
        "prefix": ROW["code_prompt"],
        "entry_point": "task_func",
    }
    assert question.extra["canonical"] == "import os\ndef task_func():\n    return os.sep\n"


@pytest.mark.parametrize("field", ["task_id", "instruct_prompt", "code_prompt", "canonical_solution", "test"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(DataError, match=f"^f: row 2: {field}: missing|^f: row 2: {field}: is empty"):
        BigCodeBench(data()).question({**ROW, field: None}, "f: row 2")


def test_the_real_hard_set() -> None:
    splits = BigCodeBenchHard(data(bigcodebench_hard=str(shared(REAL)))).load()
    assert {split: len(items) for split, items in splits.items.items()} == {"train": 0, "valid": 0, "test": 148}
    for item in splits.items["test"]:
        # The official program: the prefix with a body, then the reply.
        for source in (item.reference["prefix"] + "\n    pass\n", item.extra["canonical"]):
            assert item.reference["entry_point"] in defined_names(source, item.id)
        assert "TestCases" in defined_names(item.reference["unittest"], item.id)
