"""What requests cost in tokens, dollars and seconds: measured where replies are stored, else assumed and said so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.llm.client import table_price
from trinity.llm.remote import UNCAPPED_TOKENS, effective_decoding
from trinity.orchestration.rules import EpisodeRules, make_rules
from trinity.plan.bounds import Part
from trinity.plan.questions import Questions
from trinity.plan.stored import Measured
from trinity.types import Role, Transcript

PER_CHAR = 0.25
QUESTION_CHARS = (200, 2000)
FIRST_SECONDS, SLOWEST, FASTEST = 1.0, 20.0, 200.0
PRICED_TOKENS = 1000
"""At which litellm's table is asked: some prices grow with the length of a prompt."""


@dataclass(frozen=True)
class Range:
    """From the least to the most."""

    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: "Range") -> "Range":
        return Range(self.low + other.low, self.high + other.high)

    @classmethod
    def over(cls, values: Sequence["Range"]) -> "Range":
        """The least low and the greatest high."""
        return cls(min(value.low for value in values), max(value.high for value in values))


@dataclass(frozen=True)
class Amounts:
    """What requests come to.

    Attributes:
        usd: Of calls to agents whose price is known.
        unpriced: Calls to agents whose price is not known.
        seconds: Of all replies one after another.
        longest: Seconds of one reply, at most.
    """

    calls: Range = Range()
    prompt_tokens: Range = Range()
    completion_tokens: Range = Range()
    usd: Range = Range()
    unpriced: Range = Range()
    seconds: Range = Range()
    longest: float = 0.0

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
            self.seconds + other.seconds,
            max(self.longest, other.longest),
        )


@dataclass(frozen=True)
class ReplyMeans:
    """What a reply comes to on average."""

    completion: Range
    visible: Range
    seconds: Range


class Rates:
    """What the requests of params.yaml come to.

    Attributes:
        prices: By agent, US dollars a prompt and a completion token; None where nobody says.
    """

    def __init__(self, config: Config, measured: Mapping[tuple[str, Role], Measured]) -> None:
        self._config, self._measured = config, measured
        self._rules: EpisodeRules = make_rules(config)
        self.prices = [_price(agent) for agent in config.pool.agents]

    @property
    def unpriced(self) -> list[str]:
        """Agents without a known price."""
        return [agent.name for agent, price in zip(self._config.pool.agents, self.prices, strict=True) if not price]

    def of(self, part: Part, questions: Questions) -> Amounts:
        """The amounts of a part; questions are those of its split."""
        pairs = [(agent, role) for agent in part.agents for role in part.roles]
        replies = {pair: self._reply(*pair, part.factor) for pair in pairs}
        prompts = {pair: self._prompt(*pair, part.turn, questions) for pair in pairs}
        completion = Range.over([reply.completion for reply in replies.values()])
        seconds = Range.over([reply.seconds for reply in replies.values()])
        usd = Range.over([self._usd(agent, prompts[agent, role], replies[agent, role]) for agent, role in pairs])
        return self._times(part, Range.over(list(prompts.values())), completion, usd, seconds)

    def of_short_calls(self, agents: Sequence[int], chars: int, most: int, low: int, high: int) -> Amounts:
        """Calls of so many characters and at most so many tokens to any of these agents."""
        part = Part("train", 1, tuple(agents), (Role.WORKER,), low, high)
        prompt, completion = Range(chars * PER_CHAR, chars * PER_CHAR), Range(1, most)
        reply = ReplyMeans(completion, completion, _seconds(completion))
        usd = Range.over([self._usd(agent, prompt, reply) for agent in agents])
        return self._times(part, prompt, completion, usd, reply.seconds)

    def _prompt(self, agent: int, role: Role, turn: int, questions: Questions) -> Range:
        per_char = self._per_char(agent)
        template = len(self._rules.prompts.messages(role, Transcript(""))[0].content)
        low, high = _question_chars(questions)
        every = [self._reply(a, r, 1).visible for a in range(len(self._rules.agents)) for r in self._rules.roles]
        appended = Range.over(every)
        most = self._rules.max_output_chars * per_char
        return Range(
            (template + low) * per_char + (turn - 1) * min(appended.low, most),
            (template + high) * per_char + (turn - 1) * min(appended.high, most),
        )

    def _per_char(self, agent: int) -> float:
        name = self._rules.agents[agent]
        known = [mean.per_char for (of, _), mean in self._measured.items() if of == name]
        return sum(known) / len(known) if known else PER_CHAR

    def _reply(self, agent: int, role: Role, factor: int) -> ReplyMeans:
        plain, longer = self._most(agent, 1), self._most(agent, factor)
        mean = self._measured.get((self._rules.agents[agent], role))
        if mean is None:
            completion = Range(1, longer)
            return ReplyMeans(completion, Range(0, longer), _seconds(completion))
        # Only replies that were cut get longer with the cap: at most all of them, in proportion.
        ratio = longer / plain
        return ReplyMeans(
            Range(mean.completion, mean.completion * ratio),
            Range(mean.visible, mean.visible * ratio),
            Range(mean.seconds, mean.seconds * ratio),
        )

    def _most(self, agent: int, factor: int) -> int:
        decoding = self._rules.single_call(factor).decoding
        return effective_decoding(self._config.pool.agents[agent], decoding).max_tokens or UNCAPPED_TOKENS

    def _usd(self, agent: int, prompt: Range, reply: ReplyMeans) -> Range:
        price = self.prices[agent]
        if price is None:
            return Range()
        read, written = price
        low = prompt.low * read + reply.completion.low * written
        return Range(low, prompt.high * read + reply.completion.high * written)

    def _times(self, part: Part, prompt: Range, completion: Range, usd: Range, seconds: Range) -> Amounts:
        """The amounts of all calls of a part, from those of one."""

        def times(value: Range) -> Range:
            return Range(part.low * value.low, part.high * value.high)

        known = [self.prices[agent] is not None for agent in part.agents]
        return Amounts(
            calls=Range(part.low, part.high),
            prompt_tokens=times(prompt),
            completion_tokens=times(completion),
            usd=times(usd),
            unpriced=Range(0 if any(known) else part.low, 0 if all(known) else part.high),
            seconds=times(seconds),
            longest=seconds.high if part.high else 0.0,
        )

    def assumptions(self) -> list[str]:
        """What had to be assumed, in lines."""
        agents, roles = self._rules.agents, self._rules.roles
        known = self._measured
        lines = []
        if known:
            count = sum(mean.replies for mean in known.values())
            lines.append(f"tokens and seconds are means of the latest {count:,} replies made here, by agent and role")
        unknown = {
            name: [role.value for role in roles if (name, role) not in known]
            for name in agents
            if any((name, role) not in known for role in roles)
        }
        if unknown:
            everyone = len(unknown) == len(agents) and all(len(names) == len(roles) for names in unknown.values())
            named = "; ".join(f"{name} ({', '.join(names)})" for name, names in unknown.items())
            of = "" if everyone else f" of {named}"
            lines.append(
                f"assumed: replies{of} have 1 to max_tokens tokens, and take {FIRST_SECONDS:g} s and 1 s for every "
                f"{SLOWEST:g} to {FASTEST:g} tokens: none was made here"
            )
            if everyone:
                lines.append(f"assumed: {1 / PER_CHAR:g} characters of a prompt are a token")
        if self.unpriced:
            lines.append(
                f"the price of {', '.join(self.unpriced)} is not known and left out of the dollars: set pool.agents: "
                "price (US dollars per million tokens)"
            )
        return lines


def _price(agent: Agent) -> tuple[float, float] | None:
    read, written = (table_price(agent, *tokens) for tokens in ((PRICED_TOKENS, 0), (0, PRICED_TOKENS)))
    return None if read is None or written is None else (read / PRICED_TOKENS, written / PRICED_TOKENS)


def _question_chars(questions: Questions) -> tuple[float, float]:
    if not questions.texts:
        return QUESTION_CHARS
    mean = sum(map(len, questions.texts)) / len(questions.texts)
    return mean, mean


def _seconds(completion: Range) -> Range:
    return Range(FIRST_SECONDS + completion.low / FASTEST, FIRST_SECONDS + completion.high / SLOWEST)
