"""One episode: when it ends, what the next agent reads, and what is graded."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from sandboxes import SANDBOX
from trinity.config import load_config
from trinity.coordinator.fixed import FixedPolicy
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import EpisodeRules, make_rules
from trinity.rewards.grader import Grader
from trinity.types import Decision, Decoding, Episode, Item, Request, Response, Role, Verdict

CONFIG = load_config(Path(__file__).parents[2] / "params.yaml")
ITEM = Item("i1", "toy", "colours", "Which colour has the sky?", "freeform", "blue")
RIGHT, WRONG = "It is clear.\nAnswer: blue", "It is night.\nAnswer: black"
ACCEPT, REVISE, SILENT = "Good.\nVERDICT: ACCEPT", "Bad.\nVERDICT: REVISE", "I cannot tell."
T, W, V = Role.THINKER, Role.WORKER, Role.VERIFIER


@dataclass
class ScriptedPool:
    """Says its lines one after another and keeps what it was asked."""

    lines: Sequence[Response]
    agents: tuple[str, ...] = ("ann", "bob")
    asked: list[Request] = field(default_factory=list)

    async def generate(self, request: Request) -> Response:
        self.asked.append(request)
        return self.lines[len(self.asked) - 1]


def rules(max_turns: int = 4, max_output_chars: int = 8000) -> EpisodeRules:
    given = replace(make_rules(CONFIG), agents=("ann", "bob"), max_turns=max_turns, max_output_chars=max_output_chars)
    return replace(given, decoding=Decoding(77, 0.5, 0.9))


def play(*turns: tuple[Role, str | Response], of: EpisodeRules | None = None) -> tuple[Episode, list[Request]]:
    """The episode in which the policy asks for these roles (agents 0, 1, 0, ...) and the pool says these texts."""
    lines = [text if isinstance(text, Response) else Response(text, "stop", 10, 5) for _, text in turns]
    pool = ScriptedPool(lines)
    decisions = tuple(Decision(index % 2, role) for index, (role, _) in enumerate(turns))
    with Grader(SANDBOX) as grader, Rollouts(pool, grader, of or rules(), 1) as rollouts:
        (episode,) = rollouts.run(FixedPolicy((decisions,)), [Job(ITEM)])
    return episode, pool.asked


def test_accept_after_a_worker_ends_it() -> None:
    episode, asked = play((T, "Look up."), (W, RIGHT), (V, ACCEPT), (W, WRONG))
    assert [turn.decision.role for turn in episode.transcript.turns] == [T, W, V]
    assert len(asked) == 3
    assert (episode.reward, episode.accepted) == (1.0, True)
    assert [turn.verdict for turn in episode.transcript.turns] == [None, None, Verdict.ACCEPT]


def test_accept_ends_it_though_the_answer_is_wrong() -> None:
    episode, _ = play((W, WRONG), (V, ACCEPT), (W, RIGHT))
    assert (episode.reward, episode.accepted, len(episode.transcript.turns)) == (0.0, True, 2)


@pytest.mark.parametrize("before", [[(V, ACCEPT)], [(T, "Look up."), (V, ACCEPT)], [(V, ACCEPT), (V, ACCEPT)]])
def test_accept_before_any_worker_counts_as_revise(before: list[tuple[Role, str | Response]]) -> None:
    episode, _ = play(*before, (W, RIGHT), (V, ACCEPT), of=rules(max_turns=5))
    assert len(episode.transcript.turns) == len(before) + 2
    assert {turn.verdict for turn in episode.transcript.turns[: len(before)]} <= {None, Verdict.REVISE}
    assert (episode.reward, episode.accepted) == (1.0, True)


def test_an_empty_worker_reply_is_a_worker_reply() -> None:
    for reason in ("stop", "content_filter", "length"):
        episode, _ = play((W, RIGHT), (W, Response("", reason, 3, 0)), (V, ACCEPT))
        assert (episode.reward, episode.accepted, len(episode.transcript.turns)) == (0.0, True, 3)


@pytest.mark.parametrize("verifier", [REVISE, SILENT, ""])
def test_without_an_accept_it_runs_to_the_last_turn(verifier: str) -> None:
    episode, asked = play((W, WRONG), (V, verifier), (W, RIGHT), (V, verifier), (W, WRONG))
    assert len(asked) == len(episode.transcript.turns) == 4
    assert (episode.reward, episode.accepted) == (1.0, False)


def test_accept_in_the_last_turn_counts() -> None:
    episode, _ = play((W, RIGHT), (V, ACCEPT), of=rules(max_turns=2))
    assert (episode.reward, episode.accepted) == (1.0, True)
    assert play((W, RIGHT), of=rules(max_turns=1))[0].reward == 1.0


def test_only_a_verifier_accepts() -> None:
    episode, _ = play((W, f"{RIGHT}\n{ACCEPT}"), (T, ACCEPT), (W, RIGHT), (T, ACCEPT))
    assert (len(episode.transcript.turns), episode.accepted) == (4, False)


def test_the_latest_worker_is_graded_and_no_other_role() -> None:
    assert play((W, WRONG), (W, RIGHT), (T, WRONG), (V, REVISE))[0].reward == 1.0
    assert play((W, RIGHT), (W, WRONG), (T, RIGHT), (V, f"{RIGHT}\n{ACCEPT}"))[0].reward == 0.0
    assert play((W, RIGHT), (W, "No idea."), of=rules(max_turns=2))[0].reward == 0.0


def test_no_worker_is_a_0() -> None:
    episode, _ = play((T, RIGHT), (V, RIGHT), (T, RIGHT), (V, ACCEPT))
    assert (episode.reward, episode.accepted, episode.transcript.latest_work) == (0.0, False, None)


def test_the_uncut_reply_is_graded_though_the_transcript_holds_the_capped_one() -> None:
    long = f"{'x' * 400}\nAnswer: blue\n{'y' * 400}"
    episode, asked = play((W, long), (T, "Hm."), of=rules(max_turns=2, max_output_chars=200))
    (turn, _) = episode.transcript.turns
    assert episode.reward == 1.0
    assert turn.response.text == long
    assert len(turn.output) <= 200
    assert "blue" not in turn.output
    assert turn.output in episode.transcript.text
    assert turn.output in asked[1].messages[0].content
    assert "blue" not in asked[1].messages[0].content


def test_a_verdict_that_the_cap_would_cut_is_read() -> None:
    long = f"{'x' * 400}\nVERDICT: ACCEPT\n{'y' * 400}"
    episode, _ = play((W, RIGHT), (V, long), of=rules(max_output_chars=200))
    assert episode.accepted
    assert "VERDICT" not in episode.transcript.turns[1].output


def test_what_is_asked_of_whom() -> None:
    _, asked = play((T, "Look up."), (W, RIGHT), (V, REVISE), (W, RIGHT))
    assert [request.agent for request in asked] == ["ann", "bob", "ann", "bob"]
    assert [request.meta.role for request in asked] == [T, W, V, W]
    assert {(request.decoding, request.sample_index, request.meta.item_id) for request in asked} == {
        (Decoding(77, 0.5, 0.9), 0, "i1")
    }
    contents = [request.messages[0].content for request in asked]
    assert all(ITEM.question in content for content in contents)
    for number, output in enumerate(["Look up.", RIGHT, "Bad.\nVERDICT: REVISE"]):
        assert [output in content for content in contents] == [index > number for index in range(4)]


def test_the_transcript_only_grows_at_its_end() -> None:
    episode, _ = play((T, "Look up."), (W, WRONG), (V, REVISE), (W, RIGHT))
    texts = [replace(episode.transcript, turns=episode.transcript.turns[:count]).text for count in range(5)]
    assert texts[0] == ITEM.question
    assert all(later.startswith(earlier) and later != earlier for earlier, later in pairwise(texts))
    assert (episode.prompt_tokens, episode.completion_tokens) == (40, 20)


def test_a_single_call_is_one_turn_with_so_many_times_the_tokens() -> None:
    five = rules().single_call(5)
    episode, asked = play((W, RIGHT), of=five)
    assert (episode.reward, len(asked), asked[0].decoding) == (1.0, 1, Decoding(385, 0.5, 0.9))


def test_the_rules_are_those_of_the_parameters() -> None:
    made = make_rules(CONFIG)
    assert (made.agents, made.roles) == (CONFIG.agents, tuple(CONFIG.episode.roles))
    assert (made.max_turns, made.max_output_chars) == (CONFIG.episode.max_turns, CONFIG.roles.max_output_chars)
    assert made.decoding == Decoding(CONFIG.episode.max_tokens, CONFIG.episode.temperature, CONFIG.episode.top_p)
