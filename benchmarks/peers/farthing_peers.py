"""farthing: EnvPES, which chooses the fidelity, and its own EI at full fidelity. Default settings; thinking costs what it takes."""

from __future__ import annotations

import scipy.linalg
import scipy.special  # noqa: F401  farthing would load these in its first proposal, and be charged for that
import threadpoolctl  # noqa: F401

import farthing as ft
from benchmarks.peers.interface import Peer
from benchmarks.peers.problem import Params, Task


class Farthing(Peer):
    method: str

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        kinds = {"real": ft.Real, "integer": ft.Integer}
        fidelity = task.fidelity
        self._study = ft.Study(
            {axis.name: kinds[axis.kind](axis.low, axis.high, log=axis.log) for axis in task.axes},
            fidelity=ft.Fidelity(fidelity.name, fidelity.cheap, fidelity.full, log=fidelity.log, integer=fidelity.integer),
            budget=task.budget,
            method=self.method,
            seed=seed,
            settings=ft.Settings(overhead_price=task.speed),
        )
        self._trial: ft.Trial | None = None

    def propose(self) -> tuple[Params, float]:
        self._trial = self._study.ask()
        return self._trial.params, self._trial.fidelity

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        if self._trial is None:
            self._study.add(params, value, fidelity=fidelity, cost=cost)
            return
        self._study.tell(self._trial, value, cost=cost)
        # Beliefs are kept for the next ask: formed here, they are charged, and `recommend` saves nothing.
        self._study.recommend()

    def recommend(self) -> Params:
        return self._study.recommend().params

    @property
    def kind(self) -> str | None:
        return None if self._trial is None else self._trial.proposal.kind


class EnvPES(Farthing):
    method = "envpes"


class EI(Farthing):
    method = "ei"
