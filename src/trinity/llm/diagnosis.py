"""What litellm's errors mean: which failure they are, and whether a prompt was filtered.

litellm turns much of what can happen into errors of status 500, but keeps what it caught as their cause: a page that
was received, a connection that broke, or a reply that is none.
"""

import json
import os
import re
import urllib.request
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from trinity.config.pool import Agent
from trinity.llm.failures import (
    CallFailed,
    ContextExceeded,
    Limits,
    Malformed,
    NoConnection,
    NoKey,
    RateLimited,
    ServerFailed,
    TimedOut,
    UnknownModel,
)
from trinity.llm.keys import key_of

SHOWN_CHARS = 160
"""How much of a provider's own words is kept."""
_CONTEXT = re.compile(r"context (length|window|size)|maximum context|prompt is too long|too many (input )?tokens", re.I)
_POLICY_CODES = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
_POLICY = re.compile(
    r"(your request was rejected as a result of our safety system|output blocked by content filtering policy|"
    r"the response was filtered due to the prompt triggering)",
    re.I,
)
"""How messages of providers that give no code begin: their end may echo the prompt."""
_MODERATED = re.compile(r"\S+ requires moderation\b", re.I)
_OBJECT = re.compile(r"\s?(\w+:)?<[^<>]* object at 0x[0-9a-f]+>")
"""What aiohttp says of its own inside, such as `ssl:<ssl.SSLContext object at 0x7f00>`."""


def is_filtered(error: Exception) -> bool:
    """Whether the provider's filter refused the prompt: with status 400 (OpenAI, Azure, Anthropic) or 403 (OpenRouter).

    Told from the fields of the provider's page; a page may echo the prompt, and its words are then no sign.
    """
    import litellm

    status, page = _status(error), _page(error)
    if page is None:
        return isinstance(error, litellm.ContentPolicyViolationError) and status == 400
    message, inner = str(page.get("message") or ""), page.get("innererror") or page.get("inner_error")
    codes = {str(one.get("code")).lower() for one in (page, inner) if isinstance(one, dict)}
    if status == 400:
        return bool(codes & _POLICY_CODES) or _POLICY.match(message) is not None
    metadata = page.get("metadata")
    flagged = isinstance(metadata, dict) and "flagged_input" in metadata
    return status == 403 and (flagged or _MODERATED.match(message) is not None)


def _page(error: Exception) -> dict[str, Any] | None:
    """The object `error` of the provider's page; None where there is no such page."""
    import httpx
    import openai

    for cause in _causes(error):
        try:
            if isinstance(cause, httpx.HTTPStatusError):
                found = json.loads(cause.response.text)
            elif isinstance(cause, openai.APIStatusError) and type(cause).__module__.startswith("openai"):
                found = cause.body
            else:
                continue
        except (ValueError, RuntimeError):  # no JSON, or never read
            continue
        if isinstance(found, dict):
            inside = found.get("error", found)
            if isinstance(inside, dict):
                return inside
    return None


def failure_of(error: Exception, agent: Agent, limits: Limits) -> CallFailed:
    """What an error of litellm means for the call of an agent.

    litellm's own texts may hold headers, hence keys: only a short part is kept, without anything that may be a key.
    """
    import httpx
    import openai

    name, status, said = agent.name, _status(error), _said(error, agent)
    causes = list(_causes(error))
    if any(isinstance(cause, httpx.TimeoutException | TimeoutError) for cause in causes):
        return TimedOut(f"no answer within {limits.connect:g} s to connect or {limits.read:g} s of silence")
    if any(isinstance(cause, httpx.ConnectError | ConnectionRefusedError) for cause in causes):
        if agent.api_base:
            return NoConnection(
                f"no connection to {agent.api_base}: is the server running?{_proxy(agent.api_base)}{said}"
            )
        return NoConnection(f"no connection to the provider of {agent.model}: is this machine connected?{said}")
    if any(isinstance(cause, httpx.TransportError | ConnectionError) for cause in causes):
        return ServerFailed(f"the connection broke off{said}")
    if not isinstance(error, openai.OpenAIError):  # litellm's are subclasses of it
        return CallFailed(f"agent {name}: litellm failed with {type(error).__name__}{said}")
    if status is None:
        if agent.api_base is None:
            return Malformed(f"malformed reply{said}")
        hint = "see that api_base ends as the server wants it, most often in /v1"
        return Malformed(f"malformed reply from {agent.api_base}{said}: {hint}")
    if _inside_a_reply(causes) in (0, 422):  # what litellm takes for the code of an error that has none
        return ServerFailed(f"the provider answers with an error{said}")
    if status == 429:
        return RateLimited(f"rate limit{said}", retry_after(error))
    if status in (408, 504):
        return TimedOut(f"time-out at the provider{said}", retry_after(error))
    if status >= 500 or status in (409, 425):
        return ServerFailed(f"server failure{said}", retry_after(error))
    return _refusal(error, agent, status, said)


def _refusal(error: Exception, agent: Agent, status: int, said: str) -> CallFailed:
    import litellm

    name, text = agent.name, str(error)
    at = f" at {agent.api_base}" if agent.api_base else ""
    if "LLM Provider NOT provided" in text:
        return UnknownModel(
            f"agent {name}: {agent.model!r} names no provider: write PROVIDER/MODEL as litellm does "
            f"(params.yaml: pool.agents: {name}: model)"
        )
    if status == 401:
        return NoKey(f"agent {name}: the key is refused{at}{said}: {_key_advice(agent)}")
    if status == 402:
        return NoKey(f"agent {name}: the key has no credit left{at}{said}: see the account at the provider")
    if status == 403:
        return NoKey(
            f"agent {name}: the key may not use {agent.model}{at}{said}: {_key_advice(agent)}, and the account"
        )
    if status == 404:
        or_address = " or api_base" if agent.api_base else ""
        return UnknownModel(
            f"agent {name}: no model {agent.model}{at}{said}: correct pool.agents: {name}: model{or_address}"
        )
    if isinstance(error, litellm.ContextWindowExceededError) or _CONTEXT.search(text):
        return ContextExceeded(
            f"agent {name}: the messages are longer than {agent.model} reads{said}: lower roles.max_output_chars or "
            "episode.max_turns, or leave such items out"
        )
    return CallFailed(
        f"agent {name}: the request is refused{at}{said}: most often an entry of pool.agents: {name}: params"
    )


def _proxy(address: str) -> str:
    """What is said where a variable sends the requests for an address to a proxy."""
    parts = urlsplit(address)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(parts.hostname or ""):
        return ""
    return f" (asked through the proxy {proxy.rpartition('@')[2]}: see HTTP_PROXY, NO_PROXY)"


def _key_advice(agent: Agent) -> str:
    name = key_of(agent)
    if name is not None:
        return f"see the value of {name}"
    if agent.api_base is not None:
        return f"name the variable that holds this server's key in pool.agents: {agent.name}: key_env"
    return "see the value of the provider's key"


def retry_after(error: Exception) -> float | None:
    """Seconds that the provider asks to wait (RFC 9110, section 10.2.3: seconds or a date)."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    extra = getattr(error, "litellm_response_headers", None) or {}
    for source in (headers, extra):
        for name, value in dict(source).items():
            if str(name).lower().endswith("retry-after"):
                return _seconds(str(value))
    return None


def _seconds(value: str) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        from datetime import UTC, datetime

        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from or while handling."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _inside_a_reply(causes: Sequence[BaseException]) -> int | None:
    """The code of an error that came with status 200, for which litellm raises a bare exception."""
    for cause in causes:
        code = getattr(cause, "status_code", None)
        if type(cause) is Exception and isinstance(code, int):
            return code
    return None


def _status(error: Exception) -> int | None:
    """The HTTP status of the provider's page, or what litellm takes for it; None if there is none."""
    import httpx

    for cause in _causes(error):
        if isinstance(cause, httpx.HTTPStatusError):
            return cause.response.status_code
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status not in (200, 500) else None  # its words for "something"


def _said(error: Exception, agent: Agent) -> str:
    """The provider's words in brackets, on one line."""
    text = str(getattr(error, "message", error)).rpartition("Exception - ")[2].partition("Traceback (most")[0]
    text = " ".join(_OBJECT.sub("", _message_of_page(text)).split())
    for key in _keys(agent):
        text = text.replace(key, "[key]")
    status = _status(error)
    shown = [] if status is None else [str(status)]
    return f" ({': '.join([*shown, text[:SHOWN_CHARS].strip() or type(error).__name__])})"


def _message_of_page(text: str) -> str:
    """What a JSON page says, `error.message` with what OpenRouter passes on from upstream; other text as it is."""
    try:
        error: Any = json.loads(text)["error"]
        said = error["message"]
        raw = (error.get("metadata") or {}).get("raw")
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
    return f"{said}: {raw}" if raw else str(said)


def _keys(agent: Agent) -> list[str]:
    """The values of environment variables that may be keys."""
    names = [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
    return [os.environ[name] for name in {*names, agent.key_env or ""} if len(os.environ.get(name, "")) >= 6]
