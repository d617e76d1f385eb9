"""What a training leaves behind: a row an iteration, one line of progress, and the reasons it gives."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trinity.types import Episode, Role

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Trained:
    """The outcome of one training.

    Attributes:
        theta: What is shipped: the mean that did best on validation, shape (n,).
        rows: The history.
        validation: Its mean reward on the validation items.
        chosen_at: Iteration (or epoch) after which it was taken.
        training_episodes: Episodes that told the optimiser something.
        validation_episodes: Episodes that only chose or showed.
    """

    theta: np.ndarray
    rows: Sequence[Row]
    validation: float
    chosen_at: int
    training_episodes: int
    validation_episodes: int


class BestOnValidation:
    """Keeps the theta with the highest validation reward; of equals the latest."""

    def __init__(self) -> None:
        self.theta: np.ndarray | None = None
        self.value, self.at = -np.inf, 0

    def offer(self, theta: np.ndarray, value: float, at: int) -> None:
        """Takes a theta if none before it was better."""
        if value >= self.value:
            self.theta, self.value, self.at = theta.copy(), value, at


def shares(episodes: Sequence[Episode], agents: Sequence[str]) -> dict[str, float]:
    """Share of turns by agent and by role, and turns an episode."""
    decisions = [turn.decision for episode in episodes for turn in episode.transcript.turns]
    count = len(decisions)
    result = {f"agent_{name}": sum(d.agent == i for d in decisions) / count for i, name in enumerate(agents)}
    result |= {f"role_{role.value}": sum(d.role is role for d in decisions) / count for role in Role}
    return result | {"turns": count / len(episodes)}


def write_history(path: Path, rows: Sequence[Row]) -> None:
    """Writes rows as CSV, numbers rounded to six significant digits; a value that does not exist is left blank."""
    import pandas as pd

    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(list(rows)).to_csv(path, index=False, float_format="%.6g")


class Progress:
    """One line on stderr: iteration, J, episodes a second, time left; warnings above it.

    Args:
        name: What is trained, e.g. `demo_math cma seed 0`.
        iterations: How many there will be.
        note: What the episodes cost, e.g. `simulated, cost 0`.
    """

    def __init__(self, name: str, iterations: int, note: str) -> None:
        from tqdm import tqdm

        quiet = not sys.stderr.isatty()
        self._name, self._note = name, note
        self._bar = tqdm(total=iterations, desc=name, unit="it", mininterval=15 if quiet else 0.2, leave=True)
        self._episodes = 0
        self._flat = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()  # what ended a training is said on a line of its own

    def step(self, fitness: Sequence[float], episodes: int, mean: float | None) -> None:
        """After an iteration: the candidates' fitness and how many episodes have been run so far."""
        self._episodes = episodes
        elapsed = self._bar.format_dict["elapsed"] or 1e-9
        best = f" mean {mean:.3f}" if mean is not None else ""
        self._bar.set_postfix_str(
            f"J {np.mean(fitness):.3f}{best}, {episodes / elapsed:,.0f} episodes/s, {self._note}", refresh=False
        )
        self._bar.update(1)
        if len(fitness) > 1 and max(fitness) == min(fitness):
            self._flat += 1
            if self._flat == 1:
                self.say(f"all {len(fitness)} candidates scored the same: no signal in iteration {self._bar.n}")

    def say(self, line: str) -> None:
        """Prints a line above the bar."""
        self._bar.write(f"{self._name}: {line}", file=sys.stderr)

    def close(self, reason: str) -> None:
        """Ends the line and says why the training stopped."""
        self._bar.close()
        flat = f"; {self._flat} iterations without signal" if self._flat else ""
        print(f"{self._name}: stopped: {reason}{flat}", file=sys.stderr)
