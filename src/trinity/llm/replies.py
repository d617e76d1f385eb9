"""What a provider's response says: its text, why it ended, what it spent."""

from collections.abc import Callable, Mapping
from typing import Any

from trinity.llm.call import MOST_TOKENS, MOST_USD, Call, FinishReason, Reply
from trinity.llm.failures import Malformed, ServerFailed

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


def read_reply(response: Any, call: Call, price: Callable[[int, int, Any], float | None]) -> Reply:
    """The reply in what litellm returns.

    Args:
        response: A `ModelResponse`.
        call: What was asked.
        price: US dollars of so many tokens read and written, and the response.

    Raises:
        Transient: the provider's side broke off, or what came is no reply.
        ValueError: so is this, or whatever a response of another shape raises.
    """
    if not response.choices:
        raise ValueError("it has no choices")
    choice = response.choices[0]
    finish_reason = _finish_reason(choice)
    text = clean(choice.message.content or "")
    counts = _counts(getattr(response, "usage", None))
    read, written, reasoning = counts or (_tokens(*(m.content for m in call.messages)), _tokens(text), 0)
    return Reply(
        text=without_reasoning(text),
        finish_reason=finish_reason,
        prompt_tokens=read,
        completion_tokens=written,
        reasoning_tokens=reasoning,
        usd=price(read, written, response),
        model=clean(str(response.model or "")),
        estimated=counts is None,
    )


def without_reasoning(text: str) -> str:
    """An answer without what a model thought before it.

    litellm takes out `<think>...</think>`. Chat templates that open the thought themselves leave its end alone in the
    reply; a cap that falls into it leaves its beginning alone, and then there is no answer.
    """
    before, end, after = text.partition("</think>")
    if end and "<think>" not in before:
        return after.lstrip()
    return "" if text.lstrip().startswith("<think>") and not end else text


def said_price(response: Any) -> float | None:
    """US dollars that the provider says a response cost (OpenRouter: `usage.cost`); None where it does not say."""
    said = getattr(getattr(response, "usage", None), "cost", None)
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= MOST_USD:
        return None
    return float(said)


def clean(text: str) -> str:
    """Text that can be sent and stored as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _finish_reason(choice: Any) -> FinishReason:
    fields = getattr(choice, "provider_specific_fields", None) or {}
    word = str(fields.get("native_finish_reason") or choice.finish_reason)
    if word.lower() in BROKE_OFF:
        raise ServerFailed(f"the reply broke off with finish reason {word}")
    if word.lower() not in FINISH_REASONS:
        raise Malformed(f"malformed reply (finish reason {word[:40]!r} is none that is known)")
    return FINISH_REASONS[word.lower()]


def _counts(usage: Any) -> tuple[int, int, int] | None:
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if read is None or written is None or read + written == 0:
        return None
    return read, written, _count(getattr(usage, "completion_tokens_details", None), "reasoning_tokens") or 0


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _tokens(*texts: str) -> int:
    """An estimate, where the provider does not say."""
    return sum(len(clean(text).encode()) for text in texts) // BYTES_PER_TOKEN
