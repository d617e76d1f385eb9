"""The input rule: which token ids the encoder reads, and where its state is taken (spec section 3.2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trinity.coordinator.engine.base import Ids, Reading
from trinity.coordinator.engine.memory import Lru
from trinity.errors import ConfigError
from trinity.types import Transcript

SUFFIX = "\n<Head Input>"
_MEMO_BYTES = 1 << 26


class SuffixInput:
    """Token ids of `transcript + SUFFIX`, then one EOS; what the tokenizer puts in front (a BOS) stays.

    A reading continues that of the transcript a turn before where their ids begin alike: with the whole tokenisation of
    each, since what a seam's characters merge into depends on both sides.

    The state is read at `read_position`, by default -2: the last token of the suffix. A transcript that would make the
    input longer than `max_tokens` is cut in its middle: its first and last ids stay, half each; the suffix is whole.
    What stays of its beginning is what later readings continue.

    Args:
        tokenizer: A Hugging Face tokenizer.
        read_position: Negative index into the ids.
        max_tokens: Most ids of one input.

    Raises:
        ConfigError: the tokenizer has no EOS, or the suffix does not fit the two numbers.
    """

    def __init__(self, tokenizer: Any, read_position: int, max_tokens: int) -> None:
        if tokenizer.eos_token_id is None:
            raise ConfigError("slm.model: its tokenizer has no EOS token, which ends the encoder's input")
        self._tokenizer = tokenizer
        self.eos_id = int(tokenizer.eos_token_id)
        self._front = self._added_in_front()
        self._suffix = self._encode(SUFFIX)
        self.read_position, self.max_tokens = read_position, max_tokens
        self._memo: Lru[str, tuple[int, ...]] = Lru(_MEMO_BYTES)
        self._readings: Lru[tuple[str, ...], Reading] = Lru(_MEMO_BYTES)
        fixed = len(self._front) + len(self._suffix) + 1
        if fixed >= max_tokens:
            raise ConfigError(f"slm.max_tokens: {max_tokens} leaves no room beside the suffix of {fixed} tokens")
        if -read_position > fixed:
            raise ConfigError(f"slm.read_position: {read_position} lies before the suffix of {fixed} tokens")

    def ids(self, transcript: str) -> tuple[int, ...]:
        """The whole input, EOS included; at most `max_tokens` ids."""
        known = self._memo.get(transcript)
        if known is None:
            known = tuple(self._ids(transcript))
            self._memo.put(transcript, known, len(transcript) + 8 * len(known))
        return known

    def reading(self, transcript: Transcript) -> Reading:
        """The ids up to the read position: under causal attention what follows cannot change the state there."""
        texts = tuple(transcript.before(turn).text for turn in range(len(transcript.turns) + 1))
        known = self._readings.get(texts)
        if known is None:
            known = self._reading(texts)
            self._readings.put(texts, known, 8 * len(known.ids) + sum(map(len, texts)))
        return known

    def _reading(self, texts: tuple[str, ...]) -> Reading:
        ids = self.ids(texts[-1])
        whole = ids[: len(ids) + self.read_position + 1]
        if len(texts) == 1:
            return Reading(whole)
        before = self._readings.get(texts[:-1]) or self._reading(texts[:-1])
        kept = min(_common(before.whole, whole), len(whole) - 1)  # at least the read position is new
        parent: Reading | None = before
        while parent is not None and kept <= parent.kept:
            parent = parent.parent
        return Reading(whole[kept:], parent, kept) if parent is not None else Reading(whole)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _ids(self, transcript: str) -> list[int]:
        whole = [*self._front, *self._encode(transcript + SUFFIX), self.eos_id]
        if len(whole) <= self.max_tokens:
            return whole
        body = self._encode(transcript)
        room = self.max_tokens - len(self._front) - len(self._suffix) - 1
        head = room - room // 2
        return [*self._front, *body[:head], *body[len(body) - room // 2 :], *self._suffix, self.eos_id]

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False, verbose=False))

    def _added_in_front(self) -> list[int]:
        plain = self._encode("a")
        full = list(self._tokenizer.encode("a", add_special_tokens=True))
        starts = [start for start in range(len(full)) if full[start : start + len(plain)] == plain]
        return full[: starts[0]] if starts else []


def _common(first: Ids, second: Ids) -> int:
    """How many ids two begin with alike."""
    shorter = min(len(first), len(second))
    differ = np.flatnonzero(np.array(first[:shorter]) != np.array(second[:shorter]))
    return int(differ[0]) if len(differ) else shorter
