"""The verdict of a Verifier's reply."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.roles.verifier import parse_verdict
from trinity.types import Verdict

FORMS = [
    "VERDICT: {}",
    "verdict: {}",
    "Verdict : {}.",
    "VERDICT:{}",
    "VERDICT = {}",
    "  \tVERDICT:\t{}  ",
    "**VERDICT: {}**",
    "**VERDICT:** {}",
    "**Verdict**: **{}**",
    "*Verdict:* `{}`",
    "__VERDICT__: __{}__",
    "`VERDICT: {}`",
    "### VERDICT: {}",
    "> VERDICT: {}",
    "- VERDICT: {}",
    "| VERDICT: {} |",
    "~~~\nVERDICT: {}\n~~~",
    "```\nVERDICT: {}\n```",
    '"VERDICT: {}"',
    "(VERDICT: {})",
    "[VERDICT: {}]",
    "VERDICT: [{}]",
    "VERDICT: '{}'",
    "$\\boxed{{VERDICT: {}}}$",
    "\\boxed{{\\text{{VERDICT: {}}}}}",
    "\\textbf{{VERDICT: {}}}",
    "\\textbf{{VERDICT:}} {}",
    "\\[ \\text{{VERDICT: }}\\boxed{{{}}} \\]",
    "VERDICT: \\textbf{{{}}}",
    "VERDICT: $\\boxed{{\\text{{{}}}}}$",
    "Final verdict: {}",
    "My final verdict: {}",
    "The verdict: {}",
    "VERDICT: {} - all steps were checked",
    "VERDICT: {}, since 6 * 7 = 42.",
    "VERDICT: {}!\n\n\n",
    "VERDICT: {}\r\n",
    "VERDICT: {}D",
    "I checked it twice.\n\nVERDICT: {}\n",
    "VERDICT: {}\nThank you.",
]


@pytest.mark.parametrize("word", ["ACCEPT", "REVISE", "accept", "Revise"])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_line(form: str, word: str) -> None:
    assert parse_verdict(form.format(word)) is Verdict(word.upper())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ACCEPT",
        "I accept it.",
        "VERDICT:",
        "VERDICT: yes",
        "VERDICT: not ACCEPT",
        "VERDICT: ACCEPTABLE",
        "VERDICT: ACCEPTANCE",
        "VERDICT: <ACCEPT|REVISE>",
        "VERDICT: ACCEPT or REVISE",
        "VERDICT: ACCEPT | REVISE",
        "VERDICT: ACCEPT/REVISE",
        "VERDICT: ACCEPT or VERDICT: REVISE",
        "VERDICT: ACCEPT? No: revise.",
        "NOVERDICT: ACCEPT",
        "PREVERDICT: ACCEPT",
        "I cannot say VERDICT: ACCEPT",
        "ACCEPT :VERDICT",
        "VERDI\u0441T: ACCEPT",  # a Cyrillic letter
    ],
)
def test_what_is_no_clear_verdict_is_revise(text: str) -> None:
    assert parse_verdict(text) is Verdict.REVISE


def test_the_last_verdict_line_decides() -> None:
    assert parse_verdict("VERDICT: REVISE\nOn second thought:\nVERDICT: ACCEPT") is Verdict.ACCEPT
    assert parse_verdict("VERDICT: ACCEPT\nOn second thought:\n**Verdict:** revise") is Verdict.REVISE
    assert parse_verdict("VERDICT: ACCEPT\nVERDICT: ACCEPT or REVISE") is Verdict.REVISE
    assert parse_verdict("VERDICT: REVISE\nVERDICT: ACCEPT\nThat is all.") is Verdict.ACCEPT


@given(st.text(), st.sampled_from(Verdict))
def test_any_text_before_the_line_leaves_it_its_say(text: str, verdict: Verdict) -> None:
    assert parse_verdict(f"{text}\nVERDICT: {verdict.value}") is verdict


@given(st.text(alphabet="VERDICTASP:*\\{} \n", max_size=200))
def test_only_a_line_with_the_word_accepts(text: str) -> None:
    if parse_verdict(text) is Verdict.ACCEPT:
        assert any("VERDICT" in line and "ACCEPT" in line for line in text.splitlines())


@pytest.mark.parametrize(
    "unit",
    [
        "*", "\n", "VERDICT", "VERDICT: ", "VERDICT:\n", "*\n", "my ", "my the final ", "VERDICT: ACCEP", "\\boxed{",
        "text", "VERDICT: ACCEPT or REVISE ", "VERDICT\u2028", "a", " " * 150 + "\n", "**final** " * 19 + "\n",
        "\\text" + "a" * 190 + "\n", "\\", "{\\text", "the" * 3 + "*" * 180 + "\n",
    ],
)  # fmt: skip
def test_a_megabyte_of_hostile_text_takes_under_a_second(unit: str) -> None:
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    start = time.process_time()
    assert parse_verdict(text) is Verdict.REVISE
    assert time.process_time() - start < 1.0
    assert parse_verdict(f"{text}\nVERDICT: ACCEPT") is Verdict.ACCEPT
