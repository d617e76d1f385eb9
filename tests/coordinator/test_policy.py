"""The trained coordinator as a policy."""

import numpy as np
import pytest
from encoders import SLM, questions, scaled

from trinity.coordinator.base import State
from trinity.coordinator.features import Features, fit_features
from trinity.coordinator.head import Selection
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.types import Decision, Response, Role, Transcript, Turn

AGENTS, ROLES = ("a", "b", "c"), tuple(Role)
QUESTIONS = [f"Solve the linear equation {number}x + 4 = 19" for number in range(40)]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(SLM)


def _states(candidate: int = 0, key: tuple[int, ...] = (0,)) -> list[State]:
    plan = Turn(Decision(1, Role.THINKER), Response("a plan", "stop", 1, 1), "a plan")
    transcripts = [Transcript(question) for question in QUESTIONS]
    transcripts[::3] = [transcript.append(plan) for transcript in transcripts[::3]]
    return [State(f"item {i}", transcript, candidate, key) for i, transcript in enumerate(transcripts)]


def _policy(
    encoder: Encoder, svf: bool, selection: Selection, size: float = 3.0, roles: tuple[Role, ...] = ROLES
) -> CoordinatorPolicy:
    layout = ThetaLayout.of(encoder, AGENTS, roles, svf)
    draws = np.random.default_rng(0).normal(size=(3, layout.n))
    draws[:, : layout.head_size] *= size
    draws[:, layout.head_size :] *= 0.2
    return CoordinatorPolicy(encoder, layout, layout.start() + draws, Features("l2"), selection)


@pytest.mark.parametrize("selection", ["sample", "argmax"])
@pytest.mark.parametrize("svf", [True, False])
def test_a_state_gets_the_same_decision_alone_and_among_others(
    svf: bool, selection: Selection, encoder: Encoder
) -> None:
    policy = _policy(encoder, svf, selection)
    states = [state for candidate in (1, 0, 2) for state in _states(candidate)]
    together = policy.decide(states)
    assert [policy.decide([state])[0] for state in states[::7]] == together[::7]
    np.testing.assert_array_equal(policy.logits(states)[::7], [policy.logits([state])[0] for state in states[::7]])
    order = np.random.default_rng(1).permutation(len(states))
    assert policy.decide([states[i] for i in order]) == [together[i] for i in order]
    assert len({(decision.agent, decision.role) for decision in together}) > 2


def test_logits_are_the_head_times_the_features_of_the_adapted_state(encoder: Encoder) -> None:
    layout = ThetaLayout.of(encoder, AGENTS, ROLES, svf=True)
    theta = layout.start() + np.random.default_rng(3).normal(size=layout.n) * 0.2
    weight, scales = layout.unpack(theta)
    features = fit_features("centred", encoder, QUESTIONS)
    policy = CoordinatorPolicy(encoder, layout, theta[None], features, "argmax")
    h = scaled(encoder, [state.transcript for state in _states()], scales)
    assert features.mean is not None
    shifted = h - encoder.states(questions(*QUESTIONS)).mean(axis=0)
    expected = shifted / np.linalg.norm(shifted, axis=1, keepdims=True) @ weight.T
    np.testing.assert_allclose(policy.logits(_states()), expected, atol=1e-12)
    best = [Decision(int(row[:3].argmax()), ROLES[int(row[3:].argmax())]) for row in expected]
    assert policy.decide(_states()) == best


def test_svf_off_at_scales_of_one_is_the_same_policy(encoder: Encoder) -> None:
    weight = np.random.default_rng(4).normal(size=(6, encoder.hidden_size))
    logits = []
    for svf in (True, False):
        layout = ThetaLayout.of(encoder, AGENTS, ROLES, svf)
        theta = layout.pack(weight, np.ones(layout.n - layout.head_size))
        logits.append(CoordinatorPolicy(encoder, layout, theta[None], Features("raw"), "argmax").logits(_states()))
    np.testing.assert_array_equal(logits[0], logits[1])


@pytest.mark.parametrize("selection", ["sample", "argmax"])
def test_the_start_chooses_uniformly_and_ties_do_not_go_to_the_first(selection: Selection, encoder: Encoder) -> None:
    layout = ThetaLayout.of(encoder, AGENTS, ROLES, svf=True)
    policy = CoordinatorPolicy(encoder, layout, layout.start()[None], Features("l2"), selection)
    decisions = [decision for key in range(10) for decision in policy.decide(_states(key=(key,)))]
    for agent in range(3):
        assert abs(np.mean([decision.agent == agent for decision in decisions]) - 1 / 3) < 0.08
    for role in ROLES:
        assert abs(np.mean([decision.role is role for decision in decisions]) - 1 / 3) < 0.08
    pairs = [(decision.agent, decision.role) for decision in decisions]
    assert min(pairs.count((agent, role)) for agent in range(3) for role in ROLES) > len(pairs) / 18


def test_candidates_share_their_draws_unless_the_key_names_them(encoder: Encoder) -> None:
    layout = ThetaLayout.of(encoder, AGENTS, ROLES, svf=False)
    policy = CoordinatorPolicy(encoder, layout, np.stack([layout.start()] * 2), Features("l2"), "sample")
    assert policy.decide(_states(0)) == policy.decide(_states(1))
    assert policy.decide(_states(0, (0, 0))) != policy.decide(_states(1, (0, 1)))


def test_one_role_is_always_chosen(encoder: Encoder) -> None:
    policy = _policy(encoder, svf=False, selection="sample", roles=(Role.WORKER,))
    assert policy.logits(_states()).shape == (len(QUESTIONS), 3)
    assert {decision.role for decision in policy.decide(_states())} == {Role.WORKER}


def test_no_states(encoder: Encoder) -> None:
    assert _policy(encoder, svf=True, selection="sample").decide([]) == []
