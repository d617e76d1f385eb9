import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from sandboxes import SANDBOX
from trinity.config.load import load_config
from trinity.errors import DataError
from trinity.rewards.grader import Grader
from trinity.roles.prompts import load_prompts
from trinity.tasks.duplicates import normalised
from trinity.tasks.registry import get_task
from trinity.tasks.small.kinds import KINDS
from trinity.tasks.small.task import SIZES, SMALL_TASKS, SmallTask
from trinity.types import SPLITS, Item, Response, Role, Transcript

PROMPTS = Path(__file__).parents[2] / "src/trinity/roles/prompts_small.yaml"


def everything(name: str, seed: int = 0) -> list[Item]:
    splits = SmallTask(name, seed).load()
    return [item for split in SPLITS for item in splits.items[split]]


def holds(statement: str, world: tuple[bool, ...], terms: list[str]) -> bool:
    """Whether a statement is true where a region of three sets, by its number in bits, has a member or not."""
    quantifier, first, denied, second = re.fullmatch(r"(all|no|some) (\w+) are (not )?(\w+)", statement).groups()  # type: ignore[union-attr]
    inside = [region for region in range(8) if world[region] and region >> terms.index(first) & 1]
    both = [bool(region >> terms.index(second) & 1) for region in inside]
    if quantifier == "some":
        return any(is_in != bool(denied) for is_in in both)
    return all(both) if quantifier == "all" else not any(both)


def answers(item: Item) -> set[str]:
    """The answer by another way; for a syllogism, with and without that every set has a member."""
    text = item.question
    quoted = re.findall(r'"([^"]*)"', text.split(" End with ")[0])
    if item.domain == "letters":
        return {str(Counter(quoted[1])[quoted[0]])}
    if item.domain == "words":
        return {str(1 + text.split("list: ")[1].split("?")[0].count(","))}
    if item.domain == "length":
        return {str(sum(1 for _ in quoted[0]))}
    if item.domain == "arithmetic":
        first, sign, second = re.fullmatch(r"What is (\d\d) ([+-]) (\d\d)\? .*", text).groups()  # type: ignore[union-attr]
        return {str(int(first) + int(sign + second))}
    *premises, conclusion = re.fullmatch(r"(.+)\. (.+)\. does it follow that (.+)\? .*", text.lower()).groups()  # type: ignore[union-attr]
    terms = sorted(set(re.findall(r"\w+", " ".join(premises))) - {"all", "no", "some", "are", "not"})
    assert len(terms) == 3
    found = set()
    for every_set_has_a_member in (False, True):
        worlds = [
            world
            for world in product([False, True], repeat=8)
            if all(holds(premise, world, terms) for premise in premises)
            and (not every_set_has_a_member or all(any(world[r] for r in range(8) if r >> t & 1) for t in range(3)))
        ]
        found.add("yes" if all(holds(conclusion, world, terms) for world in worlds) else "no")
    return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_the_references_are_right(kind: str, seed: int) -> None:
    for item in everything(f"small.{kind}", seed):
        assert answers(item) == {item.reference}, item.question


def test_the_mixture_has_equal_shares_and_asks_nothing_twice() -> None:
    splits = SmallTask("small", 0).load()
    for split, size in SIZES.items():
        assert Counter(item.domain for item in splits.items[split]) == dict.fromkeys(KINDS, size // len(KINDS))
    items = everything("small")
    assert len({normalised(item.question) for item in items}) == len({item.id for item in items}) == 860


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_the_mixture_restricted_to_it(kind: str) -> None:
    mixture, alone = SmallTask("small", 3).load(), SmallTask(f"small.{kind}", 3).load()
    for split in SPLITS:
        expected = [(i.id, i.question, i.reference) for i in mixture.items[split] if i.domain == kind]
        assert [(i.id, i.question, i.reference) for i in alone.items[split]] == expected
        assert {i.task for i in alone.items[split]} == {f"small.{kind}"}


def test_the_seed_alone_decides_the_items() -> None:
    assert everything("small", 5) == everything("small", 5)
    assert everything("small", 5) != everything("small", 6)


def test_questions_are_short() -> None:
    assert max(len(item.question.split()) for item in everything("small")) <= 30


def test_a_right_and_a_wrong_reply_are_graded() -> None:
    with Grader(SANDBOX) as grader:
        for item in everything("small"):
            other = {"yes": "no", "no": "yes"}.get(item.reference) or str(int(item.reference) + 1)
            for text, value in ((item.reference, 1), (other, 0), ("...", 0)):
                assert grader.grade(item, Response(f"Answer: {text}", "stop", 1, 1)).value == value
            assert grader.grade(item, Response(f"{item.reference.capitalize()}.", "stop", 1, 1)).value == 1


def test_the_registry_knows_them() -> None:
    config = load_config(Path(__file__).parents[2] / "params.yaml")
    for name in SMALL_TASKS:
        assert get_task(config, name).name == name
    with pytest.raises(DataError, match=r"small\.nothing: no such task"):
        get_task(config, "small.nothing")


def test_the_short_prompts_ask_in_few_words() -> None:
    prompts = load_prompts(str(PROMPTS))
    for role in Role:
        (message,) = prompts.messages(role, Transcript("Q?"))
        assert "Q?" in message.content
        assert len(message.content.split()) <= 40
