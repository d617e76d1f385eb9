"""The rules of an episode: what a decision asks of the pool, and what its reply does to the transcript."""

from dataclasses import dataclass, replace

from trinity.config import Config
from trinity.roles.postprocess import cap
from trinity.roles.prompts import RolePrompts, load_prompts
from trinity.roles.verifier import parse_verdict
from trinity.types import Decision, Decoding, Request, RequestMeta, Response, Role, Transcript, Turn, Verdict


@dataclass(frozen=True)
class EpisodeRules:
    """One turn of spec section 4.2, without the policy and the pool."""

    agents: tuple[str, ...]
    roles: tuple[Role, ...]
    prompts: RolePrompts
    max_turns: int
    decoding: Decoding
    max_output_chars: int

    def request(self, item_id: str, transcript: Transcript, decision: Decision, sample_index: int) -> Request:
        """The call that a decision makes."""
        return Request(
            agent=self.agents[decision.agent],
            messages=self.prompts.messages(decision.role, transcript),
            decoding=self.decoding,
            sample_index=sample_index,
            meta=RequestMeta(item_id, decision.role),
        )

    def advance(self, transcript: Transcript, decision: Decision, response: Response) -> Transcript:
        """Post-processes a reply and appends it.

        A Verifier's ACCEPT before any Worker has spoken counts as REVISE (spec section 0.3.5).
        """
        verdict = None
        if decision.role is Role.VERIFIER:
            verdict = parse_verdict(response.text) if transcript.latest_work else Verdict.REVISE
        return transcript.append(Turn(decision, response, cap(response.text, self.max_output_chars), verdict))

    def finished(self, transcript: Transcript) -> bool:
        """Whether the Verifier accepted or the horizon is reached."""
        turns = transcript.turns
        return len(turns) >= self.max_turns or bool(turns and turns[-1].verdict is Verdict.ACCEPT)

    def single_call(self, factor: int = 1) -> "EpisodeRules":
        """The same rules for one Worker call with `factor` times the tokens (BASELINES: single model)."""
        tokens = self.decoding.max_tokens
        decoding = replace(self.decoding, max_tokens=tokens and tokens * factor)
        return replace(self, max_turns=1, decoding=decoding)


def make_rules(config: Config) -> EpisodeRules:
    """The rules that params.yaml asks for."""
    episode = config.episode
    return EpisodeRules(
        agents=config.agents,
        roles=tuple(episode.roles),
        prompts=load_prompts(config.roles.prompts),
        max_turns=episode.max_turns,
        decoding=Decoding(episode.max_tokens, episode.temperature, episode.top_p),
        max_output_chars=config.roles.max_output_chars,
    )
