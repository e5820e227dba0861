"""SMAC: MultiFidelityFacade, a random forest in Hyperband with eta 3.

Defaults, with a deterministic objective unless the task has noise. It brings a design of its own, whose size SMAC caps at a
quarter of the number of trials it is told to expect: 2.5 times the full evaluations that the budget buys (what a round of
Hyperband with budgets 1/9, 1/3 and 1 evaluates for their price). Hyperband's budget is the fidelity itself where that is an amount
(rows, epochs, trees), from 1/27 of full at the least; otherwise the share of the way from cheap to full, from 1/9.
"""

from __future__ import annotations

import logging
import math
import tempfile
from pathlib import Path

from ConfigSpace import Configuration, ConfigurationSpace, Float, Integer
from smac import MultiFidelityFacade, Scenario
from smac.runhistory import TrialInfo, TrialValue

from benchmarks.peers.interface import Best, Peer
from benchmarks.peers.problem import Params, Task

ETA = 3
TRIALS_PER_FULL = 2.5
LEAST_SHARE = 1.0 / 9.0
LEAST_AMOUNT = 1.0 / 27.0


class MultiFidelity(Peer):
    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        self._space = ConfigurationSpace(seed=seed)
        kinds = {"real": Float, "integer": Integer}
        for axis in task.axes:
            self._space.add(kinds[axis.kind](axis.name, (axis.low, axis.high), log=axis.log))
        self._folder = tempfile.TemporaryDirectory()
        self._known: list[tuple[TrialInfo, TrialValue]] = []
        self._smac: MultiFidelityFacade | None = None
        self._trial: TrialInfo | None = None
        self._best = Best(task)

    def propose(self) -> tuple[Params, float]:
        if self._smac is None:
            self._smac = self._begin()
        self._trial = self._smac.ask()
        return dict(self._trial.config), self._fidelity(self._trial.budget)

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        self._best.take(params, fidelity, value)
        told = TrialValue(cost=value, time=cost)
        if self._smac is None:
            trial = TrialInfo(Configuration(self._space, params), seed=0, budget=self._budget(fidelity))
            self._known.append((trial, told))
        else:
            self._smac.tell(self._trial, told, save=False)

    def recommend(self) -> Params:
        incumbents = self._smac.intensifier.get_incumbents() if self._smac is not None else []
        return dict(incumbents[0]) if incumbents else self._best.params

    def _begin(self) -> MultiFidelityFacade:
        """SMAC with what is known; its own design where nothing is."""
        trials = TRIALS_PER_FULL * self.task.budget / self.task.full_cost
        scenario = Scenario(
            self._space,
            name="run",
            output_directory=Path(self._folder.name),
            deterministic=self.task.noise == 0.0,
            n_trials=max(round(trials), 8),
            seed=self.seed,
            **self._budgets(),
        )
        design = MultiFidelityFacade.get_initial_design(scenario, n_configs=0) if self._known else None
        smac = MultiFidelityFacade(scenario, None, initial_design=design, overwrite=True, logging_level=logging.ERROR)
        for trial, told in self._known:
            smac.tell(trial, told, save=False)
        return smac

    def _budgets(self) -> dict[str, float]:
        fidelity = self.task.fidelity
        if fidelity.is_amount:
            return {"min_budget": max(fidelity.cheap, fidelity.full * LEAST_AMOUNT), "max_budget": fidelity.full}
        return {"min_budget": LEAST_SHARE, "max_budget": 1.0}

    def _fidelity(self, budget: float | None) -> float:
        """The task's fidelity for a budget of Hyperband."""
        fidelity = self.task.fidelity
        if budget is None:
            return fidelity.full
        if fidelity.is_amount:
            return float(round(budget)) if fidelity.integer else float(budget)
        return fidelity.value(budget)

    def _budget(self, fidelity: float) -> float:
        """The budget of Hyperband that is nearest to a fidelity."""
        least, most = self._budgets().values()
        wanted = fidelity if self.task.fidelity.is_amount else max(self.task.fidelity.share(fidelity), LEAST_SHARE)
        return most / ETA ** min(round(math.log(most / wanted, ETA)), math.floor(math.log(most / least, ETA) + 1e-9))
