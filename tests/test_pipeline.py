"""dvc.yaml against the code: a stage must run again when anything that it imports changes."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
STAGES: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
# They end a run or name a mistake; no result depends on them. __init__ files hold docstrings or re-exports.
WITHOUT_EFFECT = {
    "src/trinity/errors.py",
    "src/trinity/entry.py",
    "src/trinity/__init__.py",
}
# They look at everything and decide nothing but whether to start.
GATES = ("src/trinity/preflight/", "src/trinity/plan/")


def source_of(module: str) -> Path | None:
    path = ROOT / "src" / Path(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def imported(path: Path) -> set[Path]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {source for name in names if name.startswith("trinity") and (source := source_of(name))}
    return found


def reached(script: Path) -> set[str]:
    seen: set[Path] = set()
    todo = [script]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        if not is_gate(path):
            todo += imported(path)
    return {str(path.relative_to(ROOT)) for path in seen if not is_gate(path)}


def is_gate(path: Path) -> bool:
    return path.relative_to(ROOT).as_posix().startswith(GATES)


@pytest.mark.parametrize("name", sorted(STAGES))
def test_a_stage_depends_on_all_that_it_imports(name: str) -> None:
    stage = STAGES[name]
    script = stage["cmd"].split()[1]
    deps = [dep for dep in stage["deps"] if "$" not in dep]
    uncovered = {
        path
        for path in reached(ROOT / script) - WITHOUT_EFFECT
        if not any(path == dep or path.startswith(f"{dep}/") for dep in deps)
    }
    assert uncovered == set()


def test_every_dependency_on_code_exists() -> None:
    for name, stage in STAGES.items():
        for dep in stage["deps"]:
            if "$" not in dep and dep.startswith(("src", "stages")):
                assert (ROOT / dep).exists(), f"{name}: {dep}"


def test_caches_of_tools_are_no_dependency() -> None:
    ignored = (ROOT / ".dvcignore").read_text(encoding="utf-8").split()
    assert {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".venv"} <= set(ignored)
