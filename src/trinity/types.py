"""The nouns of the system: frozen, without behaviour that needs more than their own fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Cause = Literal["empty", "filtered", "cut", "cut in reasoning"]
CAUSES: tuple[Cause, ...] = ("empty", "filtered", "cut", "cut in reasoning")


class Role(StrEnum):
    """What the chosen LLM is asked to be in a turn (paper section 3.2)."""

    THINKER = "thinker"
    WORKER = "worker"
    VERIFIER = "verifier"


class Verdict(StrEnum):
    """What a Verifier's output says of the accumulated solution."""

    ACCEPT = "ACCEPT"
    REVISE = "REVISE"


@dataclass(frozen=True)
class Item:
    """One question of a task.

    Attributes:
        id: Unique within the task and stable over runs: draws are keyed by it.
        task: Name of the task, as in params.yaml.
        domain: Subject or kind within the task; never shown to the coordinator.
        question: What the coordinator and the pool read.
        reward: Which grader reads the answer: math, choice, freeform, code, judge, reasoning_gym or recorded.
        reference: What the grader compares with; its form is the grader's.
        extra: What no coordinator and no real pool reads: the bare question (stem), the benchmark's own solution
            (canonical), what a simulated or recorded pool answers with (texts, scores by model).
    """

    id: str
    task: str
    domain: str
    question: str
    reward: str
    reference: Any
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Decoding:
    """How a reply is decoded (spec section 4.2); without `max_tokens` it is as long as the model makes it."""

    max_tokens: int | None
    temperature: float = 0.0
    top_p: float = 1.0


@dataclass(frozen=True)
class RequestMeta:
    """Opaque to a real pool and no part of its key: only simulated and recorded pools read it."""

    item_id: str
    role: Role


@dataclass(frozen=True)
class Request:
    """One call to one agent of a pool."""

    agent: str
    messages: tuple[Message, ...]
    decoding: Decoding
    sample_index: int
    meta: RequestMeta


@dataclass(frozen=True)
class Response:
    """A completed reply. An empty, filtered or cut one is a reply too: `finish_reason` says which.

    Attributes:
        score: A recorded score in [0, 1], where the pool replays an outcome table; else None.
        reasoning_tokens: The part of completion_tokens that was spent on reasoning, where the provider says it.
    """

    text: str
    finish_reason: Literal["stop", "length", "content_filter"]
    prompt_tokens: int
    completion_tokens: int
    score: float | None = None
    reasoning_tokens: int = 0

    @property
    def cause(self) -> Cause | None:
        """What is amiss with a completed reply; None if nothing is."""
        if self.finish_reason == "content_filter":
            return "filtered"
        if self.finish_reason == "length":
            return "cut" if self.text.strip() else "cut in reasoning"
        return None if self.text.strip() else "empty"


@dataclass(frozen=True)
class Decision:
    """Which agent (index into the pool) answers next, in which role."""

    agent: int
    role: Role


@dataclass(frozen=True)
class Turn:
    """One turn: the decision, the reply as it came, and what was appended to the transcript."""

    decision: Decision
    response: Response
    output: str
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Transcript:
    """A question and the turns so far: C_k = (Q, O_1, ..., O_k) of spec section 4.2."""

    question: str
    turns: tuple[Turn, ...] = ()

    @cached_property
    def history(self) -> str:
        """The outputs so far, each under a line naming its turn and role."""
        return "\n\n".join(
            f"[{number}. {turn.decision.role.value}]\n{turn.output}" for number, turn in enumerate(self.turns, 1)
        )

    @cached_property
    def text(self) -> str:
        """What the coordinator reads: the question, then the history."""
        return f"{self.question}\n\n{self.history}" if self.turns else self.question

    @property
    def latest_work(self) -> Response | None:
        """The uncut reply of the latest Worker turn, which is what is graded; None if no Worker has spoken."""
        return next((t.response for t in reversed(self.turns) if t.decision.role is Role.WORKER), None)

    def before(self, turn: int) -> "Transcript":
        """This transcript as it was before a turn, counted from 0."""
        return self if turn >= len(self.turns) else Transcript(self.question, self.turns[:turn])

    def append(self, turn: Turn) -> "Transcript":
        """This transcript with one more turn."""
        return Transcript(self.question, (*self.turns, turn))


@dataclass(frozen=True)
class Episode:
    """A finished trajectory tau and its reward R(tau) in [0, 1] (0 or 1 for every grader but recorded scores)."""

    item: Item
    transcript: Transcript
    reward: float
    accepted: bool
    candidate: int = 0

    @property
    def prompt_tokens(self) -> int:
        """Tokens read by the pool over all turns."""
        return sum(turn.response.prompt_tokens for turn in self.transcript.turns)

    @property
    def completion_tokens(self) -> int:
        """Tokens written by the pool over all turns."""
        return sum(turn.response.completion_tokens for turn in self.transcript.turns)
