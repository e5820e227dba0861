"""The recommendation: where the mixture's posterior mean is lowest at full fidelity (paper §2.4), or the best place tried there."""

from __future__ import annotations

import numpy as np

from farthing.method.local_minima import LocalMinima
from farthing.method.roughness import is_rough, repeatability
from farthing.method.surrogate import Surrogate
from farthing.method.trust import is_disappointed
from farthing.numerics.kernels import Array, Probes
from farthing.numerics.scipy_lazily import normal_cdf
from farthing.settings import Settings
from farthing.trials import History, Recommendation

SAME_PLACE = 1e-9

TRIED = 128
"""Places tried at full fidelity that may be recommended: so many, those with the lowest values."""

LIKELY = 0.8
"""Chance with which a place that was not tried must be better than those that were, after a check that disappointed."""

REGRET_DRAWS = 128
"""Joint draws for each hyperparameter draw when regret is estimated."""


def recommend(history: History, surrogate: Surrogate, minima: LocalMinima, settings: Settings) -> Recommendation:
    """The best place by all that is known, with its expected value and standard deviation in the user's units.

    That is where the mean is lowest, or a place tried at full fidelity where less is to be expected. After a confirmation it is one
    of those: a run ends with a place that was tried. Where the objective is rough it is too, since between the places tried it is
    not what it seems; and after a check that disappointed, unless the other is likely to be better; but where there is noise for
    certain, a check that was worse than the lowest value is no wonder.
    """
    tried, expected = tried_at_full(history, surrogate, settings)
    best = best_by_mean(history, surrogate, minima)
    noisy = bool(settings.noise) or bool(history.noises.any()) or history.repeatable is False
    needed = LIKELY if is_disappointed(history) and not noisy else 0.5
    known = history.confirmed or is_rough(history, surrogate, settings)
    if len(tried) and (known or _chance(best, expected.min(), surrogate) < needed):
        best = tried[int(np.argmin(expected))]
    return recommendation_of(history, surrogate, best)


def best_by_mean(history: History, surrogate: Surrogate, minima: LocalMinima) -> Array:
    """The place (d,) with the lowest mean. One that has failed is none, unless all have failed."""
    sound = _sound(np.concatenate([minima.x, minima.evaluated]), history)
    if not len(sound):
        places = _sound(history.points[:, : surrogate.dimensions], history)
        sound = places[np.argsort(surrogate.mean(places), kind="stable")]
    # Where every place that was evaluated has failed too, at another fidelity, there is no better one to name.
    return np.asarray(sound[0] if len(sound) else minima.x[0])


def _chance(x: Array, value: float, surrogate: Surrogate) -> float:
    """That the objective at x (d,) is at or below a standardized value."""
    mean, variance = surrogate.mixture(x[None])
    return float(normal_cdf((value - mean[0]) / np.sqrt(np.maximum(variance[0], 1e-300))))


def recommendation_of(history: History, surrogate: Surrogate, x: Array) -> Recommendation:
    """The place x (d,) with what is expected there at full fidelity."""
    mean, variance = surrogate.mixture(x[None])
    value, sd = surrogate.standardization.restore(float(mean[0]), float(np.sqrt(variance[0])))
    return Recommendation(history.space.params(x), value, sd)


def tried_at_full(history: History, surrogate: Surrogate, settings: Settings) -> tuple[Array, Array]:
    """Places (m, d) evaluated at full fidelity, those with the lowest values, and what to expect of them, standardized.

    What was not stated to be noise may be the roughness of an objective that gives the same value again: of a model trained with a
    fixed seed the value seen is the truth, and the mean is not. So it is between the two, by how likely that is, until a repeat has
    told.
    """
    d = surrogate.dimensions
    at_full = (history.points[:, d:] == 0.0).all(axis=1)
    places, which = np.unique(history.points[at_full, :d], axis=0, return_inverse=True)
    counts = np.bincount(which, minlength=len(places))
    seen = np.bincount(which, surrogate.standardization.apply(history.values[at_full]), len(places)) / counts
    noisy = np.bincount(which, history.noises[at_full] > 0.0, len(places)) > 0.0
    lowest = np.argsort(seen, kind="stable")[:TRIED]
    places, seen, noisy = places[lowest], seen[lowest], noisy[lowest]
    mean = surrogate.mean(places)
    return places, mean + np.where(noisy, 0.0, repeatability(history, settings)) * (seen - mean)


def _sound(places: Array, history: History) -> Array:
    """Those of the places (m, d) at which nothing has failed."""
    failed = history.failed[:, : places.shape[1]]
    return places[(np.abs(places[:, None] - failed[None]).max(axis=2) > SAME_PLACE).all(axis=1)]


def expected_regret(surrogate: Surrogate, recommended: Array, support: Array, rng: np.random.Generator) -> float:
    """How much lower than at the recommended place (d,) the minimum is expected to be, in the user's units.

    The mean over hyperparameter draws and joint posterior draws of f(recommended) - min f, the minimum being over support points
    (m, d) and the place itself. In the scale of values below the median, where recommendations lie.
    """
    process = surrogate.process
    z = surrogate.at_full_fidelity(np.concatenate([recommended[None], support]))
    draws = process.sample(Probes.values(z), rng, REGRET_DRAWS)
    shortfall = (draws[:, :, 0] - draws.min(axis=2)).mean(axis=1)
    return float(surrogate.weights @ shortfall) * surrogate.standardization.scale
