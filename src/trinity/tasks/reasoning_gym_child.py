"""Draws entries from a generator of the reasoning-gym library; started by `trinity.tasks.reasoning_gym`.

In a process of its own, since some generators draw from global random state or follow the order of a set: here both
are fixed, and nothing of it reaches the run.
"""

import json
import random
from collections.abc import Mapping
from typing import Any

from reasoning_gym.dataset import ProceduralDataset
from reasoning_gym.factory import DATASETS, create_dataset

from trinity.rewards.forked import begin, finish, serve
from trinity.rewards.packed import pack, unpack
from trinity.rewards.reasoning_gym import tagged_answer

NONSENSE = "no answer"


def draw(task: Mapping[str, Any]) -> None:
    """The result is one JSON object: `entries` of the seed, or `unknown` with the names that there are."""
    begin()
    name, seed, size = task["generator"], task["seed"], task["size"]
    if name not in DATASETS:
        finish(json.dumps({"unknown": sorted(DATASETS)}).encode())
        return
    random.seed(seed)  # some list functions draw from the global generator
    dataset = create_dataset(name, seed=seed, size=size)
    finish(json.dumps({"entries": [described(dataset, dataset[index]) for index in range(size)]}).encode())


def described(dataset: ProceduralDataset, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry's question, answer, category and packed form, and why it cannot be graded (None: it can)."""
    packed: Any = None
    try:
        packed = json.loads(json.dumps(pack(entry)))
        fault = None if unpack(packed) == entry else "does not survive JSON"
    except TypeError as error:
        fault = str(error)
    return {
        "question": entry["question"],
        "answer": entry["answer"],
        "category": dataset.category,
        "packed": packed,
        "fault": fault or _misgraded(dataset, entry["answer"], packed),
    }


def _misgraded(dataset: ProceduralDataset, answer: Any, packed: Any) -> str | None:
    """An entry without an answer of its own (several are right) is checked with nonsense alone."""
    if _score(dataset, NONSENSE, packed) >= 1:
        return "any text is scored as right"
    if answer is None:
        return None
    if not isinstance(answer, str) or not answer.strip():
        return "its own answer is no text"
    # As a model would write it: a scorer may hang on white space that no reply can hold.
    written = tagged_answer(f"<answer>\n{answer}\n</answer>")
    return None if _score(dataset, written, packed) >= 1 else "its own answer is not scored as right"


def _score(dataset: ProceduralDataset, answer: str | None, packed: Any) -> float:
    try:
        return float(dataset.score_answer(answer, unpack(packed)))
    except Exception:  # some scorers raise on text that they cannot read
        return 0.0


if __name__ == "__main__":
    serve(draw)
