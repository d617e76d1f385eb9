"""Readings: how a transcript's ids continue those of the transcript a turn before."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from encoders import SLM, random_causal_lm, save_pretrained
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.coordinator.engine.base import Reading
from trinity.coordinator.slm import load_encoder
from trinity.coordinator.suffix import SuffixInput
from trinity.coordinator.tiny import build_tiny
from trinity.types import Decision, Response, Role, Transcript, Turn

TEXTS = st.text(max_size=60) | st.sampled_from(
    ["...", "a\n", "\n\n[", "é→\U0001f600", "4", "[1. worker]\n", "<Head", ""]
)


def transcript(question: str, *outputs: str) -> Transcript:
    made = Transcript(question)
    for output in outputs:
        made = made.append(Turn(Decision(0, Role.WORKER), Response(output, "stop", 1, 1), output))
    return made


def inputs(max_tokens: int = 2048) -> SuffixInput:
    assert SLM.tiny is not None
    return SuffixInput(build_tiny(SLM.tiny)[1], -2, max_tokens)


INPUTS, SHORT = inputs(), inputs(64)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=4), st.booleans())
def test_a_reading_is_the_whole_tokenisation_and_continues_its_parent(
    question: str, outputs: list[str], cut: bool
) -> None:
    rule = SHORT if cut else INPUTS
    whole = transcript(question, *outputs)
    reading = rule.reading(whole)
    assert reading.whole == rule.ids(whole.text)[:-1]
    assert len(reading.whole) == len(reading) <= rule.max_tokens - 1
    assert reading.ids
    for each in reading.path:
        assert each.kept <= len(each.parent) if each.parent else each.kept == 0
        assert each.parent is None or each.kept > each.parent.kept
    fresh = inputs(rule.max_tokens).reading(whole)  # whatever was read before
    assert (fresh.key, [one.key for one in fresh.path]) == (reading.key, [one.key for one in reading.path])


def test_turns_are_kept_as_they_are_added() -> None:
    turns = ["the first answer is 12", "a second one: 13", "and a third"]
    readings = [INPUTS.reading(transcript("how much is 3 times 4?", *turns[:count])) for count in range(4)]
    for before, after in pairwise(readings):
        assert after.parent is not None
        assert after.parent.key == before.key
        assert after.kept >= len(before) - 2  # all but the suffix


def test_a_long_transcript_keeps_what_stays_of_its_beginning() -> None:
    first = transcript("word " * 200)
    second = first.append(Turn(Decision(0, Role.WORKER), Response("x", "stop", 1, 1), "12 " * 50))
    before, after = SHORT.reading(first), SHORT.reading(second)
    assert len(before) == len(after) == 63
    assert after.parent is not None
    assert after.kept >= 30  # the first half


@pytest.mark.parametrize("engine", ["shared", "reference"])
def test_states_of_long_and_growing_transcripts_equal_the_plain_forward(tmp_path: Path, engine: str) -> None:
    folder = save_pretrained(tmp_path / "model", random_causal_lm("Llama", max_position_embeddings=40).float())
    slm = SLM.model_copy(update={"model": str(folder), "tiny": None, "dtype": "float32", "engine": engine})
    encoder = load_encoder(slm)
    said = [" ".join(f"w{number}" for number in range(start, start + 25)) for start in (0, 5, 9)]
    grown = [transcript("w1 w2", *said[:count]) for count in range(4)]
    expected = encoder.compute(grown)
    np.testing.assert_allclose(encoder.states(grown), expected, atol=1e-5 * float(np.linalg.norm(expected[0])))
    assert [len(encoder.ids(one.text)) for one in grown][-2:] == [40, 40]


@pytest.mark.parametrize("model", ["smollm2", "qwen05"])
def test_real_tokenizers_keep_all_of_a_transcript_but_its_seam(model: str) -> None:
    from transformers import AutoTokenizer

    cached = Path.home() / ".cache" / "small-models" / "hf" / model
    if not cached.exists():
        pytest.skip(f"no {model} at {cached}")
    rule = SuffixInput(AutoTokenizer.from_pretrained(cached), -2, 4096)
    outputs = ["The answer is 12...", "So\n\n\\boxed{4}\n", "naïvely: é→\U0001f600", "```python\nx = 1\n```"]
    for count in range(1, 5):
        reading = rule.reading(transcript("How many r's are in strawberry?", *outputs[:count]))
        assert isinstance(reading.parent, Reading)
        assert reading.kept >= len(reading.parent) - 8
