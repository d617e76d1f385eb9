"""Rungs S4, S5, S8 and gates (a), (b): the inner loop, the graders, one candidate through fitness."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trinity.config import Config
from trinity.coordinator.base import State
from trinity.coordinator.fixed import FixedPolicy
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.fitness import Fitness, MakePolicy, Sampling, mean_reward
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.setting import Setting
from trinity.rewards.grader import Grader
from trinity.rng import generator
from trinity.smoke.ladder import Rung, require
from trinity.types import Decision, Episode, Item, Request, Response, Role, Transcript

ACCEPTING, SILENT = "Checked.\nVERDICT: ACCEPT", "I have no verdict."
GATE_SAMPLES, GATE_Z = 600, 4.5
TOY = {
    "math": ("2", "The answer is \\boxed{2}.", "The answer is \\boxed{3}."),
    "choice": ("B", "Answer: B", "Answer: C"),
    "freeform": ("blue", "Answer: blue", "Answer: red"),
    "code": (
        {"function": "double", "tests": [{"input": "2", "output": "4"}, {"input": "5", "output": "10"}]},
        "```python\ndef double(x):\n    return 2 * x\n```",
        "```python\ndef double(x):\n    return x * x\n```",
    ),
}
NOTHING_TO_TRY = {
    "recorded": "a score in the table, nothing to grade",
    "reasoning_gym": "the library's own scorers, tried where they are loaded",
}


@dataclass(frozen=True)
class ScriptedPool:
    """Answers by role with fixed texts: the pool of rung S4."""

    agents: tuple[str, ...]
    texts: Mapping[Role, str]

    async def generate(self, request: Request) -> Response:
        """The text of the role that is asked for."""
        return Response(self.texts[request.meta.role], "stop", 1, 1)


def episode_rungs(
    config: Config,
    setting: Setting,
    layout: ThetaLayout,
    make_policy: MakePolicy,
    rewards: Collection[str] = tuple(TOY),
) -> list[Rung]:
    """The rungs that need a pool and graders, on one task; S5 tries the graders named."""
    rules = setting.rollouts.rules

    def s4() -> dict[str, Any]:
        item = Item("S4", "ladder", "none", "What is 1 + 1? Put it in \\boxed{}.", "math", "2")
        if Role.VERIFIER not in rules.roles:
            return {"verifier": "not among episode.roles: every episode runs to max_turns"}
        four = replace(rules, max_turns=max(4, rules.max_turns))

        def run(verifier: str, *roles: Role) -> Episode:
            texts = {Role.THINKER: "Add them.", Role.WORKER: TOY["math"][1], Role.VERIFIER: verifier}
            with Rollouts(ScriptedPool(rules.agents, texts), setting.rollouts.grader, four, 1) as rollouts:
                policy = FixedPolicy((tuple(Decision(0, role) for role in roles),))
                return rollouts.run(policy, [Job(item)])[0]

        accepted = run(ACCEPTING, Role.WORKER, Role.VERIFIER)
        require(len(accepted.transcript.turns) == 2 and accepted.accepted, "an ACCEPT after a Worker does not end it")
        require(accepted.reward == 1.0, "the accepted Worker's right answer is not rewarded")
        guarded = run(ACCEPTING, Role.VERIFIER, Role.WORKER, Role.VERIFIER)
        require(len(guarded.transcript.turns) == 3, "an ACCEPT before any Worker is not treated as REVISE")
        silent = run(SILENT, Role.WORKER, Role.VERIFIER)
        require(len(silent.transcript.turns) == four.max_turns, "a Verifier without a verdict ends an episode")
        none = run(SILENT, Role.THINKER)
        require(none.reward == 0.0, "an episode without a Worker is rewarded")
        texts = [turn.output for turn in silent.transcript.turns]
        require(all(texts) and silent.transcript.text.count(SILENT) == len(texts) - 1, "the transcript does not grow")
        return {"accept_ends_after": 2, "guarded_accept_ends_after": 3, "no_verdict_runs_to": len(texts)}

    def s5() -> dict[str, Any]:
        saw: dict[str, Any] = {}
        with Grader(config.sandbox, config.grading.mode) as grader:
            for kind in sorted(rewards):
                if kind not in TOY:
                    saw[kind] = NOTHING_TO_TRY[kind]
                    continue
                reference, right, wrong = TOY[kind]
                item = Item(f"S5-{kind}", "ladder", "none", "", kind, reference)
                grades = [grader.grade(item, Response(text, "stop", 1, 1)).value for text in (right, wrong)]
                require(grades == [1.0, 0.0], f"{kind}: a right and a wrong answer are graded {grades}, not [1, 0]")
                saw[kind] = "right 1, wrong 0"
        return saw

    def s8() -> dict[str, Any]:
        fitness = _fitness(setting, make_policy, m=min(2, len(setting.train)))
        theta = layout.start() + 0.1 * generator("S8").standard_normal(layout.n)
        episodes = fitness.evaluate(theta[None], 1)[0]
        value = mean_reward(episodes)
        calls = sum(len(episode.transcript.turns) for episode in episodes)
        require(np.isfinite(value) and 0 <= value <= 1, f"fitness {value} is not in [0, 1]")
        require(calls <= 2 * rules.max_turns, f"{calls} calls, more than 2 * {rules.max_turns}")
        return {"fitness": value, "calls": calls, "pool": config.pool.kind, "simulated": config.simulated}

    def uniform_choices() -> dict[str, Any]:
        policy = make_policy(layout.start()[None], "sample")
        items = [setting.train[i % len(setting.train)] for i in range(GATE_SAMPLES)]
        decisions = policy.decide(
            [State(item.id, Transcript(item.question), 0, ("gate", i)) for i, item in enumerate(items)]
        )
        saw: dict[str, Any] = {"samples": GATE_SAMPLES}
        groups: Mapping[str, tuple[int, Callable[[Decision], str]]] = {
            "agents": (len(rules.agents), lambda d: rules.agents[d.agent]),
            "roles": (len(rules.roles), lambda d: d.role.value),
        }
        for group, (choices, name) in groups.items():
            counts = Counter(map(name, decisions))
            deviation = np.sqrt(GATE_SAMPLES * (1 / choices) * (1 - 1 / choices))
            far = [c for c in counts.values() if abs(c - GATE_SAMPLES / choices) > GATE_Z * max(deviation, 1e-9)]
            require(len(counts) == choices and not far, f"at W = 0 the {group} are not uniform: {dict(counts)}")
            saw[group] = {key: counts[key] / GATE_SAMPLES for key in sorted(counts)}
        return saw

    def repeats() -> dict[str, Any]:
        theta = layout.start() + 0.1 * generator("gate b").standard_normal(layout.n)
        m = min(config.optim.m, len(setting.train))
        runs = [_fitness(setting, make_policy, m).evaluate(np.stack([theta, theta]), 1) for _ in range(2)]
        rewards = [[e.reward for e in episodes] for run in runs for episodes in run]
        require(all(row == rewards[0] for row in rewards), "one theta on one minibatch is rewarded differently")
        return {"m": m, "runs": 2, "candidates_with_one_theta": 2, "same_rewards": True}

    return [
        Rung("S4", "the inner loop ends where it must", s4),
        Rung("S5", "each grader tells a right answer from a wrong one", s5),
        Rung("gate a", "at W = 0 agents and roles are chosen uniformly", uniform_choices),
        Rung("gate b", "the same theta on the same minibatch gets the same fitness", repeats, asks=True),
        Rung("S8", "one candidate goes through fitness end to end", s8, asks=True),
    ]


def _fitness(setting: Setting, make_policy: MakePolicy, m: int) -> Fitness:
    sampling = Sampling(m, "shared", common_random_numbers=True, selection="sample")
    return Fitness(
        setting.rollouts, make_policy, setting.train, setting.valid, sampling,
        valid_selection=setting.config.eval.selection, key=("ladder", setting.task),
    )  # fmt: skip


def ordered(rungs: Sequence[Rung]) -> list[Rung]:
    """The rungs in the order of the spec's ladder, gates and probe before what costs."""
    order = ("S1", "S2", "S3", "S4", "S5", "S7", "probe", "gate a", "S6", "gate b", "S8")
    return sorted(rungs, key=lambda rung: order.index(rung.name))
