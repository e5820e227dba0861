"""FABOLAS as Emukit has it (emukit.examples.fabolas): entropy search per predicted cost, the best of 2,000 random candidates.

Hyperparameters at their most probable values (`marginalize_hypers=False`, as in Emukit's own example): marginalized, a proposal
takes minutes. The initial design is given: as many points as its fmin starts from, Sobol, at fidelities in turn, here at shares
0, 1/4, 1/2 and 3/4 of the way to full; a third of the budget at most. FABOLAS wants data set sizes and models their logarithm:
amounts are passed on as they are, other fidelities as sizes from 10,000 to 20,000 whose logarithm is the share. Its priors expect
values and costs of order one: values are standardized and costs divided by their mean, both by those of the design. Recommends
the evaluated place with the lowest predicted value at full fidelity. One mistake of Emukit 0.5.1 is mended: covariances between
points are asked for at sizes where the model wants their logarithm, which makes the information of every candidate meaningless.
Its model of the cost is linear in the logarithm of the size and falls below zero where the cost is not; predictions are held at the
least cost of the design instead of Emukit's 1e-4, which would send every evaluation to the cheapest fidelity.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

import numpy as np
from emukit.core import ContinuousParameter, ParameterSpace
from emukit.core.loop import UserFunctionResult
from emukit.examples.fabolas import FabolasLoop
from emukit.examples.fabolas.fabolas_model import FabolasModel, transform
from emukit.model_wrappers import GPyModelWrapper

from benchmarks.peers.interface import DESIGN_SHARE, Best, Peer, sobol_design
from benchmarks.peers.problem import Params, Task

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

DESIGN = 20
DESIGN_FIDELITIES = (0.0, 0.25, 0.5, 0.75)
SIZES = (10_000.0, 20_000.0)
LEAST = 3
"""Evaluations before a model can be fitted, however soon the design has taken its share of the budget."""


def _covariance(model: FabolasModel, *points: np.ndarray) -> np.ndarray:
    """Posterior covariance between two sets of points, their sizes on the scale of the model, as it should be in Emukit."""
    scaled = [np.column_stack([p[:, :-1], transform(p[:, -1], model.s_min, model.s_max)]) for p in points]
    return GPyModelWrapper.get_covariance_between_points(model, *scaled)


FabolasModel.get_covariance_between_points = _covariance


class Fabolas(Peer):
    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        np.random.seed(seed)  # noqa: NPY002  Emukit and GPy draw from NumPy's global generator
        self._design = sobol_design(task.dimensions, seed, DESIGN)
        self._points: list[np.ndarray] = []
        self._values: list[float] = []
        self._costs: list[float] = []
        self._designed = 0
        self._begun = False
        self._loop: FabolasLoop | None = None
        self._best = Best(task)

    def propose(self) -> tuple[Params, float]:
        fidelity, n = self.task.fidelity, len(self._points)
        self._begun = True
        if self._loop is None and self._designing():
            return self.task.params(self._design[n]), fidelity.value(DESIGN_FIDELITIES[n % len(DESIGN_FIDELITIES)])
        with _silence():
            self._loop = self._begin() if self._loop is None else self._loop
            point = self._loop.get_next_points()[0]
        if fidelity.is_amount:
            level = float(round(point[-1])) if fidelity.integer else float(point[-1])
        else:
            level = fidelity.value(np.log2(point[-1] / SIZES[0]) / np.log2(SIZES[1] / SIZES[0]))
        return self.task.params(point[:-1]), level

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        self._points.append(np.append(np.clip(self.task.unit(params), 0.0, 1.0), self._size(fidelity)))
        self._values.append(value)
        self._costs.append(cost)
        self._best.take(params, fidelity, value)
        with _silence():
            if self._loop is not None:
                values, costs = self._scaled()
                result = UserFunctionResult(self._points[-1], values[-1:], cost=costs[-1:])
                self._loop.loop_state.update([result])
                self._loop._update_models()
            elif self._begun and not self._designing():
                self._loop = self._begin()

    def recommend(self) -> Params:
        if self._loop is None:
            return self._best.params
        at_full = np.array(self._points)
        at_full[:, -1] = self._size(self.task.fidelity.full)
        mean, _ = self._loop.model_updaters[0].model.predict(at_full)
        return self.task.params(at_full[np.argmin(mean), :-1])

    def _designing(self) -> bool:
        n = len(self._points)
        return n < LEAST or (n < DESIGN and sum(self._costs) < DESIGN_SHARE * self.task.budget)

    def _begin(self) -> FabolasLoop:
        self._designed = len(self._points)
        values, costs = self._scaled()
        space = ParameterSpace([ContinuousParameter(f"x{i}", 0.0, 1.0) for i in range(self.task.dimensions)])
        sizes = sorted(self._size(level) for level in (self.task.fidelity.cheap, self.task.fidelity.full))
        loop = FabolasLoop(space, np.array(self._points), values[:, None], costs, *sizes, marginalize_hypers=False)
        loop.candidate_point_calculator.acquisition.denominator.min_cost = costs.min()
        loop._update_models()  # as its run_loop does first
        return loop

    def _scaled(self) -> tuple[np.ndarray, np.ndarray]:
        """All values and costs, in the scale of those of the design."""
        values, costs = np.array(self._values), np.array(self._costs)
        designed = values[: self._designed]
        return (values - designed.mean()) / max(designed.std(), 1e-12), costs / costs[: self._designed].mean()

    def _size(self, fidelity: float) -> float:
        """The data set size that stands for a fidelity."""
        if self.task.fidelity.is_amount:
            return float(fidelity)
        return SIZES[0] * (SIZES[1] / SIZES[0]) ** self.task.fidelity.share(fidelity)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """GPy prints what it does."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield
