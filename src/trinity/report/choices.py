"""What a system chose, and for which questions."""

import numpy as np
from numpy.typing import NDArray

from trinity.report.inputs import ROLE_LETTERS, Evaluation
from trinity.types import Role


def shares_by_turn(evaluation: Evaluation, system: str, column: str) -> NDArray[np.float64]:
    """Which agents (column agents) or roles (column roles) a system chose.

    Returns:
        [names, turns]: share of all episodes that chose the name (of the summary's agents, or its roles in the order
        of `Role`) in that turn. The shares of a turn sum to the share of episodes that reached it.
    """
    sequences = [text.split(">") for text in evaluation.rows(system)[column]]
    names = (
        [str(index) for index in range(len(evaluation.summary.agents))]
        if column == "agents"
        else [letter for letter, role in ROLE_LETTERS.items() if role in evaluation.summary.roles]
    )
    counts = np.zeros((len(names), max(map(len, sequences))))
    for sequence in sequences:
        for turn, name in enumerate(sequence):
            counts[names.index(name), turn] += 1
    return counts / len(sequences)


def graded_by_domain(evaluation: Evaluation, system: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Whose work was graded, by domain.

    Returns:
        The domains, sorted, and [agents, domains]: share of the domain's episodes in which the agent did the latest
        Worker turn. The shares of a domain sum to less than 1 where an episode had no Worker.
    """
    rows = evaluation.rows(system)
    worker = Role.WORKER.value[0].upper()
    domains = tuple(sorted(set(evaluation.domains)))
    counts = np.zeros((len(evaluation.summary.agents), len(domains)))
    episodes = np.zeros(len(domains))
    for domain, agents, roles in zip(rows["domain"], rows["agents"], rows["roles"], strict=True):
        place = domains.index(domain)
        episodes[place] += 1
        chosen = zip(reversed(agents.split(">")), reversed(roles.split(">")), strict=True)
        graded = next((int(agent) for agent, role in chosen if role == worker), None)
        if graded is not None:
            counts[graded, place] += 1
    return domains, counts / episodes
