from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sandboxes import SANDBOX
from trinity.config import Config
from trinity.coordinator.base import Policy, State
from trinity.coordinator.engine.base import Candidate
from trinity.coordinator.engine.reference import PlainForward, blocks
from trinity.coordinator.features import fit_features
from trinity.coordinator.fixed import FixedPolicy
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.suffix import SUFFIX, SuffixInput
from trinity.coordinator.svf import Svf
from trinity.coordinator.theta import ThetaLayout
from trinity.coordinator.tiny import build_tiny
from trinity.errors import DataError, PoolError, TrinityError
from trinity.llm.registry import make_pool
from trinity.optim.cmaes import SepCmaEs
from trinity.optim.fitness import MakePolicy
from trinity.optim.methods import policy_maker
from trinity.orchestration.rollout import Rollouts
from trinity.orchestration.rules import EpisodeRules
from trinity.orchestration.setting import Setting
from trinity.rewards.base import Grade
from trinity.rewards.grader import Grader
from trinity.smoke import coordinator_rungs as of_coordinator
from trinity.smoke.coordinator_rungs import coordinator_rungs
from trinity.smoke.episode_rungs import episode_rungs, ordered
from trinity.smoke.ladder import Rung, RungFailed, climb
from trinity.tasks.demo.task import DemoTask
from trinity.types import Decision, Item, Response, Role, Transcript, Turn, Verdict

NAMES = ["S1", "S2", "S3", "S4", "S5", "S7", "probe", "gate a", "gate b", "S8"]


def layout_of(config: Config, encoder: Encoder) -> ThetaLayout:
    return ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)


def lower(
    config: Config,
    encoder: Encoder,
    layout: ThetaLayout | None = None,
    train: Mapping[str, Sequence[Item]] | None = None,
) -> dict[str, Rung]:
    """The rungs of the coordinator, on the tasks of the demo."""
    items = train or {task: DemoTask(task, 0).load().items["train"] for task in config.tasks}
    return {rung.name: rung for rung in coordinator_rungs(config, encoder, layout or layout_of(config, encoder), items)}


def upper(setting: Setting, encoder: Encoder, make_policy: MakePolicy | None = None) -> dict[str, Rung]:
    """The rungs of the episode."""
    layout = layout_of(setting.config, encoder)
    features = fit_features(setting.config.head.features, encoder, [item.question for item in setting.train])
    make = make_policy or policy_maker(encoder, layout, features)
    return {rung.name: rung for rung in episode_rungs(setting.config, setting, layout, make)}


@pytest.fixture
def small_s7(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_coordinator, "S7_SEEDS", 2)


@pytest.fixture
def setting(configure: Callable[..., Config], demo_setting: Callable[..., Setting]) -> Setting:
    return demo_setting(configure(), "demo_math", 30, 6)


@pytest.mark.usefixtures("small_s7")
@pytest.mark.parametrize(
    "changes",
    [
        {"optim.sigma0": 1e-12},
        {"optim.sigma0": 1e12, "optim.step_size": "csa"},
        {"svf.enabled": False, "head.features": "l2", "optim.active": True},
        {"episode.roles": ["thinker", "worker"], "optim.m": 5000},
        {"pool.agents": [{"name": "birch"}], "episode.roles": ["worker"], "episode.max_turns": 1},
    ],
)
def test_the_demo_climbs_every_rung_whatever_the_step_size(
    changes: dict[str, Any],
    configure: Callable[..., Config],
    demo_setting: Callable[..., Setting],
    demo_encoder: Encoder,
) -> None:
    config = configure(changes)
    setting = demo_setting(config, "demo_math", 30, 6)
    said: list[str] = []
    rungs = [*lower(config, demo_encoder).values(), *upper(setting, demo_encoder).values()]
    records, failure = climb(ordered(rungs), said.append)
    assert failure is None
    assert [record["name"] for record in records] == NAMES
    assert all(record["passed"] for record in records)
    assert [" passed " in line for line in said] == [True] * len(NAMES)


@pytest.mark.usefixtures("small_s7")
def test_each_rung_says_what_it_saw(setting: Setting, demo_encoder: Encoder) -> None:
    config = setting.config
    rungs = lower(config, demo_encoder) | upper(setting, demo_encoder)
    saw = {name: rungs[name].climb() for name in NAMES}
    assert saw["S1"]["read_token"] == SUFFIX
    assert saw["S1"]["read_position"] == -2
    assert saw["S1"]["norm_of_h"] > 0
    assert saw["S2"]["scales"] == sum(demo_encoder.svf_counts.values())
    assert saw["S3"]["n"] == saw["S3"]["head"] + saw["S3"]["scales"]
    assert saw["S3"]["population"] == int(np.ceil(4 + 3 * np.log(saw["S3"]["n"])))
    assert saw["S4"] == {"accept_ends_after": 2, "guarded_accept_ends_after": 3, "no_verdict_runs_to": 4}
    assert set(saw["S5"]) == {"choice", "code", "freeform", "math"}
    assert (saw["S7"]["n"], saw["S7"]["population"], saw["S7"]["sigma"]) == (13312, 33, 0.1)
    assert saw["S7"]["seeds_improved"] == "2 of 2"
    assert all(value >= 0.95 for value in saw["probe"].values())
    assert set(saw["gate a"]["agents"]) == set(config.agents)
    assert saw["S8"]["simulated"] is True
    assert 0 <= saw["S8"]["fitness"] <= 1
    assert 2 <= saw["S8"]["calls"] <= 2 * config.episode.max_turns


class WithoutSuffix(SuffixInput):
    """Reads the transcript alone."""

    def ids(self, transcript: str) -> tuple[int, ...]:
        return tuple(token for token in super().ids(transcript) if self.decode([token]) != SUFFIX)


def tiny_encoder(config: Config, kind: type[Encoder] = Encoder, inputs: type[SuffixInput] = SuffixInput) -> Encoder:
    """The demo's encoder with a part replaced."""
    assert config.slm.tiny is not None
    model, tokenizer, _ = build_tiny(config.slm.tiny)
    model = model.eval().requires_grad_(False)
    read = inputs(tokenizer, config.slm.read_position, config.slm.max_tokens)
    return kind("tiny-qwen3", model, read, PlainForward(model), "none", Svf(blocks(model)[1][-2]))


def test_s1_fails_without_the_suffix(configure: Callable[..., Config]) -> None:
    config = configure()
    assert lower(config, tiny_encoder(config))["S1"].climb()
    with pytest.raises(RungFailed, match=r"does not end in .*Head Input"):
        lower(config, tiny_encoder(config, inputs=WithoutSuffix))["S1"].climb()


def test_s1_fails_where_the_read_position_is_the_end_token(configure: Callable[..., Config]) -> None:
    config = configure({"slm.read_position": -1})
    with pytest.raises(RungFailed, match="read position is the EOS token"):
        lower(config, load_encoder(config.slm))["S1"].climb()


class Trembling(Encoder):
    """Never the same state twice."""

    _calls = 0

    def compute(self, transcripts: Sequence[Transcript], candidate: Candidate | None = None) -> np.ndarray:
        self._calls += 1
        return super().compute(transcripts, candidate) + 1e-15 * self._calls


def test_s1_fails_where_extraction_is_not_deterministic(configure: Callable[..., Config]) -> None:
    config = configure()
    with pytest.raises(RungFailed, match="two extractions of one transcript differ"):
        lower(config, tiny_encoder(config, Trembling))["S1"].climb()


class Deaf(Encoder):
    """Scales change nothing."""

    def candidate(self, scales: np.ndarray) -> Candidate:
        return super().candidate(np.ones_like(scales))


class Inexact(Encoder):
    """Factors that are not those of the matrices."""

    def reconstruction_errors(self) -> dict[str, float]:
        return dict.fromkeys(super().reconstruction_errors(), 1e-3)


@pytest.mark.parametrize("kind, message", [(Deaf, "does not change h"), (Inexact, "with scales of 1 a matrix differs")])
def test_s2_fails_where_scales_do_not_do_what_they_must(
    kind: type[Encoder], message: str, configure: Callable[..., Config]
) -> None:
    config = configure()
    with pytest.raises(RungFailed, match=message):
        lower(config, tiny_encoder(config, kind))["S2"].climb()


def test_s2_fails_where_theta_has_another_count(configure: Callable[..., Config], demo_encoder: Encoder) -> None:
    config = configure()
    layout = layout_of(config, demo_encoder)
    other = replace(layout, svf=layout.svf[:-1])
    with pytest.raises(RungFailed, match=r"the model has \d+ scales, theta \d+"):
        lower(config, demo_encoder, other)["S2"].climb()


class Swapped(ThetaLayout):
    """Packs the head column by column and unpacks it row by row."""

    def pack(self, weight: np.ndarray, scales: np.ndarray) -> np.ndarray:
        return np.concatenate([weight.T.ravel(), scales])


def test_s3_fails_where_packing_and_unpacking_disagree(configure: Callable[..., Config], demo_encoder: Encoder) -> None:
    config = configure()
    layout = layout_of(config, demo_encoder)
    swapped = Swapped(layout.agents, layout.roles, layout.hidden_size, layout.svf)
    with pytest.raises(RungFailed, match="is not theta"):
        lower(config, demo_encoder, swapped)["S3"].climb()


class NeverAccepts(EpisodeRules):
    """An episode always runs to its horizon."""

    def finished(self, transcript: Transcript) -> bool:
        return len(transcript.turns) >= self.max_turns


class Unguarded(EpisodeRules):
    """A Verifier may accept before any Worker has spoken."""

    def advance(self, transcript: Transcript, decision: Decision, response: Response) -> Transcript:
        verdict = Verdict.ACCEPT if "ACCEPT" in response.text else Verdict.REVISE
        is_verdict = decision.role is Role.VERIFIER
        return transcript.append(Turn(decision, response, response.text, verdict if is_verdict else None))


class Credulous(EpisodeRules):
    """A Verifier without a verdict has accepted."""

    def advance(self, transcript: Transcript, decision: Decision, response: Response) -> Transcript:
        usual = super().advance(transcript, decision, response)
        if decision.role is not Role.VERIFIER or not transcript.latest_work:
            return usual
        return transcript.append(replace(usual.turns[-1], verdict=Verdict.ACCEPT))


class Forgetful(EpisodeRules):
    """What was said is not kept."""

    def advance(self, transcript: Transcript, decision: Decision, response: Response) -> Transcript:
        usual = super().advance(transcript, decision, response)
        return transcript.append(replace(usual.turns[-1], output=""))


class Endless(EpisodeRules):
    """Runs past the horizon."""

    def finished(self, transcript: Transcript) -> bool:
        return len(transcript.turns) >= self.max_turns + 1


def with_rules(setting: Setting, kind: type[EpisodeRules]) -> Iterator[Setting]:
    rules = setting.rollouts.rules
    broken = kind(rules.agents, rules.roles, rules.prompts, rules.max_turns, rules.decoding, rules.max_output_chars)
    with Rollouts(setting.rollouts.pool, setting.rollouts.grader, broken, 4) as rollouts:
        yield replace(setting, rollouts=rollouts)


@pytest.mark.parametrize(
    "kind, rung, message",
    [
        (NeverAccepts, "S4", "an ACCEPT after a Worker does not end it"),
        (Unguarded, "S4", "an ACCEPT before any Worker is not treated as REVISE"),
        (Credulous, "S4", "a Verifier without a verdict ends an episode"),
        (Forgetful, "S4", "the transcript does not grow"),
        (Endless, "S8", "8 calls, more than 2 \\* 3"),
    ],
)
def test_rungs_fail_where_the_inner_loop_is_broken(
    kind: type[EpisodeRules], rung: str, message: str, setting: Setting, demo_encoder: Encoder
) -> None:
    for broken in with_rules(setting, kind):
        make: MakePolicy | None = None
        if rung == "S8":  # without a Verifier nothing ends but by the horizon
            make = always(Decision(0, Role.WORKER))
        with pytest.raises(RungFailed, match=message):
            upper(broken, demo_encoder, make)[rung].climb()


def always(decision: Decision) -> MakePolicy:
    def make(thetas: np.ndarray, selection: str) -> Policy:
        return FixedPolicy(((decision,),) * len(thetas))

    return make


class Generous:
    """A reward of 1 for any answer."""

    def __init__(self, *_: object) -> None:
        pass

    def __call__(self, item: Item, response: Response) -> Grade:
        return Grade(1.0, "why not")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("kind", ["math", "choice", "freeform", "code"])
def test_s5_fails_where_a_grader_says_1_to_all(
    kind: str, setting: Setting, demo_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = upper(setting, demo_encoder)["S5"]
    monkeypatch.setattr(f"trinity.rewards.grader.{kind.title()}Reward", Generous)
    with pytest.raises(RungFailed, match=f"{kind}: a right and a wrong answer are graded"):
        rung.climb()


class Minimises(SepCmaEs):
    """The sign forgotten."""

    def tell(self, fitness: np.ndarray) -> None:
        super().tell(-fitness)


@pytest.mark.usefixtures("small_s7")
def test_s7_fails_where_the_optimiser_goes_the_wrong_way(
    configure: Callable[..., Config], demo_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_coordinator, "SepCmaEs", Minimises)
    with pytest.raises(RungFailed, match="for 0 of 2 seeds"):
        lower(configure(), demo_encoder)["S7"].climb()


class Useless(Encoder):
    """States that tell nothing of the text."""

    def states(self, transcripts: Sequence[Transcript]) -> np.ndarray:
        return np.random.Generator(np.random.Philox(1)).standard_normal((len(transcripts), self.hidden_size))


def test_the_probe_fails_on_an_encoder_that_tells_nothing_apart(configure: Callable[..., Config]) -> None:
    config = configure()
    with pytest.raises(RungFailed, match="nothing can be learnt") as error:
        lower(config, tiny_encoder(config, Useless))["probe"].climb()
    assert "demo_code" in str(error.value)


def test_the_probe_leaves_out_what_it_cannot_measure(configure: Callable[..., Config]) -> None:
    config = configure()
    items = DemoTask("demo_math", 0).load().items["train"]
    few, one_domain = items[:40], [replace(item, domain="all") for item in items]
    train = {"few": few, "one_domain": one_domain}
    saw = lower(config, tiny_encoder(config, Useless), train=train)["probe"].climb()
    assert set(saw) == {"few", "one_domain"}
    assert all(value.startswith("not measured") for value in saw.values())


def test_gate_a_fails_where_the_start_is_not_uniform(setting: Setting, demo_encoder: Encoder) -> None:
    with pytest.raises(RungFailed, match="at W = 0 the agents are not uniform"):
        upper(setting, demo_encoder, always(Decision(0, Role.WORKER)))["gate a"].climb()


class Drifting:
    """A policy whose choice depends on which candidate asks."""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        return [Decision(state.candidate % 2, Role.WORKER) for state in states]


def test_gate_b_fails_where_one_theta_is_not_treated_alike(setting: Setting, demo_encoder: Encoder) -> None:
    with pytest.raises(RungFailed, match="one theta on one minibatch is rewarded differently"):
        upper(setting, demo_encoder, lambda thetas, selection: Drifting())["gate b"].climb()


class Overpaying(Grader):
    """Rewards beyond 1."""

    def grade(self, item: Item, response: Response) -> Grade:
        return Grade(2.0, "too much")


def test_s8_fails_where_a_fitness_is_out_of_range(setting: Setting, demo_encoder: Encoder) -> None:
    pool = make_pool(setting.config, [*setting.train, *setting.valid])
    with Overpaying(SANDBOX) as grader, Rollouts(pool, grader, setting.rollouts.rules, 4) as rollouts:
        broken = replace(setting, rollouts=rollouts)
        with pytest.raises(RungFailed, match=r"fitness 2\.0 is not in \[0, 1\]"):
            upper(broken, demo_encoder, always(Decision(0, Role.WORKER)))["S8"].climb()


def test_a_failure_is_named_and_the_rest_is_climbed() -> None:
    def fails() -> dict[str, Any]:
        raise RungFailed("it saw this")

    def cannot() -> dict[str, Any]:
        raise DataError("file: row 3: broken")

    rungs = [Rung("S1", "one", fails), Rung("S2", "two", lambda: {"x": 1}), Rung("S3", "three", cannot)]
    said: list[str] = []
    records, failure = climb(rungs, said.append)
    assert failure == "ladder: S1 (one): it saw this\nladder: S3 (three): file: row 3: broken"
    assert [record["passed"] for record in records] == [False, True, False]
    assert records[0]["saw"] == {"failure": "it saw this"}
    assert records[1] == {"name": "S2", "proves": "two", "passed": True, "saw": {"x": 1}}
    assert said[0] == "S1    FAILED  one"


def test_a_pool_that_failed_is_not_asked_again() -> None:
    asked: list[str] = []

    def rung(name: str, asks: bool, failure: TrinityError | None = None) -> Rung:
        def check() -> dict[str, Any]:
            asked.append(name)
            if failure:
                raise failure
            return {}

        return Rung(name, "it works", check, asks)

    lines: list[str] = []
    no_server = PoolError("no connection")
    rungs = [rung("S1", False), rung("b", True, no_server), rung("S7", False), rung("S8", True)]
    records, failed = climb(rungs, lines.append)
    assert asked == ["S1", "b", "S7"]
    assert failed == "ladder: b (it works): no connection"
    assert [record["passed"] for record in records] == [True, False, True, False]
    assert records[-1]["saw"] == {"failure": "not tried: the pool failed before"}
    assert lines[-1] == "S8    not tried  it works"
    asked.clear()
    climb([rung("b", True, RungFailed("differs")), rung("S8", True)], lines.append)
    assert asked == ["b", "S8"]
