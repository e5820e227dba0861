"""BOCA as Dragonfly has it, by `minimise_multifidelity_function` with its defaults.

Dragonfly runs the loop itself (its ask and tell never refit the model), so it runs in a thread whose objective hands every query
over and waits for the answer. Capital is counted in full evaluations, the typical cost of a fidelity told. Its own Latin design
takes what its defaults make of such a capital: five of them, or a little more. x and the share of the fidelity are unit
coordinates; integers are rounded when evaluated. Recommends, as Dragonfly does, the best value seen at full fidelity; before there
is one, when Dragonfly has nothing to say, the best seen at any.
"""

from __future__ import annotations

import queue
import threading
import warnings
from argparse import Namespace
from collections.abc import Callable

import numpy as np

from benchmarks.peers.interface import Best, Peer
from benchmarks.peers.problem import Params, Task

warnings.filterwarnings("ignore")  # that it lacks its Fortran code

DROPPED = {"int": int, "float": float, "object": object, "NaN": np.nan}
"""Names that NumPy has dropped and Dragonfly 0.1.7 still uses."""

ENDLESS = 1e6
"""Capital: the run is ended from outside."""


def _minimizer() -> Callable[..., object]:
    for name, value in DROPPED.items():
        if name not in vars(np):
            setattr(np, name, value)
    from dragonfly import minimise_multifidelity_function

    return minimise_multifidelity_function


class BOCA(Peer):
    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        self._minimize = _minimizer()
        np.random.seed(seed)  # noqa: NPY002  Dragonfly draws from NumPy's global generator
        self._queries: queue.Queue = queue.Queue()
        self._answers: queue.Queue[float] = queue.Queue()
        self._answer = np.nan
        self._known: list[Namespace] = []
        self._thread: threading.Thread | None = None
        self._best = Best(task)

    def propose(self) -> tuple[Params, float]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._optimize, daemon=True)
            self._thread.start()
        else:
            self._answers.put(self._answer)  # not before: it would think while nobody counts
        query = self._queries.get()
        if isinstance(query, BaseException):
            raise query
        share, unit = query
        return self.task.params(np.clip(unit, 0.0, 1.0)), self.task.fidelity.value(share)

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        self._best.take(params, fidelity, value)
        if self._thread is None:
            share = [self.task.fidelity.share(fidelity)]
            self._known.append(Namespace(point=self.task.unit(params), fidel=share, val=-value, true_val=-value))
        else:
            self._answer = value

    def recommend(self) -> Params:
        return self._best.params

    def _optimize(self) -> None:
        def objective(fidelity: list[float], unit: list[float]) -> float:
            self._queries.put((float(fidelity[0]), np.array(unit)))
            return self._answers.get()

        def cost(fidelity: list[float]) -> float:
            return self.task.typical_cost(self.task.fidelity.value(float(fidelity[0]))) / self.task.full_cost

        capital = self.task.budget / self.task.full_cost
        # Dragonfly's default for this capital, which is not the one that it is given.
        options = Namespace(init_capital=np.clip(5 * self.task.dimensions, max(5.0, 0.025 * capital), max(5.0, 0.075 * capital)))
        if self._known:
            options.prev_evaluations = Namespace(qinfos=self._known)
        square = [[0.0, 1.0]]
        try:
            self._minimize(
                objective, square, square * self.task.dimensions, [1.0], cost, ENDLESS, options=options, reporter="silent"
            )
        except BaseException as error:
            self._queries.put(error)
