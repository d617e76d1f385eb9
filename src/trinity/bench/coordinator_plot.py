"""The picture of `trinity bench coordinator`: ratio by candidates and shared transcripts, and by length."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D

from trinity.report.canvas import BLUE, GREEN, GREY, ORANGE, legend, panels, save, style

COLOURS = {1.0: BLUE, 0.5: ORANGE, 0.0: GREEN}


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """Writes a PNG of the rows that `measure` gives by default."""
    rows = figures["rows"]
    by_candidates = [row for row in rows if row["tokens"] == 700]
    by_length = sorted(
        (row for row in rows if row["candidates"] == 8 and row["shared"] == 1.0 and row["turns"] == 2),
        key=lambda row: row["tokens"],
    )
    with style():
        figure, (left, right) = panels(2, "The engine against one forward a candidate and transcript", [3.2])
        for share, colour in COLOURS.items():
            mine = sorted((row for row in by_candidates if row["shared"] == share), key=lambda row: row["candidates"])
            candidates = [row["candidates"] for row in mine]
            left.plot(candidates, [row["ratio"] for row in mine], color=colour, marker="o")
            left.plot(candidates, [row["flop_limit"] for row in mine], color=colour, linestyle=":")
        left.set(title="300, then 700 tokens", xlabel="candidates", ylabel="times as fast", xscale="log", yscale="log")
        left.set_xticks([1, 8, 33], ["1", "8", "33"])
        left.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        lengths = [row["tokens"] for row in by_length]
        for name, colour in (("engine_s", BLUE), ("forward_s", GREY)):
            right.plot(lengths, [row[name] for row in by_length], color=colour, marker="o")
        right.set(title="8 candidates, all shared", xlabel="tokens of the second transcript", ylabel="seconds")
        right.set(xscale="log", yscale="log")
        right.set_xticks(lengths, [f"{length:,}" for length in lengths])
        right.minorticks_off()
        left.minorticks_off()
        keys = [
            *(
                Line2D([], [], color=colour, marker="o", label=f"{share:.0%} shared")
                for share, colour in COLOURS.items()
            ),
            Line2D([], [], color=GREY, linestyle=":", label="limit by FLOP"),
            Line2D([], [], color=GREY, marker="o", label="one forward each"),
        ]
        legend(figure, keys)
        save(figure, path)
