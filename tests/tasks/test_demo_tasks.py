from collections import Counter

import pytest

from sandboxes import SANDBOX
from trinity.rewards.grader import Grader
from trinity.tasks.demo.freeform import roman_numeral
from trinity.tasks.demo.task import HELD_OUT, ITEMS, KINDS, RELEASES, DemoTask
from trinity.types import SPLITS, Item, Response

NAMES = sorted(KINDS)


def everything(name: str, seed: int = 0) -> list[Item]:
    splits = DemoTask(name, seed).load()
    return [item for split in SPLITS for item in splits.items[split]]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_graders_give_what_the_texts_promise(name: str, seed: int) -> None:
    with Grader(SANDBOX) as grader:
        for item in everything(name, seed):
            for kind, value in (("right", 1), ("wrong", 0), ("malformed", 0)):
                grade = grader.grade(item, Response(item.extra[kind], "stop", 1, 1))
                assert grade.value == value, (item.question, item.extra[kind], grade.reason)


@pytest.mark.parametrize("name", NAMES)
def test_malformed_and_wrong_are_graded_0(name: str) -> None:
    with Grader(SANDBOX) as grader:
        for item in everything(name):
            for kind in ("malformed", "wrong"):
                assert grader.grade(item, Response(item.extra[kind], "stop", 1, 1)).value == 0
            assert len(set(item.extra.values())) == len(item.extra)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_items_ask_the_same(name: str) -> None:
    items = everything(name)
    assert len({item.question for item in items}) == len({item.id for item in items}) == len(items)
    words = Counter(len(item.question.split()) for item in items)
    assert min(words) >= 15
    assert max(words) <= 45


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_short_and_differ_in_the_answer_alone(name: str) -> None:
    for item in everything(name):
        texts = [item.extra[kind].split() for kind in ("right", "wrong", "malformed")]
        assert all(len(text) < 40 for text in texts)
        right, wrong, _ = texts
        assert len(right) == len(wrong)
        assert 1 <= sum(a != b for a, b in zip(right, wrong, strict=True)) <= 4


@pytest.mark.parametrize("name", NAMES)
def test_each_domain_has_words_of_its_own(name: str) -> None:
    used: dict[str, Counter[str]] = {domain: Counter() for domain in KINDS[name].domains}
    items = everything(name)
    for item in items:
        used[item.domain].update({word.strip(".,?()").lower() for word in item.question.split()})
    for domain, words in used.items():
        others = {word for other in used if other != domain for word in used[other]}
        own = [word for word, count in words.items() if word not in others and count >= 0.3 * len(items) / 3]
        assert len(own) >= 5, (domain, own)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_domains_of_the_splits(name: str) -> None:
    items = DemoTask(name, 0).load().items
    sizes = {split: len(items[split]) for split in SPLITS}
    total = sum(RELEASES.values()) if KINDS[name].by_release else ITEMS
    test = RELEASES["v6"] if KINDS[name].by_release else round(HELD_OUT * total)
    assert sizes["test"] == test
    assert sizes["valid"] == round(HELD_OUT * (total - test))
    assert sum(sizes.values()) == total
    domains = list(KINDS[name].domains)
    for split in SPLITS:
        assert [item.domain for item in items[split]] == domains * (sizes[split] // 3)


def test_code_is_split_by_release() -> None:
    items = DemoTask("demo_code", 0).load().items
    assert {item.extra["release"] for item in items["test"]} == {"v6"}
    assert {item.extra["release"] for split in ("train", "valid") for item in items[split]} == {"v1"}


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_alone_decides(name: str) -> None:
    assert DemoTask(name, 3).load() == DemoTask(name, 3).load()
    ours, others = everything(name, 3), everything(name, 4)
    assert {item.question for item in ours} != {item.question for item in others}
    assert {item.id for item in ours} == {item.id for item in others}


def test_letters_of_right_and_wrong_choices_are_spread_evenly() -> None:
    items = everything("demo_choice")
    for kind in ("right", "wrong"):
        letters = Counter(item.extra[kind][-1] for item in items)
        assert set(letters) == set("ABCD")
        assert min(letters.values()) > len(items) / 8
    assert all(item.question.count(")") == 4 for item in items)


@pytest.mark.parametrize(("number", "numeral"), [(1994, "MCMXCIV"), (3000, "MMM"), (8, "VIII"), (49, "XLIX")])
def test_roman_numerals(number: int, numeral: str) -> None:
    assert roman_numeral(number) == numeral
