"""Optuna's GPSampler and TPESampler with their defaults (ten random trials first), at full fidelity: neither chooses a fidelity."""

from __future__ import annotations

import warnings

import optuna
import torch  # noqa: F401  GPSampler would load it in its first proposal, and be charged for that

from benchmarks.peers.interface import Peer
from benchmarks.peers.problem import Params, Task

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


class Optuna(Peer):
    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        kinds = {"real": optuna.distributions.FloatDistribution, "integer": optuna.distributions.IntDistribution}
        self._distributions = {axis.name: kinds[axis.kind](axis.low, axis.high, log=axis.log) for axis in task.axes}
        self._study = optuna.create_study(sampler=self.sampler(seed))
        self._trial: optuna.Trial | None = None

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        raise NotImplementedError

    def propose(self) -> tuple[Params, float]:
        self._trial = self._study.ask(self._distributions)
        return self._trial.params, self.task.fidelity.full

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        if self._trial is None:
            given = optuna.trial.create_trial(params=params, distributions=self._distributions, value=value)
            self._study.add_trial(given)
            return
        self._study.tell(self._trial, value)

    def recommend(self) -> Params:
        return self._study.best_params


class GP(Optuna):
    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        return optuna.samplers.GPSampler(seed=seed)


class TPE(Optuna):
    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        return optuna.samplers.TPESampler(seed=seed)
