"""The paper's figures (arXiv 2512.04695 v3) that are printed beside ours: a pool of seven, its own benchmarks."""

from collections.abc import Mapping

BENCHMARKS = ("LiveCodeBench", "MATH500", "MMLU", "RLPR")

# Table 4: accuracy by optimiser.
OPTIMISERS: Mapping[str, tuple[float, float, float, float]] = {
    "cma": (0.615, 0.880, 0.916, 0.401),
    "sft": (0.592, 0.786, 0.906, 0.360),
    "rs": (0.374, 0.794, 0.897, 0.345),
    "reinforce": (0.253, 0.459, 0.500, 0.266),
}

# Table 9: mean output tokens of TRINITY.
OUTPUT_TOKENS = (1999, 2853, 1200, 2141)
