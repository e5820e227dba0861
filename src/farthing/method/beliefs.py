"""Beliefs: what a history says of the objective, of its minima, and of what evaluations and thinking cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farthing.method.cost import CostModel, fit_cost
from farthing.method.effort import LIGHT, LIGHT_KNOWN, NORMAL
from farthing.method.feasibility import Feasibility, fit_feasibility
from farthing.method.local_minima import LocalMinima, find_local_minima
from farthing.method.overhead import Overhead, scheduled_overhead
from farthing.method.situation import Situation
from farthing.method.streams import stream
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.methods import FABOLAS
from farthing.trials import History, thinning

COSTS = {NORMAL: 256, LIGHT: 64}
"""Trials from which costs are learned at the most."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed at one history: of the objective, where its minima may be, and what evaluations and thinking cost.

    thinning: one in so many trials is what the cost was learned from. Kept in memory to save work; a process without it comes to
    the same beliefs.
    """

    surrogate: Surrogate
    minima: LocalMinima
    cost: CostModel
    thinning: int
    overhead: Overhead
    feasibility: Feasibility | None


def believe(situation: Situation, previous: Beliefs | None = None) -> Beliefs:
    """Surrogate, local minima and cost for a history with at least one observation.

    `previous`, beliefs at the same level of effort, saves work and changes nothing.
    """
    history, settings, effort = situation.history, situation.settings, situation.effort
    most = None if effort == NORMAL else LIGHT_KNOWN
    regression = isinstance(situation.method, FABOLAS) and situation.method.kernel == "original"
    known = previous.surrogate if previous else None
    surrogate = fit_surrogate(history, settings, situation.seed, known, effort, most, regression)
    stride = thinning(len(history.trials), COSTS[effort])
    if effort == NORMAL or history.with_fidelity:
        same = previous is not None and previous.thinning == stride
        learned = previous.cost if previous is not None and same else None
        cost = fit_cost(history.thinned(COSTS[effort]), settings.growth, learned, regression)
    else:
        cost = _level_cost(history)
    overhead = scheduled_overhead(history, situation.effort, previous.overhead if previous else None)
    if previous is not None and surrogate is previous.surrogate and len(history.failed) == _failures(previous):
        return replace(previous, cost=cost, thinning=stride, overhead=overhead)
    feasibility = fit_feasibility(history)
    rng = stream(situation.seed, "recommendation", len(history))
    minima = find_local_minima(surrogate, feasibility, rng, thorough=effort == NORMAL)
    return Beliefs(surrogate, minima, cost, stride, overhead, feasibility)


def _level_cost(history: History) -> CostModel:
    """Every evaluation costs what is usual: enough to know where no price is chosen, and no work."""
    _, costs = history.costs
    level = fit_cost(replace(history, trials=()), 2.0)
    usual = max(float(np.median(costs)), 1e-9) if len(costs) else 1.0
    return replace(level, location=float(np.log(usual / level(np.full((1, len(history.groups)), 0.5))[0])))


def _failures(beliefs: Beliefs) -> int:
    return 0 if beliefs.feasibility is None else beliefs.feasibility.failures
