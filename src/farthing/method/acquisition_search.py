"""Where to evaluate next: the highest point of an acquisition in the box, from informed starts.

Candidates are minimizer draws and local minima at several fidelities, the same with small and large displacements, and a Sobol
sample. All are scored in one batch; local searches with gradients begin from the best few that are apart.

Where there is little time, the sample is small and random, because a Sobol sequence takes a slow import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.method.domain import Domain
from farthing.method.local_minima import LocalMinima, distinct
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array

LEVELS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Fidelities at which every informed place is tried."""

DISPLACEMENTS = (0.02, 0.1, 0.3)
"""Displacements of informed places, in units of the mean lengthscales."""

EXCHANGED = 0.3
"""Of displaced places, those for which a choice is drawn anew, for every choice."""

APART = 0.05
"""Starts of local searches differ by more than this on some axis."""


@dataclass(frozen=True)
class Acquisition:
    """What is maximized: `value`, and `with_gradient`, of points (m, D)."""

    value: Callable[[Array], Array]
    with_gradient: Callable[[Array], tuple[Array, Array]]


def candidates(
    surrogate: Surrogate, informed: Array, domain: Domain, sample: int, rng: np.random.Generator, quasi: bool = True
) -> Array:
    """Candidate points: informed places (p, d) and displaced ones at several fidelities, and `sample` (quasi-)random ones.

    (m, d + 1) where the fidelity is to be chosen, (m, d) where it is not.
    """
    d = surrogate.dimensions
    numbers = domain.space.numbers
    lengthscales = np.exp(surrogate.weights @ np.log(surrogate.process.kernel.lengthscales))[:d]
    width = np.minimum(lengthscales, 0.5)
    moved = [np.clip(informed + size * width * rng.standard_normal(informed.shape), 0.0, 1.0) for size in DISPLACEMENTS]
    if numbers < d:
        for part in moved:
            part[:, numbers:] = np.where(
                _exchanged(domain, len(part), rng), rng.random((len(part), d - numbers)), informed[:, numbers:]
            )
    if not domain.with_fidelity:
        return np.concatenate([domain.snap(np.concatenate([informed, *moved])), domain.scatter(_spread(d, sample, rng, quasi))])
    at_levels = [np.column_stack([informed, np.full(len(informed), level)]) for level in LEVELS]
    at_random = np.column_stack([np.concatenate(moved), rng.random(len(informed) * len(moved))])
    anywhere = domain.scatter(_spread(d + 1, sample, rng, quasi))
    return np.concatenate([domain.snap(np.concatenate([*at_levels, at_random])), anywhere])


def _spread(axes: int, count: int, rng: np.random.Generator, quasi: bool) -> Array:
    return sobol(axes, count, rng) if quasi else rng.random((count, axes))


def _exchanged(domain: Domain, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count, columns of choices) where a choice is drawn anew, all its columns at once."""
    groups = domain.space.groups[domain.space.numbers :] - domain.space.numbers
    return (rng.random((count, groups[-1] + 1)) < EXCHANGED)[:, groups]


def maximize(acquisition: Acquisition, domain: Domain, points: Array, starts: int, evaluations: int = 25) -> tuple[Array, Array]:
    """What was found from the most promising of the candidate points (m, D), and the candidates: points and values, best first."""
    scores = acquisition.value(points)
    chosen = distinct(points, -scores, APART, starts)

    def negative(z: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(z)
        return -value, -gradient

    found, values = domain.minimize(negative, points[chosen], evaluations=evaluations, tolerance=1e-2)
    points, scores = np.concatenate([found, points]), np.concatenate([-values, scores])
    order = np.argsort(-scores, kind="stable")
    return points[order], scores[order]


def sobol(axes: int, count: int, rng: np.random.Generator) -> Array:
    """`count` points of a scrambled Sobol sequence in the unit cube."""
    from scipy.stats import qmc  # slow to import, and needed only here

    power = int(np.ceil(np.log2(max(count, 2))))
    return qmc.Sobol(axes, scramble=True, rng=rng).random_base2(power)[:count]


def informed_places(minima: LocalMinima, minimizers: Array) -> Array:
    """Distinct places worth a closer look: local minima of the mean, the best places evaluated, minimizer draws (..., d)."""
    drawn = minimizers.reshape(-1, minimizers.shape[-1])
    return np.unique(np.concatenate([minima.x[:5], minima.evaluated, drawn]), axis=0)
