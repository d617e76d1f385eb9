"""What a provider's response says: its text, why it ended, what it spent."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from trinity.llm.call import MOST_TOKENS, MOST_USD, Call, FinishReason, Reply, Usage
from trinity.llm.failures import CallFailed, ServerFailed

_WORDS: Mapping[FinishReason, str] = {
    "stop": "stop end_turn stop_sequence eos eos_token complete completed tool_call tool_calls tool_use function_call "
    "unexpected_tool_call too_many_tool_calls malformed_function_call",
    "length": "length max_tokens max_output_tokens max_new_tokens max_length length_exceeded model_length "
    "context_length context_window_exceeded model_context_window_exceeded continuation",
    "content_filter": "content_filter content_filtered refusal safety recitation language blocklist "
    "prohibited_content spii sensitive guardrail_intervened error_toxic",
}
FINISH_REASONS: Mapping[str, FinishReason] = {
    word: reason for reason, words in _WORDS.items() for word in words.split()
}
"""What providers' words mean. litellm hands on the word that it was given, beside its own reading, which takes every
unknown word, and a provider's own failure, for the end of a whole reply. A model that wants to call a tool, though it
was offered none, has said what it had to say."""
BROKE_OFF = (
    "error", "network_error", "abort", "aborted", "cancelled", "canceled", "timeout", "insufficient_system_resource",
    "engine_overloaded",
)  # fmt: skip
"""Providers' words for a reply that their side did not finish."""
BYTES_PER_TOKEN = 4
ALONE = re.compile(r"^\s*</think>\s*$", re.M)
"""The end of a thought on a line of its own."""


def read_reply(response: Any, call: Call, price: Callable[[int, int, Any], float | None]) -> Reply:
    """The reply in what litellm returns.

    Args:
        response: A `ModelResponse`.
        call: What was asked.
        price: US dollars of so many tokens read and written, and the response.

    Raises:
        CallFailed: the reply ended for a reason that nobody knows, or (`Transient`) the provider's side broke off.
        ValueError: what came is no reply; so is whatever a response of another shape raises.
    """
    if not response.choices:
        raise ValueError("it has no choices")
    choice = response.choices[0]
    text = clean(choice.message.content or "")
    counts = _counts(getattr(response, "usage", None))
    read, written, reasoning = counts or (_tokens(*(m.content for m in call.messages)), _tokens(text), 0)
    usage = Usage(clean(str(response.model or "")), read, written, reasoning, price(read, written, response))
    word = _finish_word(choice)
    finish_reason = FINISH_REASONS.get(word.lower())
    if finish_reason is None:
        failure = _no_reply(word)
        failure.charged = None if counts is None else usage
        raise failure
    return Reply(
        text=without_reasoning(text),
        finish_reason=finish_reason,
        prompt_tokens=read,
        completion_tokens=written,
        reasoning_tokens=reasoning,
        usd=usage.usd,
        model=usage.model,
        estimated=counts is None,
    )


def _no_reply(word: str) -> CallFailed:
    if word.lower() in BROKE_OFF:
        return ServerFailed(f"the reply broke off with finish reason {word}")
    return CallFailed(
        f"the reply ended with finish reason {word[:40]!r}, which is none that is known: it is taken neither for a "
        "whole reply nor for a cut one (docs/pool.md)"
    )


def without_reasoning(text: str) -> str:
    """An answer without what a model thought before it.

    litellm takes out `<think>...</think>` that a reply begins with. Chat templates that open the thought themselves
    leave its end, on a line of its own; a cap that falls into a thought leaves its beginning, and no answer.
    """
    if text.lstrip().startswith("<think>"):
        return text.partition("</think>")[2].lstrip()
    end = ALONE.search(text)
    if end is None or "<think>" in text[: end.start()]:
        return text
    return text[end.end() :].lstrip()


def said_price(response: Any) -> float | None:
    """US dollars that the provider says a response cost (OpenRouter: `usage.cost`); None where it does not say."""
    said = getattr(getattr(response, "usage", None), "cost", None)
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= MOST_USD:
        return None
    return float(said)


def clean(text: str) -> str:
    """Text that can be sent and stored as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _finish_word(choice: Any) -> str:
    """The provider's own word, where litellm made another of it."""
    fields = getattr(choice, "provider_specific_fields", None) or {}
    return str(fields.get("native_finish_reason") or choice.finish_reason)


def _counts(usage: Any) -> tuple[int, int, int] | None:
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if read is None or written is None or read + written == 0:
        return None
    reasoning = _count(getattr(usage, "completion_tokens_details", None), "reasoning_tokens") or 0
    # Some providers count reasoning apart.
    return read, written if reasoning <= written else written + reasoning, reasoning


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _tokens(*texts: str) -> int:
    """An estimate, where the provider does not say."""
    return sum(len(clean(text).encode()) for text in texts) // BYTES_PER_TOKEN
