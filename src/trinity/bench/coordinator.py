"""The engine against a Hugging Face forward a candidate and transcript: the shape of Qwen3-0.6B, and the demo's."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trinity.bench.timing import in_turn

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from trinity.coordinator.engine.base import Candidate, Reading

ROUNDS, TIMED, COMPARED = 3, 2, 2
"""Rounds of a row; candidates whose plain forwards are timed in each, and that are compared with float32."""
HEADS = 200
"""Random heads whose choices are compared: six rows, as three agents and three roles have."""
SUFFIX = 6
"""Ids that a turn replaces."""
MEMORY = 1 << 36


@dataclass(frozen=True)
class Setting:
    """What is asked at once: candidates on one question, turn by turn.

    Attributes:
        lengths: Ids of the transcripts by turn.
        shared: The share of candidates whose transcripts are the same after the first turn; the others have their own.
        question: Which one.
    """

    candidates: int
    lengths: tuple[int, ...]
    shared: float
    question: int = 0

    def transcripts(self) -> "list[list[Reading]]":
        """By candidate, its transcripts."""
        together = round(self.shared * self.candidates)
        owners = [0 if number < together else number for number in range(self.candidates)]
        by_owner = {owner: self._grow(owner) for owner in set(owners)}
        first = next(iter(by_owner.values()))[0]
        # One question: the same reading whoever grows it.
        return [[first, *by_owner[owner][1:]] for owner in owners]

    def _grow(self, owner: int) -> "list[Reading]":
        from trinity.coordinator.engine.base import Reading
        from trinity.rng import generator

        def ids(turn: int, count: int, owner: int) -> tuple[int, ...]:
            return tuple(generator("bench", self.question, turn, owner).integers(0, VOCABULARY, count).tolist())

        readings = [Reading(ids(0, self.lengths[0], 0))]
        for turn, length in enumerate(self.lengths[1:], 1):
            kept = len(readings[-1]) - SUFFIX
            readings.append(Reading(ids(turn, length - kept, owner), readings[-1], kept))
        return readings

    def flop_limit(self) -> float:
        """How much less the linear maps compute where all that can be is shared or kept; attention is left out.

        The unit is one block at one position. The last block makes keys and values alone, 2 of the 15 parts.
        """
        layers, last = LAYERS, 2 / 15
        mine = self.transcripts()
        distinct = {reading.key: reading for transcripts in mine for reading in transcripts}
        pairs = {(number, one.key): one for number, transcripts in enumerate(mine) for one in transcripts}
        plain = sum(len(reading) for transcripts in mine for reading in transcripts) * layers
        trunk = sum(len(reading.ids) for reading in distinct.values()) * (layers - 2)
        tail = sum(len(reading.ids) for reading in pairs.values()) * (1 + last)
        return plain / (trunk + tail)


LAYERS, VOCABULARY = 28, 1000
BARS = (
    Setting(33, (300, 700), 1.0),
    Setting(8, (500, 1000), 0.5),
    Setting(8, (500, 1000), 0.0),
)
GRID = tuple(Setting(count, (300, 700), shared) for count in (1, 8, 33) for shared in (0.0, 0.5, 1.0))
LENGTHS = tuple(Setting(8, (length, 2 * length), 1.0) for length in (125, 250, 1000))
SPEC = (300, 1100, 1900, 2000, 2000)
ITERATION = Setting(33, SPEC, 0.5)
COUNTED = tuple(Setting(33, SPEC, shared) for shared in (1.0, 0.5, 0.0))


def measure(settings: Sequence[Setting] | None = None) -> dict[str, Any]:
    """One thread; bfloat16, the engine's tail in float32; rounds of both in turn, medians.

    The plain forward is timed on two candidates of each row, and multiplied: it does the same for every one. W' is
    built before for both, and for the plain forward loaded into the model once a candidate. Seeded weights at the shape
    of Qwen3-0.6B but for its vocabulary, which plays no part here.

    Args:
        settings: In place of all that is measured by default.
    """
    from trinity.coordinator.threads import use_threads

    use_threads(1)
    models = _Models.build()
    whole = settings is None
    rows = [_row(models, setting) for setting in (settings or _default())]
    figures: dict[str, Any] = {"encoder": "seeded weights, shape of Qwen3-0.6B", "rows": rows}
    if whole:
        figures |= _tiny() | _scarce(models)
        figures["spec: 33 candidates, m 16, K 5, by counting"] = ", ".join(
            f"{setting.flop_limit():.1f} at {setting.shared:.0%}" for setting in COUNTED
        )
    return figures


def _scarce(models: "_Models") -> dict[str, Any]:
    """The engine with a quarter of the bytes that it would keep, on four questions of eight candidates each."""
    from trinity.coordinator.engine.shared import SharedTrunk

    questions = [Setting(8, (250, 500, 750), 0.5, question) for question in range(4)]
    transcripts = [mine for setting in questions for mine in setting.transcripts()]
    candidates = models.candidates[:8] * len(questions)

    def run(memory: int) -> "tuple[float, SharedTrunk]":
        made = SharedTrunk(models.rounded, memory)
        seconds = sum(
            _seconds(lambda turn=turn: made.hidden([mine[turn] for mine in transcripts], candidates))  # type: ignore[misc]
            for turn in range(3)
        )
        return seconds, made

    plenty, full = run(MEMORY)
    scarce, quarter = run(full.kept_bytes // 4)
    return {
        "with a quarter of the memory": f"{scarce / plenty:.2f} times the time, {quarter.counts.trunk:,} trunk and "
        f"{quarter.counts.tail:,} tail tokens in place of {full.counts.trunk:,} and {full.counts.tail:,} "
        f"({full.kept_bytes / 1e6:,.0f} MB; 32 transcripts of 8 candidates on 4 questions, 3 turns to 750 tokens)"
    }


def _default() -> list[Setting]:
    return list(dict.fromkeys((*BARS, *GRID, *LENGTHS, ITERATION)))


@dataclass(frozen=True, eq=False)
class _Models:
    exact: "nn.Module"
    rounded: "nn.Module"
    candidates: "list[Candidate]"

    @classmethod
    def build(cls) -> "_Models":
        import torch
        from transformers import Qwen3Config, Qwen3Model

        from trinity.coordinator.engine.reference import blocks
        from trinity.coordinator.svf import Svf
        from trinity.rng import generator

        config = Qwen3Config(
            vocab_size=VOCABULARY, hidden_size=1024, intermediate_size=3072, num_hidden_layers=LAYERS,
            num_attention_heads=16, num_key_value_heads=8, head_dim=128, attn_implementation="sdpa",
        )  # fmt: skip
        torch.manual_seed(0)
        rounded = Qwen3Model(config).to(torch.bfloat16).eval().requires_grad_(False)
        exact = Qwen3Model(config).eval().requires_grad_(False)
        exact.load_state_dict(rounded.state_dict())
        svf = Svf(blocks(rounded)[1][-2])
        scales = 1 + 0.1 * generator("bench", "scales").standard_normal((33, sum(svf.counts.values())))
        with torch.no_grad():
            candidates = [svf.candidate(torch.from_numpy(one)) for one in scales]
        return cls(exact, rounded, candidates)


def _row(models: _Models, setting: Setting) -> dict[str, Any]:
    import torch

    from trinity.coordinator.engine.shared import SharedTrunk

    transcripts = setting.transcripts()
    candidates = models.candidates[: setting.candidates]
    turns = range(len(setting.lengths))

    def engine() -> "tuple[SharedTrunk, list[Tensor]]":
        made = SharedTrunk(models.rounded, MEMORY)
        return made, [made.hidden([mine[turn] for mine in transcripts], candidates) for turn in turns]

    def plain(number: int) -> None:
        with torch.no_grad():
            _load(models.rounded, candidates[number])
            for reading in transcripts[number]:
                models.rounded(torch.tensor([reading.whole]), use_cache=False)

    timed = range(min(TIMED, setting.candidates))
    ours, rivals, peaks = [], [], []
    for _ in range(ROUNDS if setting in BARS else 1):
        _load(models.rounded, None)
        gc.collect()
        before = _peak(reset=True)
        start = time.perf_counter()
        made, states = engine()
        ours.append(time.perf_counter() - start)
        peaks.append(_peak() - before)
        rivals += [_seconds(lambda number=number: plain(number)) for number in timed]  # type: ignore[misc]
    _load(models.rounded, None)
    difference, agreement = _compare(models, setting, states)
    mine, rival = statistics.median(ours), statistics.median(rivals) * setting.candidates
    return {
        "candidates": setting.candidates,
        "shared": setting.shared,
        "tokens": setting.lengths[-1],
        "turns": len(setting.lengths),
        "ratio": round(rival / mine, 2),
        "flop_limit": round(setting.flop_limit(), 2),
        "max_rel_diff_fp32": round(difference, 4),
        "argmax_agreement": round(agreement, 4),
        "peak_mb": round(max(peaks) / 1e6),
        "kept_mb": round(made.kept_bytes / 1e6),
        "engine_s": round(mine, 2),
        "forward_s": round(rival, 2),
        "trunk_tokens": made.counts.trunk,
        "tail_tokens": made.counts.tail,
    }


def _compare(models: _Models, setting: Setting, states: "Sequence[Tensor]") -> tuple[float, float]:
    """The largest relative difference of a state from float32, and how often random heads choose the same."""
    import numpy as np

    from trinity.coordinator.engine.reference import PlainForward
    from trinity.rng import generator

    plain = PlainForward(models.exact)
    transcripts = setting.transcripts()
    heads = generator("bench", "heads").standard_normal((HEADS, 6, states[0].shape[1]))
    worst, same, asked = 0.0, 0, 0
    for number in range(min(COMPARED, setting.candidates)):
        for turn in (0, len(setting.lengths) - 1):
            exact = plain.hidden([transcripts[number][turn]], [models.candidates[number]])[0].double().numpy()
            ours = states[turn][number].double().numpy()
            worst = max(worst, float(np.linalg.norm(ours - exact) / np.linalg.norm(exact)))
            for first, second in zip(_choices(heads, ours), _choices(heads, exact), strict=True):
                same, asked = same + int((first == second).sum()), asked + len(first)
    return worst, same / asked


def _choices(heads: "np.ndarray", state: "np.ndarray") -> "tuple[np.ndarray, np.ndarray]":
    """Agents and roles that random heads choose."""
    logits = heads @ state
    return logits[:, :3].argmax(axis=1), logits[:, 3:].argmax(axis=1)


_OWN: "dict[str, Tensor]" = {}


def _load(model: "nn.Module", candidate: "Candidate | None") -> None:
    """Puts a candidate's weights into the model, or its own back."""
    from trinity.coordinator.engine.reference import blocks

    block = blocks(model)[1][-2]
    for name, module in block.named_modules():
        if f"{name}.weight" not in dict(block.named_parameters()) or "norm" in name:
            continue
        own = _OWN.setdefault(name, module.weight.data.clone())
        module.weight.data.copy_(own if candidate is None else candidate.weights[name])


def _tiny() -> dict[str, Any]:
    """One candidate on the encoder of params.yaml."""
    from trinity.config import load_config
    from trinity.coordinator.slm import load_encoder
    from trinity.rng import generator
    from trinity.types import Transcript

    encoder = load_encoder(load_config().slm)
    transcripts = [Transcript(f"Question {number}: " + "how much is seven times six? " * 6) for number in range(24)]
    scales = 1 + 0.1 * generator("bench").standard_normal(sum(encoder.svf_counts.values()))

    def shared() -> object:
        candidate = encoder.candidate(scales)  # a new one each round: nothing of it is kept
        return encoder.adapted(transcripts, [candidate] * len(transcripts))

    def alone() -> object:
        return encoder.compute(transcripts, encoder.candidate(scales))

    ours, rival = in_turn(shared, alone)
    return {"demo encoder, 1 candidate": encoder.name, "its ratio": round(rival / ours, 2)}


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _peak(*, reset: bool = False) -> int:
    """The most bytes of memory that this process had since the last reset; 0 where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    if reset:
        # What was freed before counts again when it is used.
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)(0)
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
