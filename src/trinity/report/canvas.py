"""The look of the figures, and PNG files whose bytes depend on the figures alone."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

# Okabe and Ito's palette: told apart with any common colour blindness.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW = "#CC79A7", "#56B4E9", "#F0E442"
INK, GREY, PALE = "#222222", "#8A8A8A", "#E4E4E4"
WIDTH = 9.0  # inches: at DPI, half as much again as a README shows
DPI = 150
LINE_CHARACTERS, KEY_CHARACTERS = 125, 7  # of legend text across the width; what a key's line or box takes of them

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


@contextmanager
def style() -> Iterator[None]:
    """Our look over matplotlib's own defaults, whatever a user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def panels(count: int, title: str, heights: Sequence[float], columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels under one title, by rows; `heights` in inches, one a row."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, hspace=0.04, wspace=0.04)
    figure = Figure(figsize=(WIDTH, sum(heights[:rows]) + 0.9), dpi=DPI, layout=layout)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    grid = figure.subplots(rows, columns, squeeze=False, height_ratios=list(heights[:rows]))
    axes = [axis for row in grid for axis in row]
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def legend(figure: Figure, keys: Sequence[Artist]) -> None:
    """One legend under all panels, in as many columns as fit."""
    lengths = [len(str(key.get_label())) + KEY_CHARACTERS for key in keys]
    fits = sum(lengths) <= LINE_CHARACTERS
    columns = len(keys) if fits else max(1, LINE_CHARACTERS // max(lengths))
    figure.legend(handles=keys, loc="outside lower center", ncols=columns)


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG without the names and dates that matplotlib puts in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", metadata={"Software": None})
