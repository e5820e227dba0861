"""One run of a study: what it evaluated, what it recommended at every step, and what that was worth in truth.

Two clocks: the cost of evaluations, simulated or wall time, and the overhead, real seconds of thinking as the study records them.
What recommendations are worth is computed when the run is over, and charged to nobody (paper §2.4). Decisions depend on the seed
and on what is recorded (values, costs, overheads); with a clock that ticks the same way twice, a run is the same twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import scipy.linalg
import scipy.special
import scipy.stats.qmc  # noqa: F401  a study would load these in its first proposal, and be charged for that
import threadpoolctl  # noqa: F401

import farthing as ft
from experiments import variants
from experiments.contenders import Contender
from experiments.problem import Params, Problem

Clock = Callable[[], float]

CLOCKS = ("evaluations", "total")
"""Cost of evaluations alone, or with overhead."""


def run_study(
    problem: Problem, contender: Contender, seed: int, shares: Sequence[float], clock: Clock = time.perf_counter
) -> dict[str, Any]:
    """A run, ready for JSON. shares: of the budget, at which the truth is asked for where it takes long to tell.

    For every trial: cost, overhead, fidelity, effort. For every recommendation: after how many evaluations, the cost and overhead
    spent by then, the truth (None where it was not asked for), and the lowest truth of places evaluated at full fidelity.
    """
    settings = contender.settings_with(problem.overhead_price)
    with variants.applied(contender.variant):
        study = ft.Study(
            problem.space, fidelity=problem.fidelity, method=contender.make(), seed=seed, settings=settings, clock=clock
        )
        study.run(problem.objective, budget=problem.budget, evaluations=problem.evaluations)
        recommended, spent, thought = [], 0.0, 0.0
        for trial in study.trials:
            thought += trial.overhead
            if trial.proposal.recommendation is not None:
                recommended.append((trial.number, spent, thought, trial.proposal.recommendation.params))
            spent += trial.cost or 0.0
        recommended.append((len(study.trials), spent, thought, study.recommend().params))
    after, costs, overheads, places = (list(column) for column in zip(*recommended, strict=True))
    asked = None if problem.simulated else _at_shares(costs, overheads, problem.budget or math.inf, shares)
    return {
        "minimum": problem.minimum,
        "budget": problem.budget if problem.budget is not None else problem.evaluations,
        "cost": [trial.cost for trial in study.trials],
        "overhead": [trial.overhead for trial in study.trials],
        "fidelity": [trial.fidelity for trial in study.trials],
        "effort": [trial.proposal.effort for trial in study.trials],
        "after": after,
        "spent": costs,
        "thought": overheads,
        "places": places,
        "truth": _truths(problem.truth, places, asked),
        "seen": _seen(problem, study) if problem.fidelity is None else None,
    }


def _at_shares(spent: Sequence[float], thought: Sequence[float], budget: float, shares: Sequence[float]) -> set[int]:
    """Which recommendations are the latest ones at a share of the budget, on either clock."""
    found = set()
    for times in (spent, [s + t for s, t in zip(spent, thought, strict=True)]):
        for share in shares:
            made = [i for i, at in enumerate(times) if at <= share * budget]
            found |= set(made[-1:])
    return found


def _truths(truth: Callable[[Params], float], places: Sequence[Params], asked: set[int] | None) -> list[float | None]:
    known: dict[tuple[float, ...], float] = {}
    out: list[float | None] = []
    for i, place in enumerate(places):
        if asked is not None and i not in asked:
            out.append(None)
            continue
        key = tuple(place.values())
        if key not in known:
            known[key] = truth(place)
        out.append(known[key])
    return out


def _seen(problem: Problem, study: ft.Study) -> list[float]:
    """The lowest value evaluated so far, after each evaluation."""
    lowest, out = math.inf, []
    for trial in study.trials:
        lowest = min(lowest, problem.truth(trial.params))
        out.append(lowest)
    return out
