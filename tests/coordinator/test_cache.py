"""Kept states: the bytes in memory, and the file on disk."""

import gc
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.coordinator.cache import HiddenCache
from trinity.coordinator.engine.memory import Lru
from trinity.errors import TrinityError


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=40))
def test_lru_stays_within_its_bytes_and_keeps_the_newest(puts: list[tuple[int, int]]) -> None:
    lru: Lru[int, int] = Lru(100)
    sizes: dict[int, int] = {}
    for key, size in puts:
        lru.put(key, size, size)
        sizes[key] = size
        assert lru.get(key) == size
        assert sum(sizes[other] for other in range(6) if lru.get(other) is not None) <= 100


def test_lru_drops_the_least_recently_used() -> None:
    lru: Lru[str, int] = Lru(2)
    lru.put("a", 1, 1)
    lru.put("b", 2, 1)
    assert lru.get("a") == 1
    lru.put("c", 3, 1)
    assert (lru.get("a"), lru.get("b"), lru.get("c")) == (1, None, 3)


def test_states_round_trip_over_processes_of_one_file(tmp_path: Path) -> None:
    states = {f"text {number}".encode(): np.random.default_rng(number).normal(size=3) for number in range(1200)}
    HiddenCache(tmp_path, "a", 3).put(states)
    found = HiddenCache(tmp_path, "a", 3).get([*states, b"unknown"])
    assert found.keys() == states.keys()
    for text, state in states.items():
        np.testing.assert_array_equal(found[text], state)
    assert HiddenCache(tmp_path, "b", 3).get(list(states)) == {}


def _fill(directory: Path, worker: int) -> None:
    cache = HiddenCache(directory, "a", 2)
    for number in range(40):
        cache.put(
            {f"{number}".encode(): np.array([number, 0.0]), f"{worker} {number}".encode(): np.array([number, worker])}
        )


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, worker)) for worker in range(3)]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
        assert process.exitcode == 0
    keys = [f"{number}".encode() for number in range(40)] + [
        f"{worker} {number}".encode() for worker in range(3) for number in range(40)
    ]
    assert len(HiddenCache(tmp_path, "a", 2).get(keys)) == 160


@pytest.mark.parametrize("damage", [b"not a database" * 100, b"SQLite format 3\0" + b"\x10\x00\x01\x01" * 2000])
def test_a_damaged_file_is_set_aside(damage: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(damage)
    cache = HiddenCache(tmp_path, "a", 2)
    assert cache.path == path
    assert cache.get([b"x"]) == {}
    cache.put({b"x": np.ones(2)})
    np.testing.assert_array_equal(HiddenCache(tmp_path, "a", 2).get([b"x"])[b"x"], np.ones(2))
    assert path.with_suffix(".damaged").read_bytes() == damage
    assert "set aside" in capsys.readouterr().err


def test_a_file_that_breaks_while_in_use_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states = {f"text {number}".encode(): np.full(64, float(number)) for number in range(500)}
    HiddenCache(tmp_path, "a", 64).put(states)
    gc.collect()  # Closes the connection, which folds the log into the file.
    cache = HiddenCache(tmp_path, "a", 64)
    with (tmp_path / "a.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    assert cache.get(list(states)).keys() <= states.keys()
    cache.put(states)
    assert cache.get(list(states)).keys() == states.keys()
    assert "set aside" in capsys.readouterr().err


def test_a_file_that_is_in_the_way_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").mkdir()
    with pytest.raises(TrinityError, match=r"a\.sqlite"):
        HiddenCache(tmp_path, "a", 2)


def test_a_state_of_another_length_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    HiddenCache(tmp_path, "a", 3).put({b"x": np.ones(3)})
    assert HiddenCache(tmp_path, "a", 2).get([b"x"]) == {}
    assert "set aside" in capsys.readouterr().err
