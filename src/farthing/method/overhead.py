"""Overhead: what thinking costs, now and until the budget is spent (paper §3.2).

    overhead(n) = theta_0 + theta_1 n^theta_2 + N(0, theta_3^2)   seconds, at step n

with independent Gamma priors, the most probable theta given the overheads recorded so far. Every further evaluation will need
its own step of thinking, so what counts is the mean overhead over the steps that the remaining budget allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.cost import CostModel, last_scheduled
from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.kernels import Array
from farthing.trials import History

SHAPES = np.array([1.05, 1.05, 8.0, 1.05])
RATES = np.array([0.3, 0.3, 4.0, 0.3])
"""Gamma priors of theta: about a sixth of a second at most probable, minutes well possible; growth like n to the power 1 to 3."""

LOWER, UPPER = np.log([1e-6, 1e-12, 0.2, 1e-6]), np.log([1e4, 1e3, 5.0, 1e4])

LONGEST = 5000
"""No horizon is longer than this many steps."""

SCHEDULE = 1.5
"""The rule is fitted anew whenever so many times as many overheads are recorded, a few times in a study."""


@dataclass(frozen=True)
class Overhead:
    """The rule theta = (theta_0, theta_1, theta_2, theta_3), fitted to so many recorded overheads."""

    theta: tuple[float, float, float, float]
    fitted: int = 0

    def __call__(self, steps: Array) -> Array:
        """Expected seconds at the given steps."""
        return self.theta[0] + self.theta[1] * np.asarray(steps, dtype=float) ** self.theta[2]


def scheduled_overhead(history: History, effort: str, previous: Overhead | None = None) -> Overhead:
    """The rule for steps at one level of effort, fitted to as many of them as the schedule says; `previous` only saves work."""
    steps, seconds = history.overheads(effort)
    scheduled = last_scheduled(len(steps), SCHEDULE)
    if previous is not None and previous.fitted == scheduled:
        return previous
    return fit_overhead(steps[:scheduled], seconds[:scheduled])


def fit_overhead(steps: Array, seconds: Array) -> Overhead:
    """The most probable rule given overheads (m,) at steps (m,); the priors' most probable values where nothing is recorded."""
    steps, seconds = np.maximum(steps, 1.0), np.maximum(seconds, 0.0)
    log_steps = np.log(steps)

    def negative_log_posterior(vectors: Array) -> tuple[Array, Array]:
        theta = np.exp(vectors)
        growth = theta[:, 1:2] * np.exp(theta[:, 2:3] * log_steps)
        residual = seconds - theta[:, :1] - growth
        scaled = residual / theta[:, 3:] ** 2
        value = 0.5 * (scaled * residual).sum(axis=1) + len(seconds) * vectors[:, 3]
        value += (RATES * theta - (SHAPES - 1.0) * vectors).sum(axis=1)
        gradient = RATES * theta - (SHAPES - 1.0)
        gradient[:, 0] -= theta[:, 0] * scaled.sum(axis=1)
        gradient[:, 1] -= (scaled * growth).sum(axis=1)
        gradient[:, 2] -= theta[:, 2] * (scaled * growth * log_steps).sum(axis=1)
        gradient[:, 3] += len(seconds) - (scaled * residual).sum(axis=1)
        return value, gradient

    if len(seconds) == 0:
        mode = np.maximum((SHAPES - 1.0) / RATES, 1e-6)
        return Overhead((float(mode[0]), 1e-6, float(mode[2]), float(mode[3])))
    typical = max(float(np.mean(seconds)), 1e-4)
    last = max(float(steps.max()), 2.0)
    starts = np.log([[0.7 * typical, 0.3 * typical / last**power, power, 0.3 * typical] for power in (1.0, 1.75, 2.5)])
    minima = minimize_in_box(negative_log_posterior, starts, LOWER, UPPER, evaluations=40, tolerance=1e-2)
    best = np.exp(minima.points[np.argmin(minima.values)])
    return Overhead((float(best[0]), float(best[1]), float(best[2]), float(best[3])), len(seconds))


@dataclass(frozen=True)
class Price:
    """What an evaluation costs all in all: its own cost plus the mean overhead of the steps to come.

    thresholds: (N,) falling; with evaluations of at most thresholds[N-1] there are N more steps. means: (N,) mean overhead over
    them, in units of cost. trifle: places x where full fidelity has a lower price count as if it had this one,

        price(x, s) max(1, trifle / price(x, 0)),

    so that no place is preferred for being cheaper than that, and what a fidelity saves at one place stays as it is.
    """

    cost: CostModel
    thresholds: Array
    means: Array
    trifle: float = 0.0

    @classmethod
    def of(cls, cost: CostModel, overhead: Overhead, step: int, remaining: float | None, rate: float) -> Price:
        """rate: cost of a second; remaining: the budget left, None for no budget (then as many steps as there have been).

        N steps fit into B when  sum_{j=1..N} (overhead(step + j) + c) <= B,  that is  c <= (B - sum overhead) / N.
        """
        longest = LONGEST if remaining is not None else max(step, 1)
        counts = np.arange(1.0, longest + 1.0)
        total = np.cumsum(rate * overhead(step + counts))
        if remaining is None:
            return cls(cost, np.array([np.inf]), total[-1:] / longest)
        thresholds = (remaining - total) / counts
        affordable = max(int((thresholds > 0.0).sum()), 1)
        return cls(cost, thresholds[:affordable], (total / counts)[:affordable])

    @classmethod
    def constant(cls, cost: CostModel, overhead: float) -> Price:
        """With the same overhead, in units of cost, at whatever cost."""
        return cls(cost, np.array([np.inf]), np.array([overhead]))

    def horizon(self, cost: float) -> int | None:
        """How many more steps with evaluations of this cost the budget allows; at least this one."""
        if np.isinf(self.thresholds[0]):
            return None
        return max(int((self.thresholds >= cost).sum()), 1)

    def mean_overhead(self, cost: Array) -> Array:
        """Mean overhead of the steps to come, for evaluations of these costs, linear between whole horizons."""
        return np.interp(cost, self.thresholds[::-1], self.means[::-1])

    def __call__(self, points: Array) -> Array:
        """Price at points (m, D): (m,)."""
        if self.trifle == 0.0:
            return self._paid(points)
        price, full = self._paid(_and_at_full(points)).reshape(2, -1)
        return np.asarray(price * np.maximum(1.0, self.trifle / full))

    def with_gradient(self, points: Array) -> tuple[Array, Array]:
        """Price (m,) and its gradient (m, D)."""
        if self.trifle == 0.0:
            return self._paid_with_gradient(points)
        prices, gradients = self._paid_with_gradient(_and_at_full(points))
        price, full = prices.reshape(2, -1)
        gradient, in_x = gradients.reshape(2, *points.shape)
        relative = in_x / full[:, None]
        relative[:, -1] = 0.0
        raised = np.flatnonzero(full < self.trifle)
        factor = (self.trifle / full)[raised, None]
        gradient[raised] = factor * (gradient[raised] - price[raised, None] * relative[raised])
        price[raised] *= factor[:, 0]
        return price, gradient

    def _paid(self, points: Array) -> Array:
        cost = self.cost(points)
        return cost + self.mean_overhead(cost)

    def _paid_with_gradient(self, points: Array) -> tuple[Array, Array]:
        cost, gradient = self.cost.with_gradient(points)
        ends, means = self.thresholds[::-1], self.means[::-1]
        right = np.clip(np.searchsorted(ends, cost), 1, max(len(ends) - 1, 1))
        slope = np.zeros(len(cost))
        if len(ends) > 1:
            inside = (cost > ends[0]) & (cost < ends[-1])
            rise = (means[right] - means[right - 1]) / np.maximum(ends[right] - ends[right - 1], 1e-300)
            slope = np.where(inside, rise, 0.0)
        return cost + self.mean_overhead(cost), gradient * (1.0 + slope)[:, None]


def _and_at_full(points: Array) -> Array:
    """The points (m, D), then the same places at full fidelity, their last axis: (2 m, D)."""
    both = np.concatenate([points, points])
    both[len(points) :, -1] = 0.0
    return both
