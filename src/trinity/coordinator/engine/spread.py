"""One engine a device, for a machine with several."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from trinity.coordinator.engine.base import Candidate, Counts, Engine, Reading


class Spread:
    """Engines that share the work by question, so that each keeps what its questions have in common.

    A question is read by the same engine whatever is asked beside it. On devices of one kind the states are those of a
    single engine, to the bit.

    Args:
        engines: Each with a model of its own, on the device that stands beside it.
        devices: One an engine. States come back on the first.
    """

    def __init__(self, engines: Sequence[Engine], devices: Sequence[torch.device]) -> None:
        self._engines, self._devices = list(engines), list(devices)
        self._threads = ThreadPoolExecutor(len(self._engines), thread_name_prefix="encoder")
        self._copies: list[WeakKeyDictionary[Candidate, Candidate]] = [WeakKeyDictionary() for _ in self._engines]

    @property
    def counts(self) -> Counts:
        """Of all engines together."""
        each = [engine.counts for engine in self._engines]
        return Counts(sum(counts.trunk for counts in each), sum(counts.tail for counts in each))

    def hidden(self, readings: Sequence[Reading], candidates: Sequence[Candidate]) -> Tensor:
        """See `Engine.hidden`."""

        def part(which: int, mine: list[int]) -> Tensor:
            there = [self._on(which, candidates[index]) for index in mine]
            return self._engines[which].hidden([readings[index] for index in mine], there)

        return self._shared_out(readings, part)

    def differentiable(self, readings: Sequence[Reading], candidate: Candidate) -> Tensor:
        """See `Engine.differentiable`."""

        def part(which: int, mine: list[int]) -> Tensor:
            # A copy of its own each time: gradients flow through it to the one that was given.
            there = _moved(candidate, self._devices[which])
            return self._engines[which].differentiable([readings[index] for index in mine], there)

        return self._shared_out(readings, part)

    def _shared_out(self, readings: Sequence[Reading], part: Callable[[int, list[int]], Tensor]) -> Tensor:
        of: dict[int, list[int]] = {}
        for index, reading in enumerate(readings):
            which = int.from_bytes(reading.path[0].key[:8], "big") % len(self._engines)
            of.setdefault(which, []).append(index)
        parts = list(self._threads.map(lambda each: part(*each), of.items()))
        states = torch.cat([states.to(self._devices[0]) for states in parts])
        order = torch.tensor([index for mine in of.values() for index in mine], device=self._devices[0])
        return states[order.argsort()]

    def _on(self, which: int, candidate: Candidate) -> Candidate:
        if candidate not in self._copies[which]:
            self._copies[which][candidate] = _moved(candidate, self._devices[which])
        return self._copies[which][candidate]


def _moved(candidate: Candidate, device: torch.device) -> Candidate:
    return Candidate({name: weight.to(device) for name, weight in candidate.weights.items()})
