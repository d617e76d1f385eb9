"""What the evaluation of a task leaves for the report, and its reader.

`data/evaluation/TASK/episodes.csv`: comma-separated, UTF-8, one header line, one row an evaluated episode:

| column | value |
|---|---|
| system | trinity_METHOD (cma, rs, reinforce, sft), single_AGENT, single5x_AGENT (whatever the factor), or random |
| training_seed | int; -1 where the system was not trained |
| eval_seed | int, one of the summary's eval_seeds |
| item, domain | text; an item has one domain |
| reward | float from 0 to 1 |
| turns | int, 1 or more |
| agents | indices into the summary's agents, one a turn: 0>2>1 |
| roles | T, W or V (first letters of the summary's roles), one a turn: T>W>V |
| accepted | 0 or 1: a Verifier's ACCEPT ended the episode |
| prompt_tokens, completion_tokens | int, read and written by the pool over all turns |
| cut | int, replies cut at max_tokens, in reasoning or not |

Every system has each item once for each of its training seeds and each evaluation seed. trinity_cma, random and
single_AGENT for every agent must be there; single5x_AGENT is for every agent or for none. Rows in any order.

`data/evaluation/TASK/summary.json`: one object, no other keys:

| key | value |
|---|---|
| task, pool, encoder, grading | text |
| sandbox | the level that code ran at, or null if no code ran |
| simulated | bool |
| n_train, n_valid, n_test | int, 0 or more; n_test is the number of items in episodes.csv |
| agents, roles | non-empty lists of names; roles from thinker, worker, verifier |
| best_single | the agent that was best on the training items |
| best_by_domain | {domain: the agent that was best on its training items}; a domain that they lack gets best_single |
| training_seeds, eval_seeds | non-empty lists of int |
| budget | {system: {name of a count: int}} |
| odd_replies | {system: {agent: {empty, filtered, cut or cut in reasoning: int}}}: replies with something amiss, over all turns of the episodes; what has none is left out |
| exact | null, or {name: expected reward on the test items, or {training seed: the same}}; names best_single, best_domain_agent, best_static, best_policy, random and trinity_METHOD |
"""  # noqa: E501 - a table's row is one line

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trinity.errors import DataError
from trinity.report.reading import RERUN, integers, numbers, read_table, refuse
from trinity.report.summary import Summary, read_summary
from trinity.types import Role

METHODS = ("cma", "rs", "reinforce", "sft")
ROLE_LETTERS = {role.value[0].upper(): role for role in Role}
COUNTS = ("turns", "prompt_tokens", "completion_tokens", "cut")
COLUMNS = (
    *("system", "training_seed", "eval_seed", "item", "domain", "reward", "turns", "agents", "roles", "accepted"),
    *("prompt_tokens", "completion_tokens", "cut"),
)


@dataclass(frozen=True)
class Evaluation:
    """The episodes of a task's systems.

    Attributes:
        summary: What was evaluated.
        episodes: The columns above, sorted by system, training seed, evaluation seed and item.
        items: Item ids, sorted: the order of every array over items.
        domains: The domain of each item.
    """

    summary: Summary
    episodes: pd.DataFrame
    items: tuple[str, ...]
    domains: tuple[str, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems that were evaluated, sorted."""
        return tuple(sorted(set(self.episodes["system"])))

    def rows(self, system: str) -> pd.DataFrame:
        """The episodes of one system."""
        return self.episodes[self.episodes["system"] == system]

    def rewards(self, system: str) -> NDArray[np.float64]:
        """Rewards of one system, [training seeds, evaluation seeds, items]."""
        values = self.rows(system)["reward"].to_numpy(dtype=np.float64)
        return values.reshape(-1, len(self.summary.eval_seeds), len(self.items))


def read_evaluation(folder: Path) -> Evaluation:
    """Reads and checks `episodes.csv` and `summary.json` of one task.

    Raises:
        DataError: a file is absent or not in the form above; names file and row or key.
    """
    summary = read_summary(folder / "summary.json")
    if summary.task != folder.name:
        raise DataError(f"{folder / 'summary.json'}: task: must be {folder.name}, got {summary.task!r}: {RERUN}")
    path = folder / "episodes.csv"
    episodes = _checked(path, read_table(path, COLUMNS), summary)
    order = ["system", "training_seed", "eval_seed", "item"]
    episodes = episodes.sort_values(order, kind="stable", ignore_index=True)
    by_item = episodes.drop_duplicates("item").sort_values("item")
    return Evaluation(summary, episodes, tuple(by_item["item"]), tuple(by_item["domain"]))


def _checked(path: Path, table: pd.DataFrame, summary: Summary) -> pd.DataFrame:
    systems = {f"trinity_{method}" for method in METHODS} | {"random"}
    systems |= {f"{kind}_{agent}" for kind in ("single", "single5x") for agent in summary.agents}
    required = ["trinity_cma", "random", *(f"single_{agent}" for agent in summary.agents)]
    refuse(path, table, "system", table["system"].isin(systems), f"must be one of {', '.join(sorted(systems))}")
    absent = [system for system in required if system not in set(table["system"])]
    at_5x = [f"single5x_{agent}" for agent in summary.agents]
    if table["system"].isin(at_5x).any():
        absent += [system for system in at_5x if system not in set(table["system"])]
    if absent:
        raise DataError(f"{path}: no row of {', '.join(absent)}: remove it and {RERUN}")

    checked = table[list(COLUMNS)].copy()
    for column in ("training_seed", "eval_seed"):
        checked[column] = integers(path, table, column)
    for column in COUNTS:
        checked[column] = integers(path, table, column, least=1 if column == "turns" else 0)
    checked["reward"] = numbers(path, table, "reward")
    refuse(path, table, "reward", checked["reward"].between(0, 1), "must be from 0 to 1")
    refuse(path, table, "accepted", table["accepted"].isin(["0", "1"]), "must be 0 or 1")
    checked["accepted"] = table["accepted"].astype("int64")
    known = checked["eval_seed"].isin(summary.eval_seeds)
    refuse(path, table, "eval_seed", known, f"must be one of {list(summary.eval_seeds)} (summary.json)")
    trained = table["system"].str.startswith("trinity_")
    seeded = checked["training_seed"].isin(summary.training_seeds).where(trained, checked["training_seed"] == -1)
    allowed = f"must be one of {list(summary.training_seeds)} (summary.json) if trained, else -1"
    refuse(path, table, "training_seed", seeded, allowed)
    agents = {str(index) for index in range(len(summary.agents))}
    _check_turns(path, table, "agents", checked["turns"], agents)
    letters = {letter for letter, role in ROLE_LETTERS.items() if role in summary.roles}
    _check_turns(path, table, "roles", checked["turns"], letters)
    _check_balance(path, table, checked, summary)
    return checked


def _check_turns(path: Path, table: pd.DataFrame, column: str, turns: "pd.Series[int]", allowed: set[str]) -> None:
    what = f"must hold one of {', '.join(sorted(allowed))} a turn, joined by >"
    distinct = {text: text.split(">") for text in set(table[column])}
    good = table[column].map({text: set(parts) <= allowed for text, parts in distinct.items()})
    lengths = table[column].map({text: len(parts) for text, parts in distinct.items()})
    refuse(path, table, column, good.astype(bool) & (lengths == turns), what)


def _check_balance(path: Path, table: pd.DataFrame, checked: pd.DataFrame, summary: Summary) -> None:
    keys = ["system", "training_seed", "eval_seed", "item"]
    refuse(path, table, "item", ~checked.duplicated(keys), "is there twice for its system and seeds")
    first = checked.groupby("item")["domain"].transform("first")
    refuse(path, table, "domain", checked["domain"] == first, "must be the same for all rows of an item")
    items = checked["item"].nunique()
    if items != summary.n_test:
        raise DataError(f"{path}: {items} items, but n_test is {summary.n_test} in summary.json: {RERUN}")
    expected = items * len(summary.eval_seeds)
    trained = checked[checked["system"].str.startswith("trinity_")]
    for system, seeds in trained.groupby("system")["training_seed"].unique().items():
        for seed in set(summary.training_seeds) - set(seeds):
            raise DataError(f"{path}: {system}: no row of training seed {seed}: remove it and {RERUN}")
    sizes = checked.groupby(["system", "training_seed"]).size().reset_index(name="rows")
    for system, seed, count in zip(sizes["system"], sizes["training_seed"], sizes["rows"], strict=True):
        if count != expected:
            found = f"{count} of {expected} rows (items x evaluation seeds)"
            raise DataError(f"{path}: {system}, training seed {seed}: {found}: remove it and {RERUN}")
