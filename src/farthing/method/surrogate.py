"""The surrogate: a weighted mixture of Gaussian processes, one for each hyperparameter draw (paper §2.1).

Draws are moved by a Markov chain only now and then. Between moves a new observation is appended to every process, in O(n^2),
and the draws are weighted by how well they foresaw it; they are resampled and moved when their effective number has halved, or when
the observations have grown by `Settings.growth`. The rule depends on recorded data alone. With many observations fewer draws are
made, and given a representative part of them (method/effort.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farthing.method.effort import MANY, NORMAL, draws_for
from farthing.method.hyperparameters import Layout, Posterior, first_draws, move_draws
from farthing.method.standardization import Standardization
from farthing.method.streams import stream
from farthing.numerics.gaussian_process import GaussianProcess, condition
from farthing.numerics.kernels import Array, Probes
from farthing.settings import Settings
from farthing.space import Space
from farthing.trials import Carried, History


@dataclass(frozen=True)
class Surrogate:
    """What is believed of the objective after the observations of a history.

    process: K Gaussian processes over D axes, in standardized values; weights: (K,), sum 1; noise: (K,) inferred noise variances;
    values: (n,) those observed, standardized; space: with its d unit columns (D is one more where s is a column);
    carried: for the next step.
    """

    process: GaussianProcess
    weights: Array
    noise: Array
    values: Array
    standardization: Standardization
    space: Space
    carried: Carried

    @property
    def dimensions(self) -> int:
        return self.space.dimensions

    @property
    def with_fidelity(self) -> bool:
        return self.process.kernel.lengthscales.shape[1] > self.dimensions

    @property
    def effective_draws(self) -> float:
        return float(1.0 / (self.weights**2).sum())

    def at_full_fidelity(self, x: Array) -> Array:
        """(m, d) -> (m, D): the same places with s = 0."""
        return np.column_stack([x, np.zeros(len(x))]) if self.with_fidelity else x

    def pretending(self, pending: Array, failed: Array) -> Surrogate:
        """This surrogate as if values had been observed at points (m, D) just as expected: with noise at pending ones, and
        exactly where trials have failed, of which nothing more is to be learned.
        """
        return replace(self, process=self.process.pretend(pending, self.noise).pretend(failed, np.zeros_like(self.noise)))

    def mean(self, x: Array) -> Array:
        """The mixture's mean at full fidelity at places (m, d): (m,), standardized."""
        return np.asarray(self.weights @ self.process.mean_at(self.at_full_fidelity(x)))

    def mean_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """The mixture's mean at full fidelity and its gradient in x: (m,) and (m, d), standardized."""
        mean, gradient = self.process.mean_and_gradient(self.at_full_fidelity(x))
        return self.weights @ mean, np.einsum("k,kmi->mi", self.weights, gradient[:, :, : self.dimensions])

    def mixture(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance of the mixture at full fidelity: (m,) and (m,), standardized.

        Mean of means; mean of variances plus variance of means.
        """
        means, variances = self.process.marginals(self.at_full_fidelity(x))
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)


def fit_surrogate(
    history: History,
    settings: Settings,
    seed: int,
    previous: Surrogate | None = None,
    effort: str = NORMAL,
    most: int | None = None,
    regression: bool = False,
) -> Surrogate:
    """The surrogate for a history with at least one observation, of at most so many of them; it goes on with draws of that effort.

    regression: with FABOLAS' own kernel where s is an axis. `previous`, a surrogate of the same study and effort, only saves work:
    with or without it the result is the same to the bit.
    """
    carried = history.carried_at(effort)
    n = len(history)
    known = history if most is None else history.representative(most)
    layout = Layout.of(history, settings, regression)
    if carried is not None and (len(carried.draws[0]) != len(layout.priors) or carried.observations > n):
        carried = None  # the fidelity became an axis after the draws were made, or results that they had seen are gone
    if carried is not None:
        # A part of the observations is another one at every step, and none of it is later than the rest.
        whole = known is history
        seen = carried.observations if whole else len(known)
        surrogate = _extend(previous if whole else None, carried, known, layout, seen)
        as_many = len(carried.draws) == _count(carried.observations, settings)
        foresaw = surrogate.effective_draws >= 0.5 * len(surrogate.weights)
        if as_many and foresaw and n < settings.growth * carried.observations:
            return surrogate
    if previous is not None and previous.carried.observations == n and len(previous.process) == len(known):
        return previous  # moved already, at this very history, by a recommendation
    standardization = Standardization.of(known.values)
    posterior = Posterior.of(known.representative(MANY), standardization, settings, regression)
    rng, wanted = stream(seed, "hyperparameters", n), replace(settings, draws=_count(n, settings))
    if carried is None or len(carried.draws) < wanted.draws:
        draws = first_draws(posterior, wanted, rng)
    else:
        old = _rescaled(np.array(carried.draws), np.log(carried.scale) - np.log(standardization.scale))
        draws = move_draws(posterior, old, surrogate.weights, wanted, rng)
    moved = Carried(
        tuple(tuple(float(v) for v in draw) for draw in draws),
        n,
        standardization.location,
        standardization.scale,
        standardization.knee,
        standardization.bend,
    )
    return _extend(None, moved, known, layout, len(known))


def _count(observations: int, settings: Settings) -> int:
    return 1 if settings.sampler == "map" else draws_for(observations, settings)


def _rescaled(draws: Array, log_ratio: float) -> Array:
    """Draws for values in another scale: variances go with its square."""
    out = draws.copy()
    out[:, [0, -1]] += 2.0 * log_ratio
    return out


def _extend(previous: Surrogate | None, carried: Carried, history: History, layout: Layout, seen: int) -> Surrogate:
    """The surrogate of these draws: conditioned at once on the first `seen` observations, then on the later ones in turn."""
    if previous is not None and previous.carried == carried and len(previous.process) == len(history):
        return previous
    standardization = Standardization(carried.location, carried.scale, carried.knee, carried.bend)
    values = standardization.apply(history.values)
    known = standardization.apply_noise(history.noises, history.values)
    draws = np.array(carried.draws)
    noise = np.exp(draws[:, -1])
    if previous is not None and previous.carried == carried and len(previous.process) <= len(values):
        process = previous.process
    else:
        first = slice(0, seen)
        process = condition(
            layout.kernel(draws), Probes.values(history.points[first]), values[first], noise[:, None] + known[None, first]
        )
    later = slice(len(process), None)
    if len(history.points[later]):
        process = process.append(Probes.values(history.points[later]), values[later], noise[:, None] + known[None, later])
    return Surrogate(
        process,
        _weights(process, seen),
        noise,
        values,
        standardization,
        history.space,
        carried,
    )


def _weights(process: GaussianProcess, seen: int) -> Array:
    """How well each draw foresaw the observations after the first `seen`: its share of their predictive density.

    With e the whitened innovations: log p(y_j | before) = -e_j^2/2 - log sd_j, and 1/sd_j is on the whitener's diagonal.
    """
    later = slice(seen, None)
    diagonal = np.diagonal(process.whitener, axis1=1, axis2=2)[:, later]
    log_density = (np.log(diagonal) - 0.5 * process.whitened[:, later] ** 2).sum(axis=1)
    weights = np.exp(log_density - log_density.max())
    return np.asarray(weights / weights.sum())
