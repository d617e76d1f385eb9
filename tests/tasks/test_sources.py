"""Where rows come from: local files and folders, and a pinned download from a hub of our own making."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.source import Hub, read_rows

PIN, OTHER = "a" * 40, "b" * 40
HUB = Hub("owner/set", PIN, {"train": ("main/train.jsonl",), "test": ("main/test.jsonl",)}, {"train": 2, "test": 1})


def data(**settings: Any) -> Data:
    empty: dict[str, Any] = {"seed": 0, "caps": {}, "outcomes": {}, "source": {}, "revision": {}, "decontaminate": []}
    return Data(**{**empty, **settings})


def put(path: Path, *numbers: int) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps({"n": number}).encode() + b"\n" for number in numbers))
    return path.read_bytes()


def numbers(path: Path, hub: Hub = HUB) -> dict[str, list[int]]:
    rows = read_rows("toy", hub, data(source={"toy": str(path)}))
    return {split: [row["n"] for _, row in located] for split, located in rows.by_split.items()}


def test_one_file_is_one_split(tmp_path: Path) -> None:
    content = put(tmp_path / "test.jsonl", 1, 2)
    rows = read_rows("toy", HUB, data(source={"toy": str(tmp_path / "test.jsonl")}))
    shown = str(tmp_path / "test.jsonl")
    assert dict(rows.by_split) == {"all": ((f"{shown}: row 1", {"n": 1}), (f"{shown}: row 2", {"n": 2}))}
    described = {"split": "all", "file": shown, "sha256": hashlib.sha256(content).hexdigest(), "rows": 2}
    assert rows.provenance == {"source": "local", "path": shown, "files": [described]}


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    put(path, 1)
    stamp = path.stat()
    assert numbers(path) == {"all": [1]}
    put(path, 2)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert numbers(path) == {"all": [2]}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"train.jsonl": [1], "test.jsonl": [2]}, {"train": [1], "test": [2]}),
        ({"main/train.jsonl": [1], "main/test.jsonl": [2]}, {"train": [1], "test": [2]}),
        (
            {"main/train.jsonl": [1], "test.jsonl": [2], "validation.jsonl": [3]},
            {"train": [1], "test": [2], "valid": [3]},
        ),
        ({"questions.jsonl": [1, 2]}, {"all": [1, 2]}),
    ],
)  # fmt: skip
def test_a_folder_holds_splits(tmp_path: Path, files: Mapping[str, list[int]], expected: Mapping[str, Any]) -> None:
    (tmp_path / "README.md").write_text("words")
    for name, values in files.items():
        put(tmp_path / name, *values)
    assert numbers(tmp_path) == expected


def test_a_folder_may_have_shards_and_other_names_than_the_hub(tmp_path: Path) -> None:
    for name, value in {"train-00001-of-00002": 2, "train-00000-of-00002": 1, "val": 3, "test": 4, "more": 5}.items():
        put(tmp_path / f"{name}.jsonl", value)
    hub = replace(HUB, files={"test": ("x/other.parquet",)})
    assert numbers(tmp_path, hub) == {"train": [1, 2], "valid": [3], "test": [4]}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a.jsonl", "b.jsonl"], "holds a.jsonl, b.jsonl: name one file in data.source.toy, or call the files train, "),
        ([], "holds no data file: name one file"),
        (["train.jsonl", "valid.jsonl"], "lacks main/test.jsonl beside the other files of owner/set (data.source.toy)"),
        (["train.jsonl", "test.jsonl", "val.jsonl", "valid.jsonl"], "val.jsonl and valid.jsonl are both valid"),
    ],
)
def test_a_folder_that_leaves_a_doubt_is_refused(tmp_path: Path, files: list[str], message: str) -> None:
    for name in files:
        put(tmp_path / name, 1)
    with pytest.raises(DataError) as caught:
        numbers(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: ")
    assert message in str(caught.value)


def test_an_absent_path_names_its_key(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: no such file or folder \(data\.source\.toy\)"):
        numbers(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def hub_url() -> Iterator[str]:
    """A server that speaks as much of the Hub as a download of a file at a commit needs."""
    train, test = b'{"n": 1}\n{"n": 2}\n', b'{"n": 3}\n'
    files = {f"{commit}/main/{name}": content for commit in (PIN, OTHER)
             for name, content in (("train.jsonl", train), ("test.jsonl", test))}  # fmt: skip
    files[f"{OTHER}/main/test.jsonl"] = b'{"n": 3}\n{"n": 4}\n'

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.reply(body=False)

        def do_GET(self) -> None:
            self.reply(body=True)

        def log_message(self, *arguments: object) -> None:
            pass

        def reply(self, body: bool) -> None:
            commit = next((commit for commit in (PIN, OTHER) if commit in self.path), "")
            content = files.get(self.path.removeprefix("/datasets/owner/set/resolve/"))
            if self.path.startswith(f"/api/datasets/owner/set/revision/{commit}"):
                content = json.dumps({"id": "owner/set", "_id": "0", "sha": commit, "siblings": []}).encode()
            gated = "owner/gated" in self.path
            self.send_response(403 if gated else 200 if content is not None else 404)
            if gated:
                self.send_header("X-Error-Code", "GatedRepo")
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if body and content:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def download(home: Path, cases: list[dict[str, Any]], **environment: str) -> list[Any]:
    """`read_rows` in a process of its own, since the client reads its environment once."""
    script = """
import json, sys
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.source import Hub, read_rows
for case in json.loads(sys.argv[1]):
    try:
        rows = read_rows("toy", Hub(**case["hub"]), Data(**case["data"]))
        print(json.dumps([{split: [row["n"] for _, row in r] for split, r in rows.by_split.items()}, rows.provenance]))
    except DataError as error:
        print(json.dumps(str(error)))
"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(cases)],
        env={**clean, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def case(hub: Hub = HUB, **settings: Any) -> dict[str, Any]:
    return {"hub": vars(hub), "data": data(**settings).model_dump()}


def test_a_download_is_pinned_counted_and_then_needs_no_network(tmp_path: Path, hub_url: str) -> None:
    wrong, gated = replace(HUB, rows={"test": 7}), replace(HUB, repository="owner/gated", gated=True)
    cases = [case(), case(revision={"toy": OTHER}), case(wrong), case(gated)]
    first, other, counted, refused = download(tmp_path, cases, HF_ENDPOINT=hub_url)
    assert first[0] == {"train": [1, 2], "test": [3]}
    assert (first[1]["source"], first[1]["repository"], first[1]["revision"]) == ("hub", "owner/set", PIN)
    assert first[1]["files"][1] == {
        "split": "test",
        "file": "owner/set/main/test.jsonl",
        "sha256": hashlib.sha256(b'{"n": 3}\n').hexdigest(),
        "rows": 1,
    }
    assert other[0]["test"] == [3, 4]
    assert other[1]["revision"] == OTHER
    assert counted.startswith(f"task toy: owner/set at {PIN}: test has 1 rows, expected 7: ")
    assert refused.startswith("task toy: owner/gated/main/train.jsonl cannot be had (")
    assert (
        "accept the terms at https://huggingface.co/datasets/owner/gated and run `hf auth login`, or put the file at "
        "data/sources/toy/train.jsonl and set data.source.toy: data/sources/toy" in refused
    )
    assert "\n" not in refused
    # The cache serves the pinned commit, and never another one for it.
    again, absent = download(tmp_path, [case(), case(replace(HUB, revision="c" * 40))], HF_HUB_OFFLINE="1")
    assert again == first
    assert "cannot be had" in absent
    assert "connect and run again, or put the file at data/sources/toy/train.jsonl" in absent
