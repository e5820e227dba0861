"""Local minima of the posterior mean at full fidelity: where support points, recommendations and searches begin.

Where evaluations have failed, the mean is raised by -log of the chance that one succeeds (method/feasibility.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.domain import Domain
from farthing.method.feasibility import Feasibility
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array

SCREENED = 128
"""Places that are looked at: so many random ones, and as many evaluated ones, those with the lowest values at any fidelity."""

STARTS = 24

FEW_STARTS, FEW_EVALUATIONS = 4, 10
"""Of the one descent that is made where there is no time for more."""

ON_THE_SAME_WAY = 0.03
"""Searches that have come closer than this on every axis after a dozen steps are one."""

EXCHANGES = 24
"""Places that differ from the best by one choice, which are searched too."""

SAME = 1e-3
"""Minima closer than this on every axis are one."""


@dataclass(frozen=True)
class LocalMinima:
    """Distinct minima, best first: x (m, d), mean (m,), standardized; evaluated: the best places evaluated, by the mean, (p, d)."""

    x: Array
    mean: Array
    evaluated: Array


def find_local_minima(
    surrogate: Surrogate, feasibility: Feasibility | None, rng: np.random.Generator, thorough: bool = True
) -> LocalMinima:
    """Descend the mixture's mean from the best places evaluated (at any fidelity) and the best of a random sample, in one batch.

    Thoroughly: from many of them, then on from those that are apart and from what differs from the best by one choice.
    """
    d = surrogate.dimensions
    domain = Domain(surrogate.space, with_fidelity=False)

    def raised(x: Array) -> tuple[Array, Array]:
        mean, gradient = surrogate.mean_and_gradient(x)
        if feasibility is None:
            return mean, gradient
        log_chance, slope = feasibility.log_chance(surrogate.at_full_fidelity(x))
        return mean - log_chance, gradient - slope[:, :d]

    lowest = np.argsort(surrogate.values, kind="stable")[:SCREENED]
    evaluated = np.unique(surrogate.process.probes.points[lowest, :d], axis=0)
    random = domain.scatter(rng.random((SCREENED, d)))
    at_full = surrogate.at_full_fidelity(np.concatenate([evaluated, random]))
    mean = surrogate.weights @ surrogate.process.mean_at(at_full)
    if feasibility is not None:
        mean -= feasibility.log_chance(at_full)[0]
    most = STARTS if thorough else FEW_STARTS
    evaluated = evaluated[np.argsort(mean[: len(evaluated)], kind="stable")[: most // 2]]
    random = random[np.argsort(mean[-SCREENED:], kind="stable")[: most - len(evaluated)]]
    starts = np.concatenate([evaluated, random])

    # Choices are not exchanged: every combination of them has minima of its own, and may have the lowest.
    if thorough:
        rough, values = domain.minimize(raised, starts, evaluations=12, exchange=False)
        rough = rough[distinct(rough, values, ON_THE_SAME_WAY)]
        starts = np.concatenate([rough, surrogate.space.exchanged(rough[0])[:EXCHANGES]])
    points, values = domain.minimize(raised, starts, evaluations=40 if thorough else FEW_EVALUATIONS, exchange=not thorough)
    kept = distinct(points, values, SAME)
    mean = values[kept] if feasibility is None else surrogate.mean_and_gradient(points[kept])[0]
    return LocalMinima(points[kept], mean, evaluated[:3])


def distinct(points: Array, values: Array, apart: float, most: int | None = None) -> list[int]:
    """Indices, lowest value first, of at most `most` points that differ on some axis by more than `apart` from every one before."""
    kept: list[int] = []
    for i in np.argsort(values, kind="stable"):
        if len(kept) == most:
            break
        if not kept or (np.abs(points[kept] - points[i]).max(axis=1) > apart).all():
            kept.append(int(i))
    return kept
