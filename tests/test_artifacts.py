import json
from pathlib import Path

import pytest

from trinity.artifacts import method_directory, seed_directory, training_budget, write_json


def test_json_is_sorted_rounded_and_ends_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.json"
    write_json(path, {"b": [1 / 3, (2 / 3,)], "a": {"n": 3, "t": "x", "none": None, "yes": True}})
    assert path.read_text(encoding="utf-8").endswith("}\n")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert list(found) == ["a", "b"]
    assert found == {"a": {"n": 3, "none": None, "t": "x", "yes": True}, "b": [0.333333, [0.666667]]}


def test_a_coordinator_stands_by_task_method_and_seed() -> None:
    assert method_directory("demo_math", "cma") == Path("models/demo_math/cma")
    assert seed_directory("demo_math", "cma", 3) == Path("models/demo_math/cma/seed_3")


def test_the_budget_is_that_of_all_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_seed = {
        "0": {"training_episodes": 10, "validation_episodes": 3, "chosen_at": 5, "validation": 0.5},
        "1": {"training_episodes": 20, "validation_episodes": 4, "chosen_at": 5, "validation": 0.5},
    }
    write_json(method_directory("toy", "rs") / "training.json", by_seed)
    assert training_budget("toy", "rs") == {"training_episodes": 30, "validation_episodes": 7}
