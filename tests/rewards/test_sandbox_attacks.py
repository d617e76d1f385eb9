"""The sandbox under attack: at each level that this machine has, as whoever runs the tests and as an ordinary user."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks import ATTACKS, CHECKS, RIGHT, Attack, opened, output

from trinity.errors import RewardError
from trinity.rewards.sandbox.levels import best_level, missing
from trinity.rewards.sandbox.runner import Sandbox

LEVELS = ("bwrap", "landlock")
NOBODY = 65534
SOURCE = Path(__file__).parents[2] / "src/trinity"


@pytest.fixture(scope="module", params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        best_level((request.param,))
    except RewardError as error:
        pytest.skip(str(error))
    with opened(request.param) as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_held(sandbox: Sandbox, attack: Attack) -> None:
    attack(sandbox)


def interpreter_of_anyone() -> str | None:
    """An interpreter that an ordinary user may run."""
    for path in ("/usr/bin/python3", sys.executable):
        ask = "import sys; sys.exit(sys.version_info < (3, 10, 7))"
        done = subprocess.run(["/bin/sh", "-c", f'exec "{path}" -c "{ask}"'], user=NOBODY, group=NOBODY, check=False)
        if done.returncode == 0:
            return path
    return None


@pytest.mark.parametrize("level", LEVELS)
def test_held_for_an_ordinary_user(level: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("run by an ordinary user already")
    if (reason := missing(level)) is not None:
        pytest.skip(reason)
    python = interpreter_of_anyone()
    if python is None:
        pytest.skip("no interpreter of Python 3.10 or newer that an ordinary user may run")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copytree(SOURCE, Path(folder) / "src/trinity")
        script = shutil.copy(Path(__file__).with_name("attacks.py"), folder)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        done = subprocess.run(
            [python, script, level],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env={"PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.stderr.startswith("unavailable"):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [f"held: {attack.__name__}" for attack in ATTACKS]


def test_without_a_level_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    best_level.cache_clear()
    with pytest.raises(RewardError, match=r"no sandbox.*bwrap is not installed.*sandbox.levels: \[unsafe\]"):
        best_level(("bwrap",))


def test_unsafe_has_limits_and_must_be_asked_for() -> None:
    with opened("unsafe") as sandbox:
        assert sandbox.level == "unsafe"
        assert output(sandbox, "print(1)") == "1\n"
        assert sandbox.run("while True: pass", None, "").detail == "ran over its cpu time limit"
        assert sandbox.check(RIGHT, "", ["f"], CHECKS).finished
