r"""Questions that stand in two places: found, counted, and removed from the earlier split.

Two questions are the same if their texts are equal, or equal when normalised: NFKC, casefold, without LaTeX spacing,
`$`, white space and the punctuation of prose. Letters, digits, signs, brackets and decimal points stay.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trinity.tasks.base import Splits
from trinity.types import SPLITS, Item, Split

_SAME = str.maketrans(
    {
        **{character: f"^{power}" for character, power in zip("⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ", "0123456789n", strict=True)},
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("×·⋅∙", "*"),
        **dict.fromkeys("⁄÷", "/"),
        **dict.fromkeys("’′", "'"),
    }
)
_SPACING = re.compile(
    r"\\(?:[,;:!> ]|(?:quad|qquad|left|right|displaystyle|textstyle|limits|bigl?|bigr?|thinspace)(?![a-z]))|~"
)
_FRACTION = re.compile(r"\\[dtc]frac(?![a-z])")
_TIMES = re.compile(r"\\(?:cdot|times)(?![a-z])")
# A group of one number or word needs no braces: x^{10} is x^10. Longer groups keep theirs: x^{a+b} is not x^a+b.
_SINGLE = re.compile(r"(?<!\\)\{\s*([^\W_]+)\s*\}")
# No two of these begin alike, so that their order is free: the frequent ones stand first.
_TOKEN = re.compile(
    r"""
    [^\W\d_]+                                 # words
    | \d+(?:\.\d+)* | \.\d+                   # numbers with their decimal point
    | [^\w\s$"“”«»‘`´.,:;?!'\\…•¿¡] | _       # signs, operators, brackets, symbols
    | (?<=\d):(?=\d)                          # a ratio or a time of day
    | (?<=[\d)])! | (?<![^\W_])(?<=[a-z])! | !(?==)   # a factorial, unequal
    | (?<=[^\W_])'+(?![^\W_])                 # a derivative
    """,
    re.VERBOSE,
)
_EARLIER: tuple[Split, ...] = ("valid", "train")


def normalised(text: str) -> str:
    """The text as tokens with single spaces between them; empty if nothing of it carries meaning."""
    plain = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME).casefold()
    plain = _SPACING.sub(" ", _TIMES.sub("*", _FRACTION.sub(r"\\frac", plain)))
    return " ".join(_TOKEN.findall(_SINGLE.sub(r" \1 ", plain)))


def stem(item: Item) -> str:
    """The bare question, where its benchmark keeps it apart from the instructions; else what is asked."""
    bare: str = item.extra.get("stem", item.question)
    return bare


def _question(item: Item) -> str:
    return item.question


@dataclass(frozen=True)
class _Seen:
    """The texts of some questions."""

    exact: frozenset[str]
    normalised: frozenset[str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "_Seen":
        return cls(frozenset(texts), frozenset(filter(None, map(normalised, texts))))

    def how(self, text: str, plain: str) -> str | None:
        """`exact` or `normalised` if the text is among them, else None."""
        if text in self.exact:
            return "exact"
        return "normalised" if plain in self.normalised else None


def remove_duplicates(splits: Splits, evaluation: Mapping[str, Sequence[Item]]) -> tuple[Splits, dict[str, Any]]:
    """Takes out of train and valid what is asked elsewhere too.

    Within the task what stands in test is taken out of valid, and what stands in either out of train, comparing whole
    questions (with options, where a question has some). Then what stands in an evaluation set is taken out of both,
    comparing stems. Twins inside one split stay.

    Args:
        splits: The items of a task.
        evaluation: By name of the evaluation set, its test items.

    Returns:
        The splits that are left, and counts for the manifest: `within` (exact, normalised, removed by split), `across`
        (by evaluation set, with its size; a question in two sets counts in both), and `removed` in all.
    """
    items = dict(splits.items)
    within = _counts()
    later = [item.question for item in splits.items["test"]]
    for split in _EARLIER:
        items[split] = _left(split, items[split], _question, [_Seen.of(later)], [within])
        later += [item.question for item in splits.items[split]]
    names = sorted(evaluation)
    seen = [_Seen.of([stem(item) for item in evaluation[name]]) for name in names]
    across = {name: {"compared": len(evaluation[name]), **_counts()} for name in names}
    for split in _EARLIER:
        items[split] = _left(split, items[split], stem, seen, list(across.values()))
    removed = {split: len(splits.items[split]) - len(items[split]) for split in ("train", "valid")}
    left = Splits({split: items[split] for split in SPLITS}, splits.provenance)
    return left, {"within": within, "across": across, "removed": removed}


def summary(duplicates: Mapping[str, Any]) -> str:
    """The counts of `remove_duplicates` in a few words."""
    parts = [("this task", duplicates["within"]), *duplicates["across"].items()]
    found = ", ".join(
        f"{name} {counts['exact']} exact + {counts['normalised']} normalised"
        for name, counts in parts
        if counts["exact"] or counts["normalised"]
    )
    removed = " and ".join(f"{count} from {split}" for split, count in duplicates["removed"].items())
    compared = "" if duplicates["across"] else "; no evaluation set compared (data.decontaminate)"
    return f"duplicates removed: {removed}" + (f" (found in {found})" if found else "") + compared


def _counts() -> dict[str, Any]:
    return {"exact": 0, "normalised": 0, "removed": {"train": 0, "valid": 0}}


def _left(
    split: Split,
    items: Sequence[Item],
    text_of: Callable[[Item], str],
    seen: Sequence[_Seen],
    counts: Sequence[dict[str, Any]],
) -> tuple[Item, ...]:
    """The items whose text is in none of `seen`; each of these has an entry of counts."""
    kept = []
    for item in items:
        text = text_of(item)
        plain = normalised(text)
        found = [texts.how(text, plain) for texts in seen]
        if not any(found):
            kept.append(item)
            continue
        for how, entry in zip(found, counts, strict=True):
            if how is not None:
                entry[how] += 1
                entry["removed"][split] += 1
    return tuple(kept)
