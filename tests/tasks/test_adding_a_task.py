"""The worked example of docs/tasks.md does what the page says."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from trinity.config.load import load_config
from trinity.rewards.freeform import FreeformReward
from trinity.tasks import registry
from trinity.types import Response

ROOT = Path(__file__).parents[2]


def test_the_example_is_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/tasks.md").read_text(encoding="utf-8").partition("## Adding a task")[2]
    code, line = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "capitals.py").write_text(code, encoding="utf-8")
    entry = re.fullmatch(r'\s*"(\w+)": "([\w:]+)",\s*', line)
    assert entry is not None
    package = import_module("trinity.tasks.benchmarks")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "trinity.tasks.benchmarks.capitals", raising=False)
    monkeypatch.setattr(registry, "BENCHMARKS", {**registry.BENCHMARKS, entry[1]: entry[2]})
    rows = [{"country": f"Land {n}", "capital": f"City {n}", "continent": "Nowhere"} for n in range(50)]
    for name, chosen in (("train", rows[:40]), ("test", rows[40:])):
        lines = "".join(json.dumps(row) + "\n" for row in chosen)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")

    config = load_config(ROOT / "params.yaml")
    local = config.data.model_copy(update={"source": {entry[1]: str(tmp_path)}})
    task = registry.get_task(config.model_copy(update={"data": local}), entry[1])
    splits = task.load()

    assert {split: len(items) for split, items in splits.items.items()} == {"train": 32, "valid": 8, "test": 10}
    item = splits.items["test"][0]
    assert (item.id, item.task, item.domain, item.reference) == ("test-00001", "capitals", "Nowhere", "City 40")
    assert item.extra == {"stem": "What is the capital of Land 40?"}
    reply = Response("Let me think.\nAnswer: City 40", "stop", 1, 1)
    assert FreeformReward()(item, reply).value == 1.0
