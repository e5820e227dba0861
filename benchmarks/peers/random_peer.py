"""Uniformly random points at full fidelity; recommends the best it saw."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.interface import Best, Peer
from benchmarks.peers.problem import Params, Task


class Random(Peer):
    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        self._rng = np.random.default_rng([seed, 4])
        self._best = Best(task)

    def propose(self) -> tuple[Params, float]:
        return self.task.params(self._rng.random(self.task.dimensions)), self.task.fidelity.full

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        self._best.take(params, fidelity, value)

    def recommend(self) -> Params:
        return self._best.params
