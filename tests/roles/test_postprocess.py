"""What is appended of a reply: its head and tail around a mark, never more than the bound."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.roles.postprocess import cap

MARK = re.compile(r"\n\[\.\.\. (\d+) characters cut \.\.\.\]\n")


def numbered(length: int) -> str:
    """A text in which every place tells where it is."""
    return "".join(f"{position:07d}," for position in range(0, length, 8))[:length]


@given(st.text(max_size=400), st.integers(200, 400))
def test_a_short_text_stays_but_for_the_space_around_it(text: str, bound: int) -> None:
    if len(text.strip()) <= bound:
        assert cap(text, bound) == text.strip()


@given(st.integers(201, 30_000), st.integers(200, 9_000))
def test_a_long_text_keeps_head_and_tail(length: int, bound: int) -> None:
    text = numbered(length)
    capped = cap(text, bound)
    if length <= bound:
        assert capped == text
        return
    assert bound - 8 <= len(capped) <= bound
    (mark,) = MARK.finditer(capped)
    head, tail = capped[: mark.start()], capped[mark.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert abs(len(head) - len(tail)) <= 1
    assert int(mark.group(1)) == length - len(head) - len(tail)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=201, max_size=2000), st.integers(200, 1000))
def test_any_text_keeps_within_the_bound_and_is_capped_once(text: str, bound: int) -> None:
    capped = cap(text, bound)
    assert len(capped) <= bound
    assert cap(capped, bound) == capped.strip()


@pytest.mark.parametrize("length", [200, 201, 999, 1000, 1001, 9_999, 10_000, 1_000_000])
def test_at_the_edges(length: int) -> None:
    capped = cap(numbered(length), 200)
    assert (capped == numbered(length)) == (length <= 200)
    assert len(capped) <= 200
    assert capped.startswith("0000000,0000008,")
    assert capped.endswith(numbered(length)[-40:])
