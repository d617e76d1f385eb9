"""Scores an answer with the reasoning-gym library inside a fork; started by `trinity.rewards.reasoning_gym`."""

from collections.abc import Mapping
from typing import Any

from reasoning_gym.factory import create_dataset

from trinity.rewards.forked import begin, finish, serve
from trinity.rewards.packed import unpack


def score(task: Mapping[str, Any]) -> None:
    """The result is the score as a decimal number or, where the scorer fails on the answer, why."""
    entry = unpack(task["entry"])
    dataset = create_dataset(task["generator"], seed=0, size=1)
    begin()
    finish(repr(float(dataset.score_answer(task["answer"], entry))).encode())


if __name__ == "__main__":
    serve(score)
