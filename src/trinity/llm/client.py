"""One attempt at one call through litellm: a reply, or a typed failure that says whether another attempt can help."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from trinity.config.pool import Agent, Pool
from trinity.errors import PoolError
from trinity.llm.call import Call, FinishReason, Reply

NO_KEY = "none"
"""Sent to a server of one's own, so that no provider's key ever reaches it."""
FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop", "eos": "stop", "end_turn": "stop", "length": "length", "max_tokens": "length",
    "content_filter": "content_filter",
}  # fmt: skip
BYTES_PER_TOKEN = 4


class CallFailed(PoolError):
    """An attempt got no reply, and another would get none either.

    Attributes:
        kind: What it was, in two or three words.
    """

    kind = "refused"


class NoKey(CallFailed):
    """The provider's key is absent, wrong, or has no credit."""

    kind = "no key"


class UnknownModel(CallFailed):
    """The provider has no such model."""

    kind = "unknown model"


class ContextExceeded(CallFailed):
    """The messages are longer than the model reads."""

    kind = "context exceeded"


class Transient(CallFailed):
    """An attempt got no reply; another may.

    Attributes:
        retry_after: Seconds that the provider asks to wait; None if it does not say.
    """

    kind = "transport failure"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(Transient):
    """Too many calls at once, or a quota."""

    kind = "rate limit"


class TimedOut(Transient):
    """No connection, or silence, for longer than the limits."""

    kind = "time-out"


class ServerFailed(Transient):
    """The provider's side failed or could not be reached."""

    kind = "server failure"


class Malformed(Transient):
    """What came is no reply."""

    kind = "malformed reply"


@dataclass(frozen=True)
class Limits:
    """Seconds until a connection must stand, and of silence while a reply is awaited."""

    connect: float
    read: float

    @classmethod
    def of(cls, pool: Pool) -> "Limits":
        """The limits of params.yaml."""
        return cls(pool.connect_seconds, pool.read_seconds)


def library() -> Any:
    """litellm, set up so that importing it asks no network and it prints and reports nothing of its own."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    return litellm


class Client:
    """Calls one agent.

    Args:
        agent: Its server, key and price.
        limits: Of connecting and reading.

    Raises:
        NoKey: by `attempt`, where its key is not in the environment.
    """

    def __init__(self, agent: Agent, limits: Limits) -> None:
        import httpx

        self.agent = agent
        self._litellm = library()
        self._timeout = httpx.Timeout(limits.read, connect=limits.connect)
        self._limits = limits

    async def attempt(self, call: Call) -> Reply:
        """Asks once.

        Raises:
            CallFailed: no reply came; a `Transient` one is worth another attempt.
        """
        with self._failures():
            response = await self._litellm.acompletion(
                model=call.model,
                messages=[{"role": message.role, "content": message.content} for message in call.messages],
                timeout=self._timeout,
                num_retries=0,
                max_retries=0,
                **self._server(),
                **call.params,
            )
        return self._reply(response, call)

    def _server(self) -> dict[str, Any]:
        agent = self.agent
        if agent.key_env is not None:
            key = os.environ.get(agent.key_env)
            if not key:
                raise NoKey(f"agent {agent.name}: no key: export {agent.key_env}=... in the shell that runs this")
        elif agent.api_base is not None:
            key = NO_KEY
        else:
            missing = missing_keys(agent)
            if missing:
                raise NoKey(f"agent {agent.name}: no key: export {missing[0]}=... in the shell that runs this")
            return {}
        return {"api_key": key} | ({"api_base": agent.api_base} if agent.api_base else {})

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Turns litellm's errors into ours. Their own texts may hold headers, hence keys: only a short part is kept."""
        library, name = self._litellm, self.agent.name
        try:
            yield
        except library.AuthenticationError as error:
            raise NoKey(f"agent {name}: the key is refused{self._said(error)}") from None
        except library.PermissionDeniedError as error:
            raise NoKey(f"agent {name}: the key may not use {self.agent.model}{self._said(error)}") from None
        except library.NotFoundError as error:
            raise UnknownModel(f"agent {name}: no model {self.agent.model}{self._said(error)}") from None
        except library.ContextWindowExceededError as error:
            raise ContextExceeded(
                f"agent {name}: the messages are longer than {self.agent.model} reads{self._said(error)}: lower "
                "roles.max_output_chars or episode.max_turns, or leave such items out"
            ) from None
        except library.RateLimitError as error:
            raise RateLimited(f"rate limit{self._said(error)}", retry_after(error)) from None
        except library.Timeout as error:
            raise TimedOut(
                f"no answer within {self._limits.connect:g} s to connect or {self._limits.read:g} s of silence",
                retry_after(error),
            ) from None
        except library.APIResponseValidationError as error:
            raise Malformed(f"malformed reply{self._said(error)}") from None
        except library.BadRequestError as error:
            if "LLM Provider NOT provided" in str(error):
                raise UnknownModel(
                    f"agent {name}: {self.agent.model!r} names no provider: write PROVIDER/MODEL as litellm does"
                ) from None
            raise CallFailed(f"agent {name}: the request is refused{self._said(error)}") from None
        except (library.APIConnectionError, library.APIError, library.ServiceUnavailableError) as error:
            status = getattr(error, "status_code", None)
            if status == 402:
                raise NoKey(f"agent {name}: the key has no credit left{self._said(error)}") from None
            if isinstance(status, int) and 400 <= status < 500 and status not in (408, 409, 425, 429):
                raise CallFailed(f"agent {name}: the request is refused{self._said(error)}") from None
            raise ServerFailed(f"server failure{self._said(error)}", retry_after(error)) from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise Malformed(f"malformed reply ({type(error).__name__})") from None

    def _said(self, error: Exception) -> str:
        text = " ".join(str(getattr(error, "message", error)).split())
        text = text.rpartition("Exception - ")[2]
        for key in self._keys():
            text = text.replace(key, "[key]")
        status = getattr(error, "status_code", None)
        return f" ({f'{status}: ' if status else ''}{text[:160]})"

    def _keys(self) -> list[str]:
        """The values of environment variables that may be keys."""
        names = [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
        return [os.environ[name] for name in {*names, self.agent.key_env or ""} if len(os.environ.get(name, "")) >= 6]

    def _reply(self, response: Any, call: Call) -> Reply:
        with self._failures():
            choices = response.choices
            if not choices:
                raise ValueError("no choices")
            message, reason = choices[0].message, choices[0].finish_reason
            text = _clean(message.content or "")
            usage = getattr(response, "usage", None)
            counts = _counts(usage)
            estimated = counts is None
            read, written, reasoning = counts or (
                sum(len(message.content.encode("utf-8", "replace")) for message in call.messages) // BYTES_PER_TOKEN,
                len(text.encode()) // BYTES_PER_TOKEN,
                0,
            )
            if reason not in FINISH_REASONS:
                raise ValueError(f"finish reason {reason}")
            return Reply(
                text=text,
                finish_reason=FINISH_REASONS[reason],
                prompt_tokens=read,
                completion_tokens=written,
                reasoning_tokens=reasoning,
                usd=self.price(read, written, response),
                model=_clean(str(response.model or "")),
                estimated=estimated,
            )

    def price(self, prompt_tokens: int, completion_tokens: int, response: Any = None) -> float | None:
        """US dollars of a reply; None where nobody says.

        The override of params.yaml goes before what the provider says, and that before litellm's table.
        """
        if self.agent.price is not None:
            return (prompt_tokens * self.agent.price.input + completion_tokens * self.agent.price.output) / 1e6
        said = getattr(getattr(response, "usage", None), "cost", None)
        if isinstance(said, int | float) and said >= 0:
            return float(said)
        return table_price(self.agent, prompt_tokens, completion_tokens)


def table_price(agent: Agent, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What params.yaml, or litellm's table, says that tokens cost; None where neither does."""
    if agent.price is not None:
        return (prompt_tokens * agent.price.input + completion_tokens * agent.price.output) / 1e6
    if agent.api_base is not None:
        return None
    litellm = library()
    try:
        read, written = litellm.cost_per_token(
            model=agent.model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )
    except Exception:  # litellm raises bare Exception for a model that its table lacks
        return None
    return float(read + written)


def missing_keys(agent: Agent) -> list[str]:
    """Environment variables that the provider of an agent needs and that are not set."""
    if agent.key_env is not None:
        return [] if os.environ.get(agent.key_env) else [agent.key_env]
    if agent.api_base is not None:
        return []
    found = library().validate_environment(model=agent.model)
    return [] if found["keys_in_environment"] else list(found["missing_keys"])


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
    except (TypeError, ValueError):
        return None


def _counts(usage: Any) -> tuple[int, int, int] | None:
    read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if type(read) is not int or type(written) is not int or read < 0 or written < 0 or read + written == 0:
        return None
    details = getattr(usage, "completion_tokens_details", None)
    reasoning = getattr(details, "reasoning_tokens", None)
    return read, written, reasoning if type(reasoning) is int and reasoning >= 0 else 0


def _clean(text: str) -> str:
    """Text that can be sent and stored as UTF-8."""
    return text.encode("utf-8", "replace").decode()
