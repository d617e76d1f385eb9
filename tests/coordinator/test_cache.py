"""Kept states: the bytes in memory, and the file on disk."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.coordinator.cache import HiddenCache, Lru


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
    states = {f"text {number}": np.random.default_rng(number).normal(size=3) for number in range(1200)}
    HiddenCache(tmp_path, "a", 3).put(states)
    found = HiddenCache(tmp_path, "a", 3).get([*states, "unknown"])
    assert found.keys() == states.keys()
    for text, state in states.items():
        np.testing.assert_array_equal(found[text], state)
    assert HiddenCache(tmp_path, "b", 3).get(list(states)) == {}


def _fill(directory: Path, worker: int) -> None:
    cache = HiddenCache(directory, "a", 2)
    for number in range(40):
        cache.put({f"{number}": np.array([number, 0.0]), f"{worker} {number}": np.array([number, worker])})


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, worker)) for worker in range(3)]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
        assert process.exitcode == 0
    texts = [f"{number}" for number in range(40)] + [f"{worker} {number}" for worker in range(3) for number in range(40)]
    assert len(HiddenCache(tmp_path, "a", 2).get(texts)) == 160


@pytest.mark.parametrize("damage", [b"not a database" * 100, b""])
def test_a_damaged_file_is_set_aside(damage: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = HiddenCache(tmp_path, "a", 2)
    cache.put({"x": np.ones(2)})
    path = cache.path
    del cache
    for leftover in tmp_path.glob("a.sqlite-*"):
        leftover.unlink()
    path.write_bytes(damage)
    fresh = HiddenCache(tmp_path, "a", 2)
    assert fresh.get(["x"]) == {}
    fresh.put({"x": np.zeros(2)})
    np.testing.assert_array_equal(HiddenCache(tmp_path, "a", 2).get(["x"])["x"], np.zeros(2))
    if damage:
        assert path.with_suffix(".damaged").read_bytes() == damage
        assert "set aside" in capsys.readouterr().err


def test_a_state_of_another_length_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    HiddenCache(tmp_path, "a", 3).put({"x": np.ones(3)})
    assert HiddenCache(tmp_path, "a", 2).get(["x"]) == {}
    assert "set aside" in capsys.readouterr().err
