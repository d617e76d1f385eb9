"""The demo's encoder: the same in every process, and able to tell the demo's domains apart."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from encoders import SLM, TINY

from trinity.config import load_config
from trinity.coordinator.features import Kind, fit_features
from trinity.coordinator.probe import probe_accuracy
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.suffix import SUFFIX
from trinity.coordinator.tiny import build_tiny
from trinity.errors import ConfigError
from trinity.llm.simulated import VERDICT_TEXTS, plan_text
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.types import Decision, Item, Response, Role, Transcript, Turn

PARAMS = Path(__file__).parents[2] / "params.yaml"
_PRINT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from encoders import SLM, TINY
from trinity.coordinator.slm import load_encoder
from trinity.coordinator.suffix import SUFFIX
from trinity.coordinator.tiny import build_tiny
encoder = load_encoder(SLM)
print(json.dumps([encoder.fingerprint, sorted(build_tiny(TINY)[1].get_vocab().items())]))
"""


@pytest.fixture(scope="module")
def demo() -> Encoder:
    return load_encoder(load_config(PARAMS).slm)


def _items(task: str) -> list[Item]:
    splits = DemoTask(task, load_config(PARAMS).data.seed).load().items
    return [*splits["train"], *splits["valid"], *splits["test"]]


def _after(item: Item, turns: str) -> Transcript:
    said = {"T": (Role.THINKER, plan_text("birch")), "W": (Role.WORKER, item.extra["wrong"])}
    said["V"] = (Role.VERIFIER, VERDICT_TEXTS[False])
    transcript = Transcript(item.question)
    for role, text in (said[turn] for turn in turns):
        transcript = transcript.append(Turn(Decision(0, role), Response(text, "stop", 1, 1), text))
    return transcript


def test_vocabulary_and_weights_are_the_same_in_every_process() -> None:
    script = [sys.executable, "-c", _PRINT, str(Path(__file__).parent)]
    printed = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    here = [load_encoder(SLM).fingerprint, sorted(build_tiny(TINY)[1].get_vocab().items())]
    assert json.loads(printed) == json.loads(json.dumps(here))


def test_the_suffix_is_one_token_before_the_end(demo: Encoder) -> None:
    ids = demo.ids("Solve the linear equation 3x + 4 = 19")
    assert ids[-2:] == demo.ids("")
    assert ids[-2:] not in [ids[start : start + 2] for start in range(len(ids) - 2)]


@pytest.mark.parametrize("text", ["", 'Solve 12x + 345 = 6\n\n## Plan\n\t"é→\U0001f600"', "zyxwv ##a [::-1]"])
def test_decoding_gives_the_text_back(text: str, demo: Encoder) -> None:
    assert demo.decode(demo.ids(text)[:-1]) == text + SUFFIX


def test_questions_are_few_tokens(demo: Encoder) -> None:
    for task in KINDS:
        lengths = [len(demo.ids(item.question)) for item in _items(task)]
        assert np.mean(lengths) < 45
        assert max(lengths) < 60


@pytest.mark.parametrize("features", ["l2", "centred"])
@pytest.mark.parametrize("task", list(KINDS))
def test_a_linear_probe_tells_the_domains_apart(task: str, features: Kind, demo: Encoder) -> None:
    items = _items(task)
    read = fit_features(features, demo, [item.question for item in items])
    for turns in ("", "T", "W", "TW", "WVW"):
        h = read(demo.states([_after(item, turns) for item in items]))
        assert probe_accuracy(h, [item.domain for item in items], 0) >= 0.95, turns


@pytest.mark.parametrize("task", list(KINDS))
def test_a_linear_probe_tells_the_turns_apart(task: str, demo: Encoder) -> None:
    items = _items(task)
    stages = ("", "T", "W")
    h = demo.states([_after(item, turns) for turns in stages for item in items])
    read = fit_features("l2", demo, [])
    assert probe_accuracy(read(h), [turns for turns in stages for _ in items], 0) >= 0.85


def test_sizes_that_do_not_divide_are_refused() -> None:
    tiny = load_config(PARAMS).slm.tiny
    assert tiny is not None
    for change in ({"hidden_size": 30, "heads": 4}, {"heads": 4, "kv_heads": 3}, {"vocabulary": 400}):
        with pytest.raises(ConfigError, match=r"slm\.tiny"):
            build_tiny(tiny.model_copy(update=change))
