"""The parameter vector theta = (head W, singular-value scales): its layout, and a trained one on disk."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from trinity.coordinator.features import Features, Kind
from trinity.coordinator.head import role_rows
from trinity.coordinator.slm import Encoder
from trinity.errors import ConfigError, DataError
from trinity.types import Role

FORMAT = 1
TENSORS, LAYOUT = "theta.safetensors", "layout.json"


@dataclass(frozen=True)
class ThetaLayout:
    """What stands where in theta (spec section 3.4): W row by row, then the scales matrix by matrix.

    Attributes:
        agents: Names, in the order of the head's first rows.
        roles: In the order of its last rows; a single role has no row.
        hidden_size: Columns of the head.
        svf: Scaled matrices and their counts, in order; empty when SVF is off.
    """

    agents: tuple[str, ...]
    roles: tuple[Role, ...]
    hidden_size: int
    svf: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, encoder: Encoder, agents: Sequence[str], roles: Sequence[Role], svf: bool) -> "ThetaLayout":
        """The layout for an encoder, with its counts where SVF is on.

        Raises:
            ConfigError: SVF is on and the encoder's second-to-last block has no linear matrices.
        """
        counts = tuple(encoder.svf_counts.items()) if svf else ()
        if svf and not counts:
            raise ConfigError(f"svf.enabled: {encoder.name} has no linear matrices in its second-to-last block")
        return cls(tuple(agents), tuple(roles), encoder.hidden_size, counts)

    @property
    def head_shape(self) -> tuple[int, int]:
        """Rows (agents, then roles) and columns of W."""
        return len(self.agents) + role_rows(self.roles), self.hidden_size

    @property
    def head_size(self) -> int:
        """Weights of the head: theta[:head_size] is W."""
        rows, columns = self.head_shape
        return rows * columns

    @property
    def n(self) -> int:
        """Length of theta."""
        return self.head_size + sum(count for _, count in self.svf)

    def start(self) -> np.ndarray:
        """W = 0 and scales of 1: uniform choices of the unchanged encoder."""
        return self.pack(np.zeros(self.head_shape), np.ones(self.n - self.head_size))

    def pack(self, weight: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Theta, [n] float64, of W [rows, d] and the scales [sum of counts]."""
        if weight.shape != self.head_shape or scales.shape != (self.n - self.head_size,):
            raise ValueError(
                f"theta: expected W {self.head_shape} and {self.n - self.head_size} scales, "
                f"got {weight.shape} and {scales.shape}"
            )
        return np.concatenate([weight.ravel(), scales]).astype(np.float64)

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W [rows, d] and the scales [sum of counts] of theta [n]."""
        if theta.shape != (self.n,):
            raise ValueError(f"theta: expected {self.n} numbers, got shape {theta.shape}")
        return theta[: self.head_size].reshape(self.head_shape), theta[self.head_size :]

    def check(self, encoder: Encoder) -> None:
        """Asserts the layout's counts against the loaded model (spec section 0.3.1).

        Raises:
            ConfigError: hidden size, or the names or counts of the scaled matrices, differ.
        """
        if encoder.hidden_size != self.hidden_size:
            raise ConfigError(
                f"theta: made for hidden size {self.hidden_size}, but {encoder.name} has {encoder.hidden_size}"
            )
        counts = tuple(encoder.svf_counts.items())
        if self.svf and counts != self.svf:
            raise ConfigError(f"theta: made for scales {dict(self.svf)}, but {encoder.name} has {dict(counts)}")


@dataclass(frozen=True, eq=False)
class Coordinator:
    """A trained coordinator and all that must agree before it may decide.

    Attributes:
        theta: [n].
        encoder: Name of the encoder in params.yaml.
        fingerprint: Of the encoder.
        method: The optimiser that made it.
        task: What it was trained on.
        seed: Of the training.
    """

    theta: np.ndarray
    layout: ThetaLayout
    features: Features
    encoder: str
    fingerprint: str
    method: str
    task: str
    seed: int


def save_coordinator(directory: Path, coordinator: Coordinator) -> None:
    """Writes theta.safetensors (head.weight, svf.NAME, features.mean) and layout.json; same input, same bytes."""
    from safetensors.numpy import save_file

    layout = coordinator.layout
    weight, scales = layout.unpack(coordinator.theta)
    tensors = {"head.weight": weight}
    ends = np.cumsum([count for _, count in layout.svf])
    for (name, count), end in zip(layout.svf, ends, strict=True):
        tensors[f"svf.{name}"] = scales[end - count : end]
    if coordinator.features.mean is not None:
        tensors["features.mean"] = coordinator.features.mean
    described = {
        "format": FORMAT,
        "n": layout.n,
        "head": list(layout.head_shape),
        "svf": [[name, count] for name, count in layout.svf],
        "agents": list(layout.agents),
        "roles": [role.value for role in layout.roles],
        "features": coordinator.features.kind,
        "encoder": {"name": coordinator.encoder, "fingerprint": coordinator.fingerprint},
        "method": coordinator.method,
        "task": coordinator.task,
        "seed": coordinator.seed,
    }
    directory.mkdir(parents=True, exist_ok=True)
    contiguous = {name: np.ascontiguousarray(tensor, dtype=np.float64) for name, tensor in tensors.items()}
    save_file(contiguous, directory / TENSORS)
    (directory / LAYOUT).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def load_coordinator(
    directory: Path, encoder: Encoder | None = None, agents: Sequence[str] | None = None
) -> Coordinator:
    """Reads a saved coordinator and checks its parts against each other, and against what is given.

    Args:
        directory: Holds theta.safetensors and layout.json.
        encoder: The loaded encoder that it will decide with.
        agents: The pool that it will decide among.

    Raises:
        DataError: a file is absent, of an unknown format, or its parts disagree.
        ConfigError: it was trained with another encoder or for other agents.
    """
    described = _described(directory / LAYOUT)
    tensors = _tensors(directory / TENSORS)
    try:
        layout = ThetaLayout(
            tuple(described["agents"]),
            tuple(Role(role) for role in described["roles"]),
            int(described["head"][1]),
            tuple((str(name), int(count)) for name, count in described["svf"]),
        )
        kind: Kind = described["features"]
        if kind not in get_args(Kind) or list(layout.head_shape) != described["head"] or layout.n != described["n"]:
            raise ValueError("features, head, roles and n disagree")
        scales = [tensors.pop(f"svf.{name}") for name, _ in layout.svf]
        if [len(part) for part in scales] != [count for _, count in layout.svf]:
            raise ValueError("its scales are not those of theta.safetensors")
        theta = layout.pack(tensors.pop("head.weight"), np.concatenate([*scales, np.empty(0)]))
        mean = tensors.pop("features.mean", None)
        if tensors or (mean is not None and mean.shape != (layout.hidden_size,)) or not np.isfinite(theta).all():
            raise ValueError(f"{TENSORS} holds other tensors, a mean of another length, or numbers that are not finite")
        features = Features(kind, mean)
        source = described["encoder"]
        coordinator = Coordinator(
            theta,
            layout,
            features,
            source["name"],
            source["fingerprint"],
            described["method"],
            described["task"],
            described["seed"],
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{directory / LAYOUT}: not a usable coordinator: {reason}; train it again") from None
    if encoder is not None:
        if encoder.fingerprint != coordinator.fingerprint:
            raise ConfigError(
                f"{directory}: trained with encoder {coordinator.encoder} ({coordinator.fingerprint[:12]}), "
                f"not {encoder.name} ({encoder.fingerprint[:12]}): use the slm section it was trained with, or retrain"
            )
        layout.check(encoder)
    if agents is not None and tuple(agents) != layout.agents:
        raise ConfigError(
            f"{directory}: trained for agents {', '.join(layout.agents)}, not {', '.join(agents)}: "
            "use that pool, or retrain"
        )
    return coordinator


def _described(path: Path) -> dict[str, Any]:
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}): train the coordinator first") from None
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        found = described.get("format") if isinstance(described, dict) else None
        raise DataError(f"{path}: unknown format {found!r}, this version reads {FORMAT}: train it again")
    return described


def _tensors(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: cannot be read ({error}): train the coordinator first") from None
