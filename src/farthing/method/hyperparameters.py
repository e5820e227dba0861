"""Drawing hyperparameters given the observations: slice sampling, whitened slice sampling, whitened HMC, or MAP (paper §2.1).

A hyperparameter vector is (log variance, log lengthscale of each axis, log noise variance), in standardized values and unit axes;
the columns of a choice share one lengthscale. With FABOLAS' own kernel the fidelity has no lengthscale but the two entries of a
regression (numerics/regression_kernel.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.method.standardization import Standardization
from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.evidence import Evidence
from farthing.numerics.hamiltonian import transitions
from farthing.numerics.kernels import Array, Family, Kernel, family
from farthing.numerics.regression_kernel import RegressionKernel
from farthing.numerics.slice_sampling import sweep
from farthing.settings import Settings
from farthing.trials import History

LOG_VARIANCE = (0.0, 1.0)
LOG_LENGTHSCALE = (np.log(0.35), 1.0)
LOG_CHOICE_LENGTHSCALE = (np.log(1.0), 1.0)
LOG_FIDELITY_LENGTHSCALE = (np.log(1.0), 1.25)
LOG_NOISE = (np.log(1e-5), 3.0)
MIXING = ((0.0, 1.0), (np.log(0.5), 1.0))
"""Normal priors (mean, sd), natural logs. The noise may be anything from rounding to a tenth of the spread.

Lengthscales of numbers are those of one axis; of d axes each is taken to be the square root of d times as long, since distances
grow like that, and a function that varied as fast along each of many axes could not be learned at all (Hvarfner et al. 2024).
MIXING: of the regression's p and log e: how what cheap evaluations add goes with the objective itself, and how much of it does not.
"""

POWER = 2
"""FABOLAS takes what cheap evaluations add to grow with the square of the way from full fidelity. It writes (1 - s)^2: its full
fidelity is s = 1.
"""

MEAN_VARIANCE = 1.0
"""Variance of the constant mean, in standardized units. The mean is integrated out, so a biased sample does not fix it."""

TREND_VARIANCE = 1.0
"""Variance of the mean's slope in s. Losses are higher after few epochs, whatever x; without a trend for that it would look as if
cheap evaluations had little to do with the objective.
"""

STRAY = 15.0
"""Nats, plus one for each hyperparameter, below the mode at which a draw is out of place: P/2 is what a good one has."""

RETREATS = 12
"""How often a draw out of place comes closer to the mode by half, at the most."""

REACH = 6.0
"""The search for the MAP stays within this many prior standard deviations."""


@dataclass(frozen=True)
class Layout:
    """What the entries of a hyperparameter vector mean. groups: (D,) the axis of every column; numbers, choices: how many axes;
    with_fidelity: whether s is the last axis, with a lengthscale and perhaps a trend of the mean, or with a regression.
    """

    family: Family
    groups: NDArray[np.intp]
    numbers: int
    choices: int
    with_fidelity: bool
    trend: float
    regression: bool

    @classmethod
    def of(cls, history: History, settings: Settings, regression: bool = False) -> Layout:
        space = history.space
        choices = len(space.axes) - space.numbers
        within = history.with_fidelity
        trend = TREND_VARIANCE if within and settings.trend else 0.0
        return cls(family(settings.kernel), history.groups, space.numbers, choices, within, trend, regression and within)

    @property
    def priors(self) -> list[tuple[float, float]]:
        """Mean and standard deviation of every entry."""
        number = float(LOG_LENGTHSCALE[0] + 0.5 * np.log(self.numbers + self.choices)), LOG_LENGTHSCALE[1]
        entries = [LOG_VARIANCE, *[number] * self.numbers, *[LOG_CHOICE_LENGTHSCALE] * self.choices]
        if self.regression:
            entries += MIXING
        elif self.with_fidelity:
            entries.append(LOG_FIDELITY_LENGTHSCALE)
        return [*entries, LOG_NOISE]

    def kernel(self, draws: Array) -> Kernel:
        """The kernels of draws (K, P)."""
        variance = np.exp(draws[:, 0])
        if not self.regression:
            return Kernel(self.family, variance, np.exp(draws[:, 1:-1])[:, self.groups], MEAN_VARIANCE, self.trend)
        in_x = Kernel(self.family, variance, np.exp(draws[:, 1:-3])[:, self.groups[:-1]], MEAN_VARIANCE)
        return RegressionKernel.of(in_x, draws[:, -3:-1], POWER)

    def evidence(self, points: Array, values: Array, noise: Array) -> Evidence:
        """The evidence of values (n,) at points (n, D) with known noise variances (n,)."""
        if not self.regression:
            return Evidence(self.family, points, values, noise, MEAN_VARIANCE, self.groups, trend=self.trend)
        basis = points[:, -1] ** POWER
        return Evidence(self.family, points[:, :-1], values, noise, MEAN_VARIANCE, self.groups[:-1], basis)


@dataclass(frozen=True)
class Posterior:
    """The posterior density of hyperparameters: Gaussian priors on their logs times the evidence.

    prior_mean, prior_sd: (P,). With known noise the last entry is held at its mean (sd 0).
    """

    evidence: Evidence
    prior_mean: Array
    prior_sd: Array

    @classmethod
    def of(cls, history: History, standardization: Standardization, settings: Settings, regression: bool = False) -> Posterior:
        layout = Layout.of(history, settings, regression)
        mean, sd = np.array(layout.priors).T
        if settings.noise is not None:
            variance = float(standardization.apply_noise(np.array(settings.noise), np.array(standardization.knee)))
            mean[-1], sd[-1] = np.log(max(variance, 1e-12)), 0.0
        values, noise = standardization.apply(history.values), standardization.apply_noise(history.noises, history.values)
        return cls(layout.evidence(history.points, values, noise), mean, sd)

    @property
    def free(self) -> Array:
        """1 where a hyperparameter is inferred, 0 where it is known."""
        return (self.prior_sd > 0.0).astype(float)

    def log_density(self, vectors: Array) -> Array:
        """Log posterior density up to a constant, (K,) from (K, P)."""
        density = np.full(len(vectors), -np.inf)
        ok = self._inside(vectors)
        if ok.any():
            density[ok] = self.evidence(vectors[ok]) + self._log_prior(vectors[ok])
        return density

    def log_density_and_gradient(self, vectors: Array) -> tuple[Array, Array]:
        """The same with its gradient, (K,) and (K, P)."""
        density, gradient = np.full(len(vectors), -np.inf), np.zeros(vectors.shape)
        ok = self._inside(vectors)
        if ok.any():
            v = vectors[ok]
            evidence, slope, _ = self.evidence.with_gradient(v)
            density[ok] = evidence + self._log_prior(v)
            gradient[ok] = (slope - (v - self.prior_mean) * self._precision()) * self.free
        return density, gradient

    def _inside(self, vectors: Array) -> NDArray[np.bool_]:
        """Far outside the priors there is no density: nothing may run away to where numbers end."""
        near = np.abs(vectors - self.prior_mean) <= 2.0 * REACH * np.maximum(self.prior_sd, 1e-2)
        return np.asarray(near.all(axis=1))

    def _precision(self) -> Array:
        return np.where(self.prior_sd > 0.0, 1.0 / np.where(self.prior_sd > 0.0, self.prior_sd, 1.0) ** 2, 0.0)

    def _log_prior(self, vectors: Array) -> Array:
        return np.asarray(-0.5 * ((vectors - self.prior_mean) ** 2 * self._precision()).sum(axis=1))


def most_probable(posterior: Posterior, starts: Array) -> Array:
    """The MAP hyperparameters (P,) found from the starts (m, P)."""
    reach = REACH * np.maximum(posterior.prior_sd, 1e-9)

    def negative(vectors: Array) -> tuple[Array, Array]:
        density, gradient = posterior.log_density_and_gradient(vectors)
        return -density, -gradient

    minima = minimize_in_box(
        negative, starts, posterior.prior_mean - reach, posterior.prior_mean + reach, evaluations=40, tolerance=1e-2
    )
    return np.asarray(minima.points[np.argmin(minima.values)])


def laplace_whitening(posterior: Posterior, mode: Array) -> Array:
    """W with W W^T the covariance of the Laplace approximation at the mode (P, P); known entries get 0.

    The Hessian is a central difference of the closed-form gradient. No direction is taken to be wider than the prior.
    """
    size, step = len(mode), 0.05
    shifts = step * np.eye(size)
    _, gradient = posterior.log_density_and_gradient(np.concatenate([mode + shifts, mode - shifts]))
    hessian = -(gradient[:size] - gradient[size:]) / (2.0 * step)
    hessian = np.where(np.isfinite(hessian), 0.5 * (hessian + hessian.T), 0.0)
    values, vectors = np.linalg.eigh(posterior.prior_sd[:, None] * hessian * posterior.prior_sd)
    return np.asarray(posterior.prior_sd[:, None] * vectors / np.sqrt(np.maximum(values, 1.0)))


def first_draws(posterior: Posterior, settings: Settings, rng: np.random.Generator) -> Array:
    """Draws with nothing to start from: the Laplace approximation, then a few moves. (K, P), one row for MAP."""
    mode = most_probable(posterior, posterior.prior_mean[None])
    if settings.sampler == "map":
        return mode[None]
    whitening = laplace_whitening(posterior, mode)
    return _move(posterior, _laplace_draws(posterior, mode, whitening, settings.draws, rng), whitening, settings, rng, moves=2)


def move_draws(posterior: Posterior, draws: Array, weights: Array, settings: Settings, rng: np.random.Generator) -> Array:
    """Resample the draws (K, P) by their weights, systematically, to as many as are wanted, and move each along its chain.

    A draw that new data, or a new scale of the values, have left far outside the posterior would take long to find back:
    it starts anew from the Laplace approximation.
    """
    count = 1 if settings.sampler == "map" else settings.draws
    picks = np.searchsorted(np.cumsum(weights), (np.arange(count) + rng.random()) / count)
    draws = _within_reach(posterior, draws[np.minimum(picks, len(draws) - 1)])
    densities = posterior.log_density(draws)
    mode = most_probable(posterior, np.stack([draws[np.argmax(densities)], posterior.prior_mean]))
    if settings.sampler == "map":
        return mode[None]
    whitening = laplace_whitening(posterior, mode)
    stray = densities < _lowest(posterior, mode)
    draws[stray] = _laplace_draws(posterior, mode, whitening, int(stray.sum()), rng)
    return _move(posterior, draws, whitening, settings, rng, moves=1)


def _within_reach(posterior: Posterior, draws: Array) -> Array:
    return np.clip(draws, posterior.prior_mean - REACH * posterior.prior_sd, posterior.prior_mean + REACH * posterior.prior_sd)


def _laplace_draws(posterior: Posterior, mode: Array, whitening: Array, count: int, rng: np.random.Generator) -> Array:
    """Draws from the Laplace approximation (count, P); those out of place, where the density has another shape, come closer to the
    mode by halves.
    """
    away = rng.standard_normal((count, len(mode))) @ whitening.T
    draws = _within_reach(posterior, mode + away)
    lowest = _lowest(posterior, mode)
    stray = np.arange(count)
    for _ in range(RETREATS):
        stray = stray[posterior.log_density(draws[stray]) < lowest]
        away[stray] *= 0.5
        draws[stray] = mode + away[stray]
    return draws


def _lowest(posterior: Posterior, mode: Array) -> float:
    """Log density below which a draw is out of place."""
    return float(posterior.log_density(mode[None])[0]) - STRAY - len(mode)


def _move(posterior: Posterior, draws: Array, whitening: Array, settings: Settings, rng: np.random.Generator, moves: int) -> Array:
    if settings.sampler == "hmc":
        return transitions(posterior.log_density_and_gradient, draws, rng, whitening=whitening, count=3 * moves)[0]
    # Slice widths of about two standard deviations; known entries have no direction of their own.
    directions = 2.0 * whitening.T if settings.sampler == "whitened_slice" else np.diag(posterior.prior_sd)
    directions = directions[np.abs(directions).max(axis=1) > 0.0]
    for _ in range(moves):
        draws, _ = sweep(posterior.log_density, draws, rng, directions=directions)
    return draws
