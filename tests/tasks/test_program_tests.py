"""LiveCodeBench's test cases: what a row says is what is read, and what is hostile is refused without running it."""

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import DataError
from trinity.tasks.benchmarks.program_tests import MAX_BYTES, read_tests, text_of_pickle

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
CASES = st.lists(st.fixed_dictionaries({"input": TEXT, "output": TEXT, "testtype": st.just("stdin")}), max_size=4)
CASE = {"input": "1\n", "output": "2\n", "testtype": "stdin"}


def packed(payload: bytes) -> str:
    return base64.b64encode(zlib.compress(payload)).decode()


def row(private: str, public: str = "[]", metadata: str = "{}") -> dict[str, Any]:
    return {"public_test_cases": public, "private_test_cases": private, "metadata": metadata}


def without_type(cases: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"input": case["input"], "output": case["output"]} for case in cases]


@given(CASES, CASES, st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))
def test_both_forms_of_private_tests_are_read_after_the_public_ones(
    public: list[dict[str, str]], private: list[dict[str, str]], protocol: int
) -> None:
    text = json.dumps(private)
    for form in (text, packed(pickle.dumps(text, protocol))):
        given_row = row(form, json.dumps(public))
        if not public and not private:
            with pytest.raises(DataError, match=r"f\.jsonl: row 3: neither public_test_cases .* holds a test"):
                read_tests(given_row, "f.jsonl: row 3")
            continue
        read = read_tests(given_row, "f.jsonl: row 3")
        assert read == {"function": None, "tests": without_type([*public, *private])}


def test_the_name_of_a_function_comes_from_the_metadata() -> None:
    case = json.dumps([{"input": '[1, 2]\n"a"', "output": "true"}])
    assert read_tests(row(case, metadata='{"func_name": "solve"}'), "f")["function"] == "solve"


def text_or_error(data: bytes) -> str:
    try:
        return text_of_pickle(data, "f: row 1")
    except DataError as error:
        return str(error)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text_or_one_clear_error(data: bytes) -> None:
    assert text_or_error(data).startswith("f: row 1: ") or set(data) & {*b"VX\x8c\x8d"}  # the opcodes of a text


@given(TEXT, st.integers(0), st.integers(0, 255))
def test_a_changed_byte_gives_a_text_or_one_clear_error(text: str, place: int, byte: int) -> None:
    data = bytearray(pickle.dumps(text))
    data[place % len(data)] = byte
    assert isinstance(text_or_error(bytes(data)), str)


class Command:
    """Unpickled, it runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_with_a_class_is_refused_unread(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "ran"
    hostile = pickle.dumps(Command(f"touch {mark}"), protocol)
    with pytest.raises(DataError, match=r"f: row 1: private_test_cases: a pickle with \w+ where one text was expected"):
        read_tests(row(packed(hostile)), "f: row 1")
    assert not mark.exists()
    pickle.loads(hostile)  # noqa: S301 (that it would have run)
    assert mark.exists()


@pytest.mark.parametrize(
    "payload",
    [
        pickle.dumps(7),
        pickle.dumps(b"text"),
        pickle.dumps(["text"]),
        pickle.dumps(("text", "text")),
        b"Vtext\nVtext\n.",
        b"Ppersistent\n.",
        b"Vtext\nr\xff\xff\xff\x7f0.",  # a memo of 2^31 entries
    ],
)
def test_a_pickle_of_anything_but_one_text_is_refused(payload: bytes) -> None:
    with pytest.raises(DataError, match=r"^f: private_test_cases: a pickle with \w+ where one text was expected"):
        read_tests(row(packed(payload)), "f")


def test_what_unpacks_to_too_much_is_refused() -> None:
    deflater = zlib.compressobj(1)
    megabyte = bytes(1 << 20)
    bomb = b"".join(deflater.compress(megabyte) for _ in range((MAX_BYTES >> 20) + 1)) + deflater.flush()
    assert len(bomb) < 2 << 20
    with pytest.raises(DataError, match="private_test_cases: unpacks to more than 256 MiB: refused"):
        read_tests(row(base64.b64encode(bomb).decode()), "f")


GOOD = packed(pickle.dumps(json.dumps([CASE] * 50)))


@pytest.mark.parametrize(
    ("private", "message"),
    [
        ("", "the zlib data are cut short"),
        ("%%%", "neither a JSON list nor base64"),
        (GOOD[:-1], "neither a JSON list nor base64"),
        (GOOD[: len(GOOD) // 8 * 4], "the zlib data are cut short"),
        (base64.b64encode(b"no zlib").decode(), "not zlib data"),
        (packed(pickle.dumps("x" * 99)[:-20]), "a damaged pickle"),
        (packed(b"."), "a pickle without a text"),
        (packed(pickle.dumps("not JSON")), "not JSON"),
        (packed(pickle.dumps("[" * 100_000)), "not JSON"),
        (packed(pickle.dumps("{}")), "must be a list of tests"),
        ('[{"input": "1"', "not JSON"),
        ('[{"input": "1", "output": 2}]', "test 1: must be an object with the texts input and output"),
    ],
)
def test_damaged_private_tests_name_row_and_field(private: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"^t\.jsonl: row 9: private_test_cases: ({message})"):
        read_tests(row(private), "t.jsonl: row 9")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public_test_cases": None}, "public_test_cases: must be text"),
        ({"public_test_cases": "nothing"}, "public_test_cases: not JSON"),
        ({"metadata": "[]"}, "metadata: must be an object"),
        ({"metadata": '{"func_name": "a b"}'}, "metadata: func_name must be the name of a function"),
        ({"metadata": '{"func_name": "f"}', "private_test_cases": '[{"input": "a", "output": "1"}]'}, "test 1: input"),
        ({"metadata": '{"func_name": "f"}', "private_test_cases": '[{"input": "1", "output": ""}]'}, "test 1: output"),
    ],
)
def test_other_damaged_fields_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^f: row 2: {message}"):
        read_tests({**row(json.dumps([CASE])), **changes}, "f: row 2")
