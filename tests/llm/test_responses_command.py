"""`trinity responses`: what each command says and does, in a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from stored_responses import AGENTS, POOL, call, digests, entry, fill, pack
from trinity import cli
from trinity.config import Config
from trinity.llm.call import Reply
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.ledger import Budget, Ledger, Purpose, Reused
from trinity.llm.store.packs import pack_files, read_pack
from trinity.llm.store.statistics import store_size
from trinity.llm.store.tables import dollars

PACKS = Path("data/responses")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`responses("gc", "--yes")`: exit code, stdout, stderr of the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["trinity", "responses", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, err

    return run


def write_params(configure: Callable[..., Config], **changes: Any) -> None:
    config = configure({"pool": {**POOL, **changes}})
    Path("params.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")), encoding="utf-8")


def store(*entries: Any) -> Database:
    database = Database(store_directory())
    fill(database, entries)
    return database


@pytest.mark.parametrize("command", ["pack", "stats", "verify", "gc"])
def test_without_a_store_a_command_says_so(command: str, responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure)
    code, out, err = responses(command)
    assert (code, err) == (0, "")
    assert ("no responses are stored yet" in out) or (command == "gc" and "store: 0 responses" in out)
    assert not store_directory().exists()


@pytest.mark.parametrize("command", ["pack", "import", "stats", "verify", "gc"])
def test_elsewhere_a_command_refuses_and_makes_no_second_store(
    command: str, responses: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    code, out, err = responses(command)
    assert (code, out) == (1, "")
    assert err.endswith("run `trinity responses` in the repository's root\n")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["pack"], ["import"], ["stats"], ["verify"], ["gc"]])
def test_help_needs_nothing(arguments: list[str], responses: Command) -> None:
    code, out, _ = responses(*arguments, "--help")
    assert code == 0
    assert len(out) > 150


def test_pack_writes_what_no_pack_holds(responses: Command) -> None:
    database = store(entry("x"), entry("y"))
    code, out, _ = responses("pack")
    (first,) = pack_files(PACKS)
    assert code == 0
    assert f"{first}: 2 new responses" in out
    assert "dvc init" in out
    assert not database.rows("SELECT 1 FROM packs WHERE name != ?", first.name)

    fill(database, [entry("z")])
    responses("pack")
    (second,) = set(pack_files(PACKS)) - {first}
    assert [each.call.messages[0].content for each in read_pack(second)] == ["z"]

    code, out, _ = responses("pack")
    assert code == 0
    assert "nothing new" in out
    assert len(pack_files(PACKS)) == 2


def test_pack_keeps_ones_own_earlier_reply_beside_a_later_one(responses: Command) -> None:
    database = store(entry("x", "mine", 1.0), entry("y", "mine", 9.0))
    pack(PACKS, entry("x", "theirs", 2.0), entry("y", "theirs", 2.0))
    responses("pack")
    texts = {(each.call.messages[0].content, each.reply.text) for path in pack_files(PACKS) for each in read_pack(path)}
    assert texts == {("x", "mine"), ("x", "theirs"), ("y", "theirs")}
    assert database.get(call("y").key) == entry("y", "theirs").reply


def test_two_processes_pack_once(responses: Command, tmp_path: Path) -> None:
    store(*(entry(str(number)) for number in range(500)))
    command = [sys.executable, "-m", "trinity.cli", "responses", "pack"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sum("500 new responses" in out for out in said) == 1
    assert len(pack_files(PACKS)) == 1


def test_in_a_temporary_workspace_a_pack_goes_home_and_is_not_tracked(
    responses: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".dvc").mkdir(parents=True)
    monkeypatch.setenv("DVC_ROOT", str(home))
    store(entry())
    code, out, _ = responses("pack")
    assert code == 0
    assert "temporary workspace" in out
    assert [path.suffix for path in (home / PACKS).iterdir()] == [".gz"]
    assert not PACKS.exists()


def test_a_pack_that_dvc_refuses_stays_and_is_said(responses: Command) -> None:
    Path(".dvc").mkdir()
    Path(".dvc/config").write_text("[core\n", encoding="utf-8")
    store(entry())
    code, _, err = responses("pack")
    assert code == 1
    assert "written, but DVC does not track it" in err
    assert err.count("\n") == 1
    assert len(pack_files(PACKS)) == 1


def test_import_takes_packs_and_folders(responses: Command, tmp_path: Path) -> None:
    store(entry("old"), entry("later", "mine", 9.0), entry("earlier", "mine", 1.0))
    one = pack(tmp_path / "a", entry("old"), entry("later", "theirs", 2.0), entry("earlier", "theirs", 2.0))
    pack(tmp_path / "b", entry("p"), entry("q"))
    code, out, _ = responses("import", str(one), str(tmp_path / "b"))
    assert code == 0
    assert "2 packs: 2 new responses, 1 known, 2 that differ" in out
    assert "1 calls had a later reply here" in out
    assert "1 calls had an earlier reply here" in out
    code, out, _ = responses("import", str(tmp_path / "b"))
    assert "0 new responses, 2 known, 0 that differ" in out
    assert "had a" not in out


def test_import_works_without_a_store_and_costs_nothing(responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure, budget_usd=1.0)
    pack(Path("theirs"), entry("x"), entry("y"))
    assert responses("import", "theirs")[0] == 0
    assert "budget left: $1.00 of $1.00" in responses("stats")[1]


@pytest.mark.parametrize("path, problem", [("absent", "no such file"), ("empty", "no pack")])
def test_a_wrong_path_is_one_line(path: str, problem: str, responses: Command) -> None:
    Path("empty").mkdir()
    code, out, err = responses("import", path)
    assert (code, out) == (1, "")
    assert path in err
    assert problem in err
    assert err.count("\n") == 1


def account(database: Database) -> None:
    """Three fresh calls of ash, one of elm without a price, and two answers from the store."""
    ledger = Ledger(database, Budget())
    for number, (agent, usd, seconds, tries) in enumerate(
        [("ash", 0.25, 1.0, 1), ("ash", 0.5, 2.0, 3), ("ash", None, 6.0, 1), ("elm", None, 4.0, 1)]
    ):
        asked = call(str(number), "openai/small" if agent == "ash" else "openai/large")
        reply = Reply("", "length", 10, 20, 20, usd) if number == 1 else Reply("ok", "stop", 10, 20, 5, usd)
        ledger.claim(asked.key, 0.0)
        ledger.settle(asked.key, asked, reply, Purpose(agent, "worker", "train"), seconds, tries, keep=True)
    ledger.reuse(Purpose("ash", "worker", "evaluate"), Reused(2, 20, 40, 0.75))
    ledger.close()


def test_stats_keep_fresh_and_reused_apart(responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure, budget_usd=10.0, budget_calls=100)
    database = store()
    account(database)
    pack(PACKS, entry("elsewhere"))
    code, out, _ = responses("stats", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["entries"], found["packs"], found["packs_unread"]) == (4, 1, 1)
    assert found["bytes"] > 0
    assert found["fresh"] == [
        {
            "agent": "ash", "role": "worker", "stage": "train", "calls": 3, "prompt_tokens": 30,
            "completion_tokens": 60, "reasoning_tokens": 30, "usd": 0.75, "unpriced": 1, "mean_seconds": 3.0,
            "p95_seconds": 6.0, "retried": 1,
        },
        {
            "agent": "elm", "role": "worker", "stage": "train", "calls": 1, "prompt_tokens": 10,
            "completion_tokens": 20, "reasoning_tokens": 5, "usd": 0.0, "unpriced": 1, "mean_seconds": 4.0,
            "p95_seconds": 4.0, "retried": 0,
        },
    ]  # fmt: skip
    assert found["reused"] == [
        {
            "agent": "ash", "role": "worker", "stage": "evaluate", "calls": 2, "prompt_tokens": 20,
            "completion_tokens": 40, "usd": 0.75, "unpriced": 0,
        }
    ]  # fmt: skip
    assert [(row["agent"], row["calls"], row["usd"], row["p95_seconds"]) for row in found["fresh_sums"]] == [
        ("ash", 3, 0.75, 6.0), ("elm", 1, 0.0, 4.0), ("", 4, 0.75, 6.0),
    ]  # fmt: skip
    assert found["damaged"] == []
    none = {"empty": 0, "filtered": 0, "cut": 0, "cut in reasoning": 0}
    assert found["causes"] == {
        "openai/large": {"replies": 1, **none},
        "openai/small": {"replies": 3, **none, "cut in reasoning": 1},
    }
    assert found["left"] == {"usd": 10.0, "usd_left": 9.25, "calls": 100, "calls_left": 96}


def test_stats_read_well(responses: Command, configure: Callable[..., Config]) -> None:
    account(store())
    code, out, _ = responses("stats")
    assert code == 0
    assert "params.yaml could not be read" in out
    assert "$0.75 and unknown" in out
    assert "unknown" in next(line for line in out.splitlines() if line.startswith("elm"))
    totals = [line.split() for line in out.splitlines() if line.startswith("total ")]
    assert [line[1] for line in totals] == ["4", "2", "4"]  # calls that were made, answered from the store; replies
    assert "raise max_tokens" in out
    write_params(configure, budget_usd=10.0, budget_calls=100)
    assert "budget left: $9.25 of $10.00, 96 of 100 calls" in responses("stats")[1]


@pytest.mark.parametrize("changes, shown", [({}, "unknown"), ({"price": {"input": 0.0, "output": 0.0}}, "$0.00")])
def test_what_the_store_answered_for_nothing_is_unknown_unless_it_is_free(
    changes: dict[str, Any], shown: str, responses: Command, configure: Callable[..., Config]
) -> None:
    ash, elm = list[Any](AGENTS)
    write_params(configure, agents=[ash, elm | changes])
    database = store()
    account(database)
    with closing(Ledger(database, Budget())) as ledger:
        ledger.reuse(Purpose("elm", "worker", "evaluate"), Reused(2, 20, 40, 0.0))
    reused = responses("stats")[1].partition("reused:")[2].splitlines()
    assert [line.endswith(shown) for line in reused if line.startswith("elm")] == [True, True]
    total = next(line for line in reused if line.startswith("total"))
    assert total.endswith("$0.75 and unknown" if shown == "unknown" else "$0.75")


def test_an_amount_keeps_two_digits() -> None:
    amounts = [0.0, 1234.5, 0.5, 0.0123, 0.000012, -0.25]
    assert [dollars(amount) for amount in amounts] == ["$0.00", "$1,234.50", "$0.50", "$0.012", "$0.000012", "-$0.25"]
    assert dollars(0.0, 0.0, unpriced=True) == "unknown"
    assert dollars(0.0, 2.0, unpriced=True) == "$0.00 to $2.00 and unknown"


@pytest.mark.parametrize("column, value", [("reply", "{}"), ("key", "text")])
def test_stats_are_shown_beside_a_damaged_reply(column: str, value: object, responses: Command) -> None:
    database = store(entry("x"), entry("y"))
    account(database)
    spoil(database, column, value, "x")
    code, out, err = responses("stats")
    assert code == 1
    assert "fresh: calls that were made" in out
    assert "is damaged" in err
    assert err.count("\n") == 1
    code, out, err = responses("stats", "--json")
    assert code == 1
    assert len(json.loads(out)["damaged"]) == 1


def spoil(database: Database, column: str, value: object, question: str) -> None:
    key = call(question).key
    with database.transaction():
        database.connection.execute(f"UPDATE replies SET {column}=? WHERE key=?", (value, key))


@pytest.mark.parametrize(
    "column, value",
    [
        ("reply", entry(text="3").reply.canonical.decode()),
        ("call", b"junk"),
        ("created", 2.0),
        ("digest", b"0" * 16),
        ("key", b"0" * 32),
        ("key", "text"),
        ("reply", b"\xff"),
    ],
)
def test_verify_finds_any_damaged_row_and_drops_it(column: str, value: object, responses: Command) -> None:
    database = store(entry("x"), entry("y"))
    pack(PACKS, entry("x"), entry("y"))
    assert responses("verify")[0] == 0
    spoil(database, column, value, "x")
    code, out, _ = responses("verify")
    assert code == 1
    assert sum("is damaged" in line for line in out.splitlines() if "store.sqlite" in line) == 1
    assert len(digests_of_sound(database)) == 1
    code, out, _ = responses("verify", "--drop")
    assert code == 0
    assert responses("verify")[0] == 0
    responses("pack")  # takes in packs first
    assert digests(database) == {each.call.key: each.digest for each in (entry("x"), entry("y"))}


def digests_of_sound(database: Database) -> list[bytes]:
    found = []
    for question in ("x", "y"):
        try:
            each = database.entry(call(question).key)
        except Exception:
            continue
        if each:
            found.append(each.digest)
    return found


def test_verify_names_each_damaged_pack(responses: Command) -> None:
    paths = [pack(PACKS, entry(str(number))) for number in range(3)]
    paths[0].write_bytes(paths[0].read_bytes()[:-4])
    paths[2].write_bytes(b"no pack")
    code, out, _ = responses("verify", "--drop")
    assert code == 1
    assert [str(path) in out for path in paths] == [True, False, True]


def test_verify_sees_that_the_file_itself_is_damaged(responses: Command) -> None:
    database = store(*(entry(f"{number} {'x' * 900}") for number in range(200)))
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with (store_directory() / "store.sqlite").open("r+b") as file:
        file.seek(40_000)
        file.write(os.urandom(30_000))
    code, out, err = responses("verify")
    assert code == 1
    assert "move it away" in out
    assert err == ""


def test_gc_takes_out_what_nobody_can_ask(responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure)
    kept = [entry("a"), entry("b", max_tokens=320), entry("c", model="openai/large", effort="low")]
    gone = [
        entry("d", model="openai/older"),
        entry("e", effort="low"),
        entry(os.urandom(100_000).hex(), model="openai/large"),
    ]
    database = store(*kept, *gone)
    pack(PACKS, gone[0])
    before = digests(database)
    code, out, _ = responses("gc")
    assert code == 0
    assert "3 responses that no agent" in out
    assert "openai/large 1, openai/older 1, openai/small 1" in out
    assert "2 of them stand in no pack" in out
    assert "--yes" in out
    assert digests(database) == before

    size = store_size(database)
    assert responses("gc", "--yes")[0] == 0
    assert digests(database) == {each.call.key: each.digest for each in kept}
    assert store_size(database) < size - 100_000
    assert "store: 0 responses" in responses("gc")[1]


def test_gc_removes_packs_that_others_cover(responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure)
    covered = [pack(PACKS, entry("a")), pack(PACKS, entry("b", "later", 3.0))]
    kept = [pack(PACKS, entry("a"), entry("b"), entry("c")), pack(PACKS, entry("b"), entry("d"), entry("e"))]
    for path in (*covered, *kept):
        Path(f"{path}.dvc").touch()
    code, out, _ = responses("gc")
    assert (code, len(pack_files(PACKS))) == (0, 4)
    assert "packs: 2 whose every response" in out
    code, out, _ = responses("gc", "--yes")
    assert code == 0
    assert "next: git add -A data/responses" in out
    assert sorted(PACKS.iterdir()) == sorted([*kept, *(Path(f"{path}.dvc") for path in kept)])


def test_two_packs_that_cover_each_other_do_not_both_go(responses: Command, configure: Callable[..., Config]) -> None:
    write_params(configure)
    pack(PACKS, entry("a"), entry("b"))
    pack(PACKS, entry("b"), entry("c"))
    pack(PACKS, entry("a"), entry("c"))
    responses("gc", "--yes")
    held = {each.call.messages[0].content for path in pack_files(PACKS) for each in read_pack(path)}
    assert (len(pack_files(PACKS)), held) == (2, {"a", "b", "c"})


def test_gc_does_not_take_everything_out_for_a_pool_that_asks_nobody(
    responses: Command, configure: Callable[..., Config]
) -> None:
    database = store(entry())
    Path("params.yaml").write_text(yaml.safe_dump(configure().model_dump(mode="json")), encoding="utf-8")
    code, out, err = responses("gc", "--yes")
    assert (code, out) == (1, "")
    assert "pool.kind: simulated" in err
    assert digests(database)
