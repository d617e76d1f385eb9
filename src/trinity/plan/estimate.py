"""The plan: what every stage and the whole pipeline will ask, and what that comes to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from trinity.config import Config
from trinity.errors import DataError, TrinityError
from trinity.plan.bounds import Demand, Part, Space
from trinity.plan.callees import Callee, Callees, Same, model_calls, shortest_episode
from trinity.plan.questions import Questions, TaskQuestions, questions_of
from trinity.plan.rates import Amounts, Range, Rates
from trinity.plan.runs import StageRuns, pipeline_runs
from trinity.plan.stored import Place, Stored, read_stored
from trinity.smoke.pool_rung import MOST_TOKENS, TEXT
from trinity.types import SPLITS, Split

LADDER = Path("data/ladder.json")
USUAL_POPULATION = 33
"""Of the spec's n, 13,312."""


@dataclass(frozen=True)
class Estimate:
    """A stage on a task, or all of them together.

    Attributes:
        requests: That differ, whatever is stored.
        amounts: Of those that neither the store nor an earlier stage of the plan answers.
        seconds: From the first to the last reply, as many at once as params.yaml lets.
    """

    stage: str
    task: str
    requests: Range
    amounts: Amounts
    seconds: Range


class Plan:
    """What params.yaml, the splits and the store say of the calls to come.

    Args:
        config: Of params.yaml.

    Raises:
        TrinityError: splits or the store cannot be read.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._callees = Callees(config)
        self._live = config.pool.kind == "litellm" and config.pool.responses == "live"
        self._demands: dict[tuple[StageRuns, Split], Demand] = {}
        self._unknown: list[str] = []
        self._tasks = {task.task: task for name in config.tasks if (task := self._questions(name)) is not None}
        self._population, self._population_assumed = _population(config)
        self._stages = pipeline_runs(config, list(self._tasks.values()), self._population)
        self.stored: Stored = read_stored(config, self._callees, self._wanted())

    @cached_property
    def rates(self) -> Rates:
        """Tokens, seconds and prices."""
        return Rates(self._config, self.stored.measured)

    @property
    def paid(self) -> bool:
        """Whether real models are asked."""
        return self._config.pool.kind == "litellm" and self._config.pool.responses != "replay"

    def of(self, stage: str, task: str | None) -> Estimate:
        """One stage alone, as if it came next; `smoke` has no task of its own."""
        for runs in self._stages:
            if runs.stage == stage and (runs.task == task or task is None):
                return self._estimate(stage, runs.task, [runs], [])
        raise TrinityError(f"no plan of stage {stage} for task {task}: {'; '.join(self._unknown) or 'no such stage'}")

    def stages(self) -> list[Estimate]:
        """Every stage, what those before it will have asked taken off."""
        return [
            self._estimate(runs.stage, runs.task, [runs], self._stages[:number])
            for number, runs in enumerate(self._stages)
        ]

    def total(self) -> Estimate:
        """All stages together."""
        return self._estimate("total", "", self._stages, [])

    def notes(self) -> list[str]:
        """What the figures rest on, in lines."""
        config, stored = self._config, self.stored
        notes = ["stages that DVC finds up to date ask nothing (`dvc status` names the others)"]
        notes += [f"task {line}" for line in self._unknown]
        notes += [f"assumed: {task.assumed}" for task in self._tasks.values() if task.assumed]
        if self._population_assumed:
            notes.append(f"assumed: population {self._population}: {LADDER} is not there yet (stage smoke writes it)")
        if config.pool.kind != "litellm":
            return [*notes, f"the pool is {config.pool.kind}: nothing is paid; calls are requests that differ"]
        notes += self.rates.assumptions()
        if config.pool.responses == "replay":
            notes.append("replay: nothing is asked or paid; a request that the store lacks ends the run")
        if config.pool.responses == "live":
            notes.append("live: nothing is stored, so that every stage and iteration pays again")
        if stored.replies:
            notes.append(
                f"the store holds {stored.replies:,} replies, {stored.replies - stored.others:,} of them to first "
                "turns, which are taken off; the others answer deeper turns or other settings: how many of them will "
                "be asked for is not known: the low figures take all of them off, the high ones none"
            )
        return notes

    def _questions(self, task: str) -> TaskQuestions | None:
        try:
            found = questions_of(self._config, task)
        except DataError as error:
            self._unknown.append(f"{task} is left out: {str(error).removeprefix(f'task {task}: ')}")
            return None
        if self._live:  # only requests of one item are made once
            found = replace(found, by_split={split: of.apart() for split, of in found.by_split.items()})
        return found

    def _space(self, task: str, split: Split) -> Space:
        config = self._config
        return Space(
            split,
            self._tasks[task].by_split[split],
            self._callees,
            tuple(range(len(config.agents))),
            tuple(config.episode.roles),
            shortest_episode(config),
            self.stored.held.get((task, split), {}),
        )

    def _wanted(self) -> dict[Place, tuple[Questions, Mapping[Same, Callee]]]:
        """By task and split, the first turns that any stage may ask for."""
        wanted: dict[Place, tuple[Questions, Mapping[Same, Callee]]] = {}
        for task, questions in self._tasks.items():
            for split in SPLITS:
                demand = self._demand(self._stages, task, split)
                asked = self._callees.chosen(demand.samples) | self._callees.each_agent(demand.each_agent)
                wanted[task, split] = (questions.by_split[split], asked)
        return wanted

    def _demand(self, stages: Sequence[StageRuns], task: str, split: Split) -> Demand:
        questions = self._tasks[task].by_split[split]
        demand = Demand.of([], questions, self._config.episode.max_turns)
        for stage in stages:
            if stage.task == task:
                demand = demand.plus(self._demand_of(stage, split))
        return demand

    def _demand_of(self, stage: StageRuns, split: Split) -> Demand:
        """That of one stage, kept: every stage after it asks for it."""
        if (stage, split) not in self._demands:
            runs = [run for run in stage.runs if run.split == split]
            questions = self._tasks[stage.task].by_split[split]
            self._demands[stage, split] = Demand.of(runs, questions, self._config.episode.max_turns)
        return self._demands[stage, split]

    def _parts(self, stages: Sequence[StageRuns], before: Sequence[StageRuns], held: bool) -> list[tuple[str, Part]]:
        """Requests by task; in mode live those of every run on its own, since nothing is stored."""
        places = [(task, split) for task in dict.fromkeys(stage.task for stage in stages) for split in SPLITS]
        parts = []
        for task, split in places:
            space = self._space(task, split)
            if not held:
                space = replace(space, held={})
            demands = [(self._demand(stages, task, split), self._demand(before, task, split))]
            if self._live:
                nothing, turns = self._demand([], task, split), self._config.episode.max_turns
                runs = [run for stage in stages if stage.task == task for run in stage.runs if run.split == split]
                demands = [(Demand.of([run], space.questions, turns), nothing) for run in runs]
            parts += [(task, part) for mine, earlier in demands for part in space.parts(mine, earlier)]
        return parts

    def _estimate(self, stage: str, task: str, stages: Sequence[StageRuns], before: Sequence[StageRuns]) -> Estimate:
        everything = [part for _, part in self._parts(stages, [], held=False)]
        s6 = len(model_calls(self._config)) if any(runs.calls_to_each_model for runs in stages) else 0
        requests = Range(sum(part.low for part in everything) + s6, sum(part.high for part in everything) + s6)
        parts = self._not_in_store(self._parts(stages, before, held=True))
        if self._config.pool.kind != "litellm":
            calls = Range(sum(part.low for _, part in parts), sum(part.high for _, part in parts))
            return Estimate(stage, task, requests, Amounts(calls), Range())
        amounts = Amounts()
        for of_task, part in parts:
            amounts += self.rates.of(part, self._tasks[of_task].by_split[part.split])
        if s6:
            agents, new = tuple(range(len(self._config.agents))), s6 - self.stored.models_held
            amounts += self.rates.of_short_calls(agents, len(TEXT), MOST_TOKENS, new, new)
        return Estimate(stage, task, requests, amounts, self._seconds(amounts, stages))

    def _not_in_store(self, parts: list[tuple[str, Part]]) -> list[tuple[str, Part]]:
        """Takes off the lows what the store may hold besides the first turns that it was asked for."""
        others, left = self.stored.others, []
        for task, part in parts:
            looked_for = part.turn == 1 and self._tasks[task].by_split[part.split].texts is not None
            off = 0 if looked_for else min(others, part.low)
            others -= off
            left.append((task, replace(part, low=part.low - off)))
        return left

    def _seconds(self, amounts: Amounts, stages: Sequence[StageRuns]) -> Range:
        """At least all work at the widest, at most all work at the narrowest and the calls that wait for another."""
        config = self._config
        limits = [config.pool.concurrency.get(name, config.run.concurrency) for name in config.agents]
        widest, narrowest = min(config.run.concurrency, sum(limits)), min(config.run.concurrency, *limits)
        waits = min(sum(run.waits for stage in stages for run in stage.runs), amounts.calls.high)
        return Range(amounts.seconds.low / widest, amounts.seconds.high / narrowest + waits * amounts.longest)


def _population(config: Config) -> tuple[int, bool]:
    """Lambda, and whether it is assumed."""
    if config.optim.population is not None:
        return config.optim.population, False
    try:
        return int(json.loads(LADDER.read_text(encoding="utf-8"))["population"]), False
    except FileNotFoundError:
        return USUAL_POPULATION, True
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{LADDER}: not what stage smoke writes: `dvc repro smoke` makes it again") from None
