"""Responses under real git and DVC: two people, one remote, a clean clone, a temporary workspace."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
import yaml

from stored_responses import POOL, digests
from trinity.config import Config
from trinity.errors import NotStored
from trinity.llm.call import Reply
from trinity.llm.registry import open_pool
from trinity.llm.remote import call_of
from trinity.llm.store.database import Database
from trinity.llm.store.ledger import Budget, Ledger, Purpose
from trinity.llm.store.packs import read_new_packs
from trinity.types import Decoding, Message, Request, RequestMeta, Role

ROOT = Path(__file__).parents[2]
STAGE = """\
import os
from pathlib import Path
from trinity.llm.store.database import store_directory
print("store:", store_directory().resolve())
print("elsewhere:", Path.cwd() != Path(os.environ["DVC_ROOT"]))
Path("out.json").write_text("{}")
"""


def request(question: str) -> Request:
    meta = RequestMeta(question, Role.WORKER)
    return Request("ash", (Message("user", question),), Decoding(64), 0, meta)


class Person:
    """A clone with its own store and DVC cache."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder, self.config = folder, config
        self.database = Database(folder / ".trinity" / "responses")

    def run(self, *command: str, check: bool = True) -> str:
        environment = {**os.environ, "DVC_NO_ANALYTICS": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        environment.pop("DVC_ROOT", None)
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def git(self, *command: str) -> str:
        who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
        return self.run("git", *who, *command)

    def dvc(self, *command: str) -> str:
        return self.run(sys.executable, "-m", "dvc", *command)

    def record(self, replies: Mapping[str, str]) -> None:
        """Settles calls as a recording pool does."""
        ledger = Ledger(self.database, Budget())
        for question, text in replies.items():
            call = call_of(self.config.pool.agents[0], request(question))
            ledger.claim(call.key, 0.0)
            ledger.settle(
                call.key, call, Reply(text, "stop", 3, 1), Purpose("ash", "worker", "train"), 0.1, 1, keep=True
            )
        ledger.close()

    def pack_and_push(self, branch: str) -> str:
        self.git("checkout", "-q", "-b", branch)
        said = self.run(sys.executable, "-m", "trinity.cli", "responses", "pack")
        self.git("add", *(str(path) for path in self.folder.glob("data/responses/*.dvc")))
        self.git("commit", "-q", "-m", branch)
        self.git("push", "-q", "origin", branch)
        self.dvc("push", "-q")
        return said


@pytest.fixture
def people(tmp_path: Path, configure: Callable[..., Config]) -> Callable[[str], Person]:
    """`people("ann")`: a clone of one repository, which has this project's .gitignore and .dvcignore."""
    first = Person(tmp_path / "first", configure({"pool": POOL}))
    for name in (".gitignore", ".dvcignore"):
        shutil.copy(ROOT / name, first.folder / name)
    (first.folder / ".dvc").mkdir()
    (first.folder / ".dvc/config").write_text(
        f"[core]\n    analytics = false\n    remote = shared\n['remote \"shared\"']\n    url = {tmp_path / 'remote'}\n",
        encoding="utf-8",
    )
    (first.folder / ".dvc/.gitignore").write_text("/config.local\n/tmp\n/cache\n", encoding="utf-8")
    (first.folder / "stage.py").write_text(STAGE, encoding="utf-8")
    stages = {"stages": {"where": {"cmd": "python stage.py", "outs": [{"out.json": {"cache": False}}]}}}
    (first.folder / "dvc.yaml").write_text(yaml.safe_dump(stages), encoding="utf-8")
    first.run("git", "init", "-q", "-b", "main")
    first.git("add", "-A")
    first.git("commit", "-q", "-m", "Start")
    first.run("git", "clone", "-q", "--bare", ".", str(tmp_path / "origin.git"))

    def clone(name: str) -> Person:
        first.run("git", "clone", "-q", str(tmp_path / "origin.git"), str(tmp_path / name))
        return Person(tmp_path / name, first.config)

    return clone


def uploaded(tmp_path: Path) -> set[str]:
    return {str(path) for path in (tmp_path / "remote").rglob("*") if path.is_file()}


def answers(config: Config, questions: Iterable[str]) -> list[str]:
    with open_pool(config, [], "train") as pool:

        async def ask() -> list[str]:
            return [(await pool.generate(request(question))).text for question in questions]

        return asyncio.run(ask())


def test_two_people_record_pack_merge_and_a_clean_clone_replays(
    people: Callable[[str], Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = people("ann"), people("bob")
    ann.record({"both": "of ann, who was first", "a": "1"})
    bob.record({"both": "of bob", "b": "2"})
    assert "tracked by DVC" in ann.pack_and_push("ann")
    assert len(uploaded(tmp_path)) == 1
    bob.pack_and_push("bob")
    first = uploaded(tmp_path)
    assert len(first) == 2
    assert ann.git("status", "--short") == ""

    ann.git("fetch", "-q")
    ann.git("merge", "-q", "--no-edit", "origin/bob")
    ann.dvc("pull", "-q")
    assert read_new_packs(ann.database).new == 1
    ann.record({"c": "3"})
    ann.pack_and_push("more")
    assert len(uploaded(tmp_path)) == 3, "only the new pack is uploaded"
    assert uploaded(tmp_path) > first

    clean = people("clean")
    clean.git("checkout", "-q", "more")
    clean.dvc("pull", "-q")
    monkeypatch.chdir(clean.folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert answers(clean.config, ["both", "a", "b", "c"]) == ["of ann, who was first", "1", "2", "3"]
    assert digests(clean.database) == digests(ann.database)
    assert clean.database.rows("SELECT calls FROM totals") == [(0,)]
    with pytest.raises(NotStored, match="replay"):
        answers(clean.config, ["never asked"])
    assert clean.git("status", "--short") == ""


def test_the_store_is_found_from_a_temporary_workspace(people: Callable[[str], Person]) -> None:
    ann = people("ann")
    ann.git("config", "user.name", "Somebody")  # dvc commits the experiment itself
    ann.git("config", "user.email", "somebody@example.org")
    said = ann.dvc("exp", "run", "--temp")
    assert f"store: {ann.folder.resolve() / '.trinity' / 'responses'}" in said
    assert "elsewhere: True" in said
