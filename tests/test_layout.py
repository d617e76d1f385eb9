"""Imports point down the list of DESIGN.md, and light modules stay light."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src/trinity"
# From the bottom up; what stands in one row may not import what stands beside it.
FLOORS = (
    ("types", "rng", "errors"),
    ("config", "entry", "artifacts"),
    ("llm",),
    ("rewards",),
    ("tasks",),
    ("coordinator", "roles"),
    ("orchestration",),
    ("optim",),
    ("systems",),
    ("report", "smoke", "serve"),
    ("preflight", "plan", "presets", "bench", "grading"),
    ("cli", "stages"),
)
RANK = {name: rank for rank, floor in enumerate(FLOORS) for name in floor}
HEAVY = ("torch", "transformers", "pandas", "matplotlib", "math_verify", "scipy", "cma", "pyarrow", "litellm", "httpx")
FILES = sorted([*LIBRARY.rglob("*.py"), *(ROOT / "stages").glob("*.py")])


def package_of(path: Path) -> str:
    """The room that a file stands in: its folder under trinity, its own name there, or stages."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py") if path.is_relative_to(LIBRARY) else "stages"


def imported(path: Path) -> Iterator[str]:
    """The modules below trinity that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [f"trinity.{alias.name}" for alias in node.names] if node.module == "trinity" else [node.module or ""]
            )
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.removeprefix("trinity.") for name in names if name.startswith("trinity."))


IMPORTS = {path: list(imported(path)) for path in FILES}


def test_every_room_has_its_floor() -> None:
    rooms = {package_of(path) for path in FILES} - {"__init__"}
    assert rooms <= set(RANK), f"say where {rooms - set(RANK)} stands"
    assert sum(map(len, IMPORTS.values())) > 100


def test_imports_point_down() -> None:
    upward = [
        f"{path.relative_to(ROOT)} imports trinity.{module}"
        for path, modules in IMPORTS.items()
        for module in modules
        for room, other in [(package_of(path), module.split(".")[0])]
        if room != other and RANK[other] >= RANK[room]
    ]
    assert not upward


@pytest.mark.parametrize(
    "room, unknown",
    [
        ("optim", ("tasks", "llm")),
        ("coordinator", ("llm.registry", "llm.base", "llm.recorded")),
        ("rewards", ("llm.registry", "llm.recorded", "llm.simulated")),
    ],
)
def test_a_room_knows_nothing_of(room: str, unknown: tuple[str, ...]) -> None:
    mine = [module for path, modules in IMPORTS.items() if package_of(path) == room for module in modules]
    assert mine
    assert not [module for module in mine for name in unknown if f"{module}.".startswith(f"{name}.")]


@pytest.mark.parametrize(
    "code",
    [
        "import trinity.cli, trinity.config, trinity.entry",
        "import sys, trinity.cli\nsys.argv = ['trinity', '--help']\ntry: trinity.cli.main()\nexcept SystemExit: pass",
        "import trinity.preflight, trinity.presets, trinity.bench, trinity.llm.simulated, trinity.orchestration.exact, "
        "trinity.plan.consent",
    ],
    ids=["import", "help", "light rooms"],
)
def test_heavy_libraries_wait_until_they_are_needed(code: str) -> None:
    report = f"{code}\nimport json, sys; print(json.dumps(sorted(set({HEAVY!r}) & set(sys.modules))), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr) == []
