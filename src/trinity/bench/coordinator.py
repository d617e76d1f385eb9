"""States of a population on shared transcripts: the engine against one Hugging Face forward a pair."""

from typing import Any

from trinity.bench.timing import in_turn

CANDIDATES, TRANSCRIPTS = 21, 24


def measure() -> dict[str, Any]:
    """On the encoder of params.yaml, one thread, rounds of both in turn; medians."""
    import numpy as np

    from trinity.config import load_config
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.threads import use_threads
    from trinity.rng import generator

    use_threads(1)
    config = load_config()
    encoder = load_encoder(config.slm)
    texts = [f"Question {number}: " + "how much is seven times six? " * 6 for number in range(TRANSCRIPTS)]
    count = sum(encoder.svf_counts.values())
    scales = 1 + 0.1 * generator("bench").standard_normal((CANDIDATES, count))
    owner = [candidate for candidate in range(CANDIDATES) for _ in texts]

    def shared() -> np.ndarray:
        return encoder.adapted_many(texts * CANDIDATES, owner, scales)

    def alone() -> np.ndarray:
        return np.concatenate([encoder.compute(texts, candidate) for candidate in scales])

    difference = float(np.abs(shared() - alone()).max() / np.abs(alone()).max())
    ours, rival = in_turn(shared, alone)
    return {
        "encoder": encoder.name,
        "candidates": CANDIDATES,
        "transcripts": TRANSCRIPTS,
        "tokens": sum(len(encoder.ids(text)) for text in texts) // len(texts),
        "engine_ms": round(1000 * ours, 1),
        "forward_ms": round(1000 * rival, 1),
        "ratio": round(rival / ours, 2),
        "max_rel_diff": float(f"{difference:.1e}"),
    }
