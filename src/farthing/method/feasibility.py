"""Where evaluations succeed: learned from those that failed.

A Gaussian process g of labels, +1 for success and -1 for failure, with mean m, variance 1, width h and noise v; at a place z

    P(an evaluation at z succeeds) = Phi(E[g(z)] / sqrt(var[g(z)] + v))

m is such that far from all trials this is the overall rate of success. h and v are those, of a few, under which every trial is best
foretold by the others. Failures that come at random make for a large v, and the chance is much the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from farthing.numerics.kernels import Array
from farthing.numerics.scipy_lazily import log_normal_cdf
from farthing.trials import History

WIDTHS = (0.05, 0.1, 0.2, 0.4)
"""h as a share of the diagonal of the box."""

NOISES = (0.03, 0.3, 3.0)

FIDELITY_SCALE = 0.5
"""Distances in s count for this much: what fails at one fidelity mostly fails at another."""

LEAST = np.log(1e-4)
"""No logarithm of a chance is taken to be smaller."""

REMEMBERED = 120
"""Successes, and failures, that are reckoned with: more are thinned out evenly."""


@dataclass(frozen=True)
class Feasibility:
    """The chance of success at points (m, D). points: (t, D) tried; succeeded: (t,) 1 or 0; scale: (D,) of distances.

    failures: how many there have been; inverse: (t, t) of the labels' covariance; dual: its product with the labels less the mean.
    """

    points: Array
    succeeded: Array
    failures: int
    scale: Array
    mean: float
    noise: float
    inverse: Array
    dual: Array

    def log_chance(self, z: Array) -> tuple[Array, Array]:
        """log P (m,) and its gradient in z (m, D)."""
        difference = (z[:, None, :] - self.points[None]) * self.scale
        cross = np.exp(-0.5 * np.einsum("mti,mti->mt", difference, difference))
        slope = -cross[:, :, None] * difference * self.scale
        pulled = cross @ self.inverse
        variance = np.maximum(1.0 - np.einsum("mt,mt->m", cross, pulled), 0.0) + self.noise
        margin = (self.mean + cross @ self.dual) / np.sqrt(variance)
        d_mean = np.einsum("mti,t->mi", slope, self.dual)
        d_variance = -2.0 * np.einsum("mti,mt->mi", slope, pulled)
        d_margin = d_mean / np.sqrt(variance)[:, None] - 0.5 * (margin / variance)[:, None] * d_variance
        log_chance = log_normal_cdf(margin)
        hazard = np.exp(-0.5 * (margin**2 + np.log(2.0 * np.pi)) - log_chance)
        gradient = np.where((log_chance <= LEAST)[:, None], 0.0, hazard[:, None] * d_margin)
        return np.maximum(log_chance, LEAST), gradient


def fit_feasibility(history: History) -> Feasibility | None:
    """The model after the trials of a history; None where nothing has failed, or nothing has succeeded."""
    good, bad = history.points, history.failed
    if not len(bad) or not len(good):
        return None
    rate = (len(good) + 1.0) / (len(good) + len(bad) + 1.0)
    failures, good, bad = len(bad), _thinned(good), _thinned(bad)
    points = np.concatenate([good, bad])
    succeeded = np.repeat([1.0, 0.0], [len(good), len(bad)])
    labels = 2.0 * succeeded - 1.0
    relative = np.ones(points.shape[1])
    if history.with_fidelity:
        relative[-1] = FIDELITY_SCALE
    diagonal = np.sqrt(len(history.space.axes))
    distance = np.square((points[:, None] - points[None]) * relative).sum(axis=2)
    best, score = None, -np.inf
    for noise in reversed(NOISES):
        mean = NormalDist(0.0, np.sqrt(1.0 + noise)).inv_cdf(min(max(rate, 0.02), 0.98))
        for width in reversed(WIDTHS):
            covariance = np.exp(-0.5 * distance / (width * diagonal) ** 2) + noise * np.eye(len(labels))
            inverse = np.linalg.inv(covariance)
            dual = inverse @ (labels - mean)
            # Leave-one-out: label i given the others has variance 1 / inverse_ii and mean label_i - dual_i / inverse_ii.
            alone = np.diagonal(inverse)
            foretold = float(log_normal_cdf(labels * (labels - dual / alone) * np.sqrt(alone)).sum())
            if foretold > score:
                score = foretold
                best = Feasibility(points, succeeded, failures, relative / (width * diagonal), mean, noise, inverse, dual)
    return best


def _thinned(points: Array) -> Array:
    if len(points) <= REMEMBERED:
        return points
    return points[np.linspace(0, len(points) - 1, REMEMBERED).round().astype(int)]
