"""Evaluation cost: what an evaluation at (x, s) will cost (paper §3.2).

    log cost = log(theta_0 + theta_1 w(s)^p) + b . (x - 1/2) + GP(x, s)

The trend is a fixed part plus work to a power, where w is the work that s means (`Fidelity.work`), and linear in x; a Matern 5/2
process takes up the rest. All parameters are the most probable ones under priors; that of the process expects costs to be uneven by
a factor of two, because places are chosen for being cheap, and of ten costs seven slopes are easily learned too steep. The trend
matters: a plain GP falls back to the average cost where it has not been, and full fidelity is where nobody has been at first.

FABOLAS' own model has no trend, and a regression on s in the place of the Matern kernel there (numerics/regression_kernel.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from farthing.axes import Fidelity
from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.evidence import Evidence
from farthing.numerics.gaussian_process import GaussianProcess, condition
from farthing.numerics.kernels import Array, Kernel, Probes, family
from farthing.numerics.regression_kernel import RegressionKernel
from farthing.trials import History

LOG_FLOOR = (-2.0, 3.0)
LOG_WORK = (0.0, 3.0)
LOG_POWER = (0.3, 0.5)
SLOPE = (0.0, 0.5)
LOG_VARIANCE = (np.log(0.5), 0.7)
LOG_LENGTHSCALE = (np.log(0.7), 0.7)
LOG_NOISE = (np.log(1e-2), 2.5)
"""Normal priors (mean, sd). Floor and work relative to the geometric mean of the costs."""

REGRESSION_LOG_VARIANCE = (0.0, 1.5)
MIXING = ((0.0, 2.0), (0.0, 1.5))
LEVEL_VARIANCE = 4.0
"""The same where there is no trend, and the variance of the level that all costs share: log costs differ by a few units."""

SMALLEST_WORK = 1e-6

NO_COST = 1e-6
"""What a cost of zero counts as where every cost so far was zero."""


@dataclass(frozen=True)
class Trend:
    """The trend of log cost. `fidelity` is None where the study's points have none; `work` is then a constant."""

    fidelity: Fidelity | None
    floor: float
    work: float
    log_power: float
    slopes: Array

    @classmethod
    def of(cls, parameters: Array, dimensions: int, fidelity: Fidelity | None) -> Trend:
        """parameters: (floor, work, log power, slopes...)."""
        floor, work, log_power = (float(p) for p in parameters[:3])
        return cls(fidelity, floor, work, log_power, parameters[3 : 3 + dimensions])

    @classmethod
    def none(cls, dimensions: int) -> Trend:
        """A trend that is 0 everywhere."""
        return cls(None, 0.0, -np.inf, 0.0, np.zeros(dimensions))

    def __call__(self, z: Array) -> Array:
        """Log cost at points (m, D): (m,)."""
        return self.with_gradients(z)[0]

    def with_gradients(self, z: Array) -> tuple[Array, Array, Array]:
        """Log cost (m,), its gradient in z (m, D), and in the parameters (m, 3 + d)."""
        d = len(self.slopes)
        power = np.exp(self.log_power)
        in_z, in_parameters = np.zeros(z.shape), np.zeros((len(z), 3 + d))
        if self.fidelity is None:
            log_w = d_log_w = np.zeros(len(z))
        else:
            w, d_w = self.fidelity.work(z[:, d])
            log_w = np.log(np.maximum(w, SMALLEST_WORK))
            d_log_w = np.where(w > SMALLEST_WORK, d_w / np.maximum(w, SMALLEST_WORK), 0.0)
        variable = self.work + power * log_w
        value = np.logaddexp(self.floor, variable)
        share = np.exp(variable - value)
        in_parameters[:, 0] = 1.0 - share
        in_parameters[:, 1] = share
        in_parameters[:, 2] = share * power * log_w
        in_parameters[:, 3:] = z[:, :d] - 0.5
        in_z[:, :d] = self.slopes
        if self.fidelity is not None:
            in_z[:, d] = share * power * d_log_w
        return value + in_parameters[:, 3:] @ self.slopes, in_z, in_parameters


@dataclass(frozen=True)
class CostModel:
    """Predicted evaluation cost at points (m, D). fitted: how many observations its parameters were fitted to."""

    trend: Trend
    process: GaussianProcess
    location: float
    noise: float
    fitted: int

    def __call__(self, points: Array) -> Array:
        """exp of the mean log cost: (m,)."""
        return np.exp(self._log_cost(points)[0])

    def with_gradient(self, points: Array) -> tuple[Array, Array]:
        """Cost (m,) and its gradient (m, D)."""
        log_cost, gradient = self._log_cost(points)
        cost = np.exp(log_cost)
        return cost, cost[:, None] * gradient

    def _log_cost(self, points: Array) -> tuple[Array, Array]:
        trend, trend_gradient, _ = self.trend.with_gradients(points)
        mean, gradient = self.process.mean_and_gradient(points)
        # No further than floats reach.
        return np.clip(self.location + trend + mean[0], -650.0, 650.0), trend_gradient + gradient[0]


def fit_cost(history: History, growth: float, previous: CostModel | None = None, regression: bool = False) -> CostModel:
    """The cost model after the observations of a history; with no cost known, what the priors expect.

    Parameters are fitted at scheduled numbers of observations, each `growth` times the last, and kept between; `previous` saves
    work and changes nothing. regression: FABOLAS' own model, where s is an axis.
    """
    points, costs = history.costs
    scheduled = last_scheduled(len(costs), growth)
    log_costs = np.log(_positive(costs, scheduled))
    location = float(log_costs[:scheduled].mean()) if scheduled else 0.0
    if previous is None or previous.fitted != scheduled or previous.process.probes.points.shape[1] != points.shape[1]:
        known, logs = points[:scheduled], log_costs[:scheduled] - location
        if regression and history.with_fidelity:
            previous = _fit_regression(known, logs, location, history.groups)
        else:
            fidelity = history.space.fidelity if history.with_fidelity else None
            previous = _fit(known, logs, location, fidelity, history.groups)
    later = slice(len(previous.process), None)
    if len(points[later]):
        residual = log_costs[later] - location - previous.trend(points[later])
        noise = np.full(len(residual), previous.noise)
        return replace(previous, process=previous.process.append(Probes.values(points[later]), residual, noise))
    return previous


def last_scheduled(n: int, growth: float) -> int:
    """The largest of 1, 2, 3, ... that is at most n, each being `growth` times the one before, rounded up; 0 for 0."""
    scheduled = min(n, 1)
    while True:
        following = max(scheduled + 1, int(np.ceil(growth * scheduled)))
        if following > n:
            return scheduled
        scheduled = following


def _positive(costs: Array, scheduled: int) -> Array:
    """Costs of zero, at or below the clock's resolution, are taken as a tenth of the smallest positive one among the first."""
    positive = costs[:scheduled][costs[:scheduled] > 0.0]
    return np.maximum(costs, max(0.1 * positive.min(), 1e-300) if len(positive) else NO_COST)


def _fit(points: Array, log_costs: Array, location: float, fidelity: Fidelity | None, groups: NDArray[np.intp]) -> CostModel:
    d = len(groups) - int(fidelity is not None)
    axes = int(groups[-1]) + 1
    entries = [LOG_FLOOR, LOG_WORK, LOG_POWER, *[SLOPE] * d, LOG_VARIANCE, *[LOG_LENGTHSCALE] * axes, LOG_NOISE]
    prior_mean, prior_sd = np.array(entries).T
    split = 3 + d
    evidence = Evidence(family("matern52"), points, log_costs, np.zeros(len(points)), groups=groups)

    def negative_log_posterior(vectors: Array) -> tuple[Array, Array]:
        trends = [Trend.of(v, d, fidelity).with_gradients(points) for v in vectors]
        residuals = log_costs - np.stack([t[0] for t in trends])
        value, gradient, dual = evidence.with_gradient(vectors[:, split:], residuals)
        standard = (vectors - prior_mean) / prior_sd
        out = standard / prior_sd
        out[:, split:] -= gradient
        # d evidence / d residual = -dual, and the residual falls as the trend rises.
        out[:, :split] -= np.stack([dual[i] @ t[2] for i, t in enumerate(trends)])
        return 0.5 * (standard**2).sum(axis=1) - value, out

    best = prior_mean
    if len(points):
        starts = np.tile(prior_mean, (2, 1))
        starts[:, 2] += np.array([-0.5, 0.5])
        reach = 6.0 * prior_sd
        box = prior_mean - reach, prior_mean + reach
        minima = minimize_in_box(negative_log_posterior, starts, *box, evaluations=60, tolerance=1e-2)
        best = minima.points[np.argmin(minima.values)]
    trend = Trend.of(best, d, fidelity)
    kernel = Kernel(family("matern52"), np.exp(best[split : split + 1]), np.exp(best[None, split + 1 : -1])[:, groups])
    noise = float(np.exp(best[-1]))
    process = condition(kernel, Probes.values(points), log_costs - trend(points), np.full(len(points), noise))
    return CostModel(trend, process, location, noise, len(points))


def _fit_regression(points: Array, log_costs: Array, location: float, groups: NDArray[np.intp]) -> CostModel:
    """FABOLAS' own model: log cost = level + GP, a Matern 5/2 kernel in x times a linear regression in s."""
    axes = int(groups[-1])
    entries = [REGRESSION_LOG_VARIANCE, *[LOG_LENGTHSCALE] * axes, *MIXING, LOG_NOISE]
    prior_mean, prior_sd = np.array(entries).T
    x, s = points[:, :-1], points[:, -1]
    evidence = Evidence(family("matern52"), x, log_costs, np.zeros(len(points)), LEVEL_VARIANCE, groups[:-1], s)

    def negative_log_posterior(vectors: Array) -> tuple[Array, Array]:
        value, gradient, _ = evidence.with_gradient(vectors)
        standard = (vectors - prior_mean) / prior_sd
        return 0.5 * (standard**2).sum(axis=1) - value, standard / prior_sd - gradient

    best = prior_mean
    if len(points):
        starts = np.tile(prior_mean, (2, 1))
        starts[:, -3] += np.array([-1.0, 1.0])
        box = prior_mean - 6.0 * prior_sd, prior_mean + 6.0 * prior_sd
        minima = minimize_in_box(negative_log_posterior, starts, *box, evaluations=60, tolerance=1e-2)
        best = minima.points[np.argmin(minima.values)]
    in_x = Kernel(family("matern52"), np.exp(best[:1]), np.exp(best[None, 1:-3])[:, groups[:-1]], LEVEL_VARIANCE)
    kernel, noise = RegressionKernel.of(in_x, best[None, -3:-1], power=1), float(np.exp(best[-1]))
    process = condition(kernel, Probes.values(points), log_costs, np.full(len(points), noise))
    return CostModel(Trend.none(points.shape[1] - 1), process, location, noise, len(points))
