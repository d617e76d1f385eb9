"""Role prompts: what an agent reads, and a user's own file."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import ConfigError
from trinity.roles.prompts import EMPTY_HISTORY, RolePrompts, load_prompts
from trinity.types import Decision, Response, Role, Transcript, Turn

OWN = load_prompts(None)
TEMPLATE = "{Q}\n{C_prev}\nVERDICT: ACCEPT\nVERDICT: REVISE"


def transcript(question: str, *outputs: tuple[Role, str]) -> Transcript:
    turns = [Turn(Decision(0, role), Response(text, "stop", 1, 1), text) for role, text in outputs]
    return Transcript(question, tuple(turns))


def content(prompts: RolePrompts, role: Role, of: Transcript) -> str:
    (message,) = prompts.messages(role, of)
    assert message.role == "user"
    return message.content


@pytest.mark.parametrize("role", Role)
def test_a_prompt_names_its_role_and_holds_question_and_history(role: Role) -> None:
    text = content(OWN, role, transcript("What is 6 * 7?", (Role.THINKER, "Multiply."), (Role.WORKER, "It is 42.")))
    assert role.value.upper() in text
    assert [other for other in Role if other.value.upper() in text] == [role]
    assert "QUERY:\nWhat is 6 * 7?\n" in text
    assert "TRANSCRIPT SO FAR:\n[1. thinker]\nMultiply.\n\n[2. worker]\nIt is 42." in text
    assert "{Q}" not in text
    assert "{C_prev}" not in text


@pytest.mark.parametrize("role", Role)
def test_the_first_turn_says_that_nothing_was_done(role: Role) -> None:
    assert f"TRANSCRIPT SO FAR:\n{EMPTY_HISTORY}" in content(OWN, role, Transcript("Why?"))


def test_the_contracts_of_the_roles() -> None:
    asked = {role: " ".join(content(OWN, role, Transcript("Why?")).split()) for role in Role}
    assert "plan" in asked[Role.THINKER]
    assert "leave the solving to others" in asked[Role.THINKER]
    assert "final answer" in asked[Role.WORKER]
    assert "answer format" in asked[Role.WORKER]
    assert (
        "The last line of your reply must be exactly one of these two: VERDICT: ACCEPT VERDICT: REVISE"
        in (asked[Role.VERIFIER])
    )


@given(
    st.one_of(
        st.text(min_size=1), st.sampled_from(["{Q}", "{C_prev}", "{0} {} }{", "\\1 \\g<0>", "$x{n}^{2}$ {{Q}}", "%s"])
    ),
    st.sampled_from(["{Q}", "{C_prev} and {Q}", "plain", "def f(): return {1: {}}", "\\0"]),
    st.sampled_from(Role),
)
def test_braces_in_question_and_history_are_text(question: str, output: str, role: Role) -> None:
    text = content(OWN, role, transcript(question, (Role.WORKER, output)))
    template = OWN.templates[role]
    before, _, rest = template.partition("{Q}")
    middle, _, after = rest.partition("{C_prev}")
    assert text == f"{before}{question}{middle}[1. worker]\n{output}{after}".strip()


def write(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value), encoding="utf-8")
    return str(path)


def test_a_users_own_file_is_taken(tmp_path: Path) -> None:
    mine = {role.value: f"{role.value}, in Latin: {TEMPLATE}" for role in Role}
    prompts = load_prompts(write(tmp_path, mine))
    assert content(prompts, Role.THINKER, Transcript("Cur?")).startswith(f"thinker, in Latin: Cur?\n{EMPTY_HISTORY}")


COMPLETE: dict[Any, Any] = {role.value: TEMPLATE for role in Role}


@pytest.mark.parametrize(
    "value, problem",
    [
        ({k: v for k, v in COMPLETE.items() if k != "worker"}, "must hold exactly the keys thinker, worker, verifier"),
        (COMPLETE | {"critic": TEMPLATE}, "must hold exactly the keys thinker, worker, verifier"),
        (COMPLETE | {1: TEMPLATE}, "must hold exactly the keys thinker, worker, verifier"),
        (["thinker"], "must hold exactly the keys thinker, worker, verifier"),
        ("", "must hold exactly the keys thinker, worker, verifier"),
        (COMPLETE | {"thinker": "{Q} alone"}, "thinker: the text lacks {C_prev}"),
        (COMPLETE | {"worker": "{C_prev} alone"}, "worker: the text lacks {Q}"),
        (COMPLETE | {"worker": 7}, "worker: the text lacks {Q}"),
        (COMPLETE | {"verifier": "{Q} {C_prev} VERDICT: ACCEPT"}, "verifier: the text lacks the line VERDICT: REVISE"),
        ("thinker: [\nworker: {", "line 2 is not YAML: "),
        ("thinker: \x00", "is not YAML: "),
    ],
)
def test_a_mistake_in_it_is_one_line(value: Any, problem: str, tmp_path: Path) -> None:
    name = write(tmp_path, value)
    with pytest.raises(ConfigError) as refused:
        load_prompts(name)
    assert str(refused.value).startswith(f"params.yaml: roles.prompts: {name}: {problem}")
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for say in ("No such file", "utf-8"):
        with pytest.raises(ConfigError, match=rf"^params.yaml: roles.prompts: .*mine.yaml: cannot be read: .*{say}"):
            load_prompts(str(path))
        path.write_bytes(b"\xff")
