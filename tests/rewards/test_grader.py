import pytest

from sandboxes import SANDBOX
from trinity.errors import RewardError
from trinity.rewards.grader import Grader
from trinity.types import Item, Response


def item(reward: str, reference: object, identity: str = "one") -> Item:
    return Item(identity, "t", "d", "q", reward, reference)


def reply(text: str, score: float | None = None) -> Response:
    return Response(text, "stop", 1, 1, score)


CODE = {"function": None, "tests": [{"input": "", "output": "1"}]}
CASES = [
    ("math", "4", r"\boxed{4}", r"\boxed{5}"),
    ("choice", "B", "Answer: B", "Answer: C"),
    ("freeform", "blue", "Answer: blue", "Answer: red"),
    ("code", CODE, "```\nprint(1)\n```", "```\nprint(2)\n```"),
]


@pytest.mark.parametrize(("reward", "reference", "right", "wrong"), CASES)
def test_each_kind_has_its_reward(reward: str, reference: object, right: str, wrong: str) -> None:
    with Grader(SANDBOX) as grader:
        assert grader.grade(item(reward, reference), reply(right)).value == 1
        assert grader.grade(item(reward, reference), reply(wrong)).value == 0
        assert grader.grade(item(reward, reference), reply("")).value == 0


def test_recorded_scores_are_passed_on_and_not_mixed_up() -> None:
    with Grader(SANDBOX) as grader:
        assert [grader.grade(item("recorded", None), reply("", score)).value for score in (0.25, 1.0, 0.25)] == [
            0.25,
            1.0,
            0.25,
        ]


def test_an_unknown_kind_is_an_error() -> None:
    with Grader(SANDBOX) as grader, pytest.raises(RewardError, match="unknown reward 'poem'; known: math"):
        grader.grade(item("poem", "x"), reply("x"))


def test_a_judges_points_are_no_reward() -> None:
    with Grader(SANDBOX) as grader, pytest.raises(RewardError, match="a judge's points are no reward"):
        grader.grade(Item("one", "mt_bench", "writing", "q", "judge", {"turn": 1}), Response("Hm.", "stop", 1, 1))


def test_the_level_is_known_once_code_ran() -> None:
    with Grader(SANDBOX) as grader:
        grader.grade(Item("one", "t", "d", "q", "choice", "A"), Response("Answer: A", "stop", 1, 1))
        assert grader.sandbox_level is None
        tests = {"function": None, "tests": [{"input": "", "output": "1"}]}
        item = Item("two", "t", "d", "q", "code", tests)
        assert grader.grade(item, Response("```python\nprint(1)\n```", "stop", 1, 1)).value == 1
        assert grader.sandbox_level in {"bwrap", "landlock"}


def test_the_same_text_is_graded_once_an_item() -> None:
    program = "```\nprint(1)\n```"
    with Grader(SANDBOX) as grader:
        first = grader.grade(item("code", CODE), reply(program))
        assert grader.grade(item("code", CODE), reply(program)) is first
        assert grader.grade(item("code", CODE, "two"), reply(program)) is not first


def test_one_text_may_be_right_for_one_item_and_wrong_for_another() -> None:
    with Grader(SANDBOX) as grader:
        assert grader.grade(item("choice", "B", "one"), reply("Answer: B")).value == 1
        assert grader.grade(item("choice", "C", "two"), reply("Answer: B")).value == 0


def test_many_at_once_are_graded_as_one_by_one_and_the_first_error_is_told() -> None:
    tests = {"function": None, "tests": [{"input": "3", "output": "6"}]}
    programs = [f"print(int(input()) * {number % 5})" for number in range(20)]
    answers = [
        (Item(str(number), "t", "d", "q", "code", tests), Response(f"```python\n{program}\n```", "stop", 1, 1))
        for number, program in enumerate(programs)
    ]
    with Grader(SANDBOX) as together, Grader(SANDBOX) as alone:
        together.grade_all([*answers, *answers])
        assert [together.grade(*answer) for answer in answers] == [alone.grade(*answer) for answer in answers]
        empty = [(Item(name, "t", "d", "q", "code", {"function": None, "tests": []}), answers[0][1]) for name in "ab"]
        with pytest.raises(RewardError, match="item 'a' of t: no tests"):
            together.grade_all([*answers, *empty])
