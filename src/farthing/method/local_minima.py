"""Local minima of the posterior mean at full fidelity: where support points, recommendations and searches begin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.surrogate import Surrogate
from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.kernels import Array

SCREENED = 128
"""Places that are looked at: so many random ones, and as many evaluated ones, those with the lowest values at any fidelity."""

STARTS = 24

ON_THE_SAME_WAY = 0.03
"""Searches that have come closer than this on every axis after a dozen steps are one."""

SAME = 1e-3
"""Minima closer than this on every axis are one."""


@dataclass(frozen=True)
class LocalMinima:
    """Distinct minima, best first: x (m, d), mean (m,), standardized; evaluated: the best places evaluated, by the mean, (p, d)."""

    x: Array
    mean: Array
    evaluated: Array


def find_local_minima(surrogate: Surrogate, rng: np.random.Generator) -> LocalMinima:
    """Descend the mixture's mean from the best places evaluated (at any fidelity) and the best of a random sample, in one batch."""
    d = surrogate.dimensions
    lowest = np.argsort(surrogate.values, kind="stable")[:SCREENED]
    evaluated = np.unique(surrogate.process.probes.points[lowest, :d], axis=0)
    random = rng.random((SCREENED, d))
    mean = surrogate.weights @ surrogate.process.mean_at(surrogate.at_full_fidelity(np.concatenate([evaluated, random])))
    evaluated = evaluated[np.argsort(mean[: len(evaluated)], kind="stable")[: STARTS // 2]]
    random = random[np.argsort(mean[-SCREENED:], kind="stable")[: STARTS - len(evaluated)]]

    box = np.zeros(d), np.ones(d)
    rough = minimize_in_box(surrogate.mean_and_gradient, np.concatenate([evaluated, random]), *box, evaluations=12)
    survivors = rough.points[distinct(rough.points, rough.values, ON_THE_SAME_WAY)]
    minima = minimize_in_box(surrogate.mean_and_gradient, survivors, *box, evaluations=40)
    kept = distinct(minima.points, minima.values, SAME)
    return LocalMinima(minima.points[kept], minima.values[kept], evaluated[:3])


def distinct(points: Array, values: Array, apart: float, most: int | None = None) -> list[int]:
    """Indices, lowest value first, of at most `most` points that differ on some axis by more than `apart` from every one before."""
    kept: list[int] = []
    for i in np.argsort(values, kind="stable"):
        if len(kept) == most:
            break
        if not kept or (np.abs(points[kept] - points[i]).max(axis=1) > apart).all():
            kept.append(int(i))
    return kept
