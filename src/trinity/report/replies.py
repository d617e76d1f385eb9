"""Replies with something amiss: empty, filtered, cut at max_tokens, or cut before the answer began."""

from collections import Counter
from collections.abc import Sequence

from trinity.report.inputs import Evaluation
from trinity.report.results import TaskResult
from trinity.report.tables import Table, count, marked
from trinity.types import CAUSES

MEANING = """\
Such a reply is a turn with that output and is graded as any other. Counted over all turns of the evaluation, every
system and evaluation seed; replies at {factor}x tokens stand apart. Cut in reasoning: max_tokens was spent before the
answer began."""

ADVICE = """\
Note: on {task} {agents} spent max_tokens on reasoning in {replies} replies, which are empty. Raise
`episode.max_tokens` or the agent's `decoding`, or have less reasoned in `pool.agents`: `params` (docs/pool.md)."""


def replies_section(results: Sequence[TaskResult], factor: int) -> list[str]:
    """The parts of the report's section on such replies; empty where there are none."""
    tables = [table for result in results if (table := _table(result, factor)).rows]
    if not tables:
        return []
    simulated = any(result.simulated for result in results)
    parts = [f"## {marked('Empty, filtered and cut replies', simulated)}", MEANING.format(factor=factor)]
    return [*parts, *(table.markdown() for table in tables), *map(_advice, filter(_in_reasoning, results))]


def _table(result: TaskResult, factor: int) -> Table:
    evaluation = result.evaluation
    rows = []
    for at_5x in (False, True):
        systems = [name for name in evaluation.systems if name.startswith("single5x_") == at_5x]
        replies = _replies(evaluation, systems)
        for index, agent in enumerate(evaluation.summary.agents):
            odd = _odd(evaluation, systems, agent)
            if odd:
                share = f"{odd.total() / replies[index]:.1%}"
                label = f"{agent} at {factor}x tokens" if at_5x else agent
                rows.append([label, count(replies[index]), *(count(odd[cause]) for cause in CAUSES), share])
    header = ["agent", "replies", *CAUSES, "share"]
    return Table(marked(f"{result.task}: empty, filtered and cut replies", result.simulated), header, rows)


def _replies(evaluation: Evaluation, systems: Sequence[str]) -> Counter[int]:
    """How many turns each agent (index) had."""
    counts: Counter[int] = Counter()
    for sequence, times in Counter(agents for name in systems for agents in evaluation.rows(name)["agents"]).items():
        for agent in sequence.split(">"):
            counts[int(agent)] += times
    return counts


def _odd(evaluation: Evaluation, systems: Sequence[str], agent: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name in systems:
        counts.update(evaluation.summary.odd_replies.get(name, {}).get(agent, {}))
    return counts


def _in_reasoning(result: TaskResult) -> dict[str, int]:
    """By agent, the replies that were cut in reasoning."""
    evaluation = result.evaluation
    counts = {
        agent: _odd(evaluation, evaluation.systems, agent)["cut in reasoning"] for agent in evaluation.summary.agents
    }
    return {agent: number for agent, number in counts.items() if number}


def _advice(result: TaskResult) -> str:
    found = _in_reasoning(result)
    return ADVICE.format(task=result.task, agents=", ".join(found), replies=count(sum(found.values())))
