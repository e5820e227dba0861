"""The recommendation: where the mixture's posterior mean is lowest at full fidelity (paper §2.4)."""

from __future__ import annotations

import numpy as np

from farthing.method.local_minima import LocalMinima
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array, Probes
from farthing.trials import History, Recommendation

SAME_PLACE = 1e-9

REGRET_DRAWS = 128
"""Joint draws for each hyperparameter draw when regret is estimated."""


def recommend(history: History, surrogate: Surrogate, minima: LocalMinima) -> Recommendation:
    """The best place by all that is known, with its expected value and standard deviation in the user's units.

    After a confirmation only places evaluated at full fidelity are considered: a run ends with a place that was tried, and never
    below the best one tried. A place that has failed is no recommendation.
    """
    tried = _best_evaluated(history, surrogate) if history.confirmed else None
    if tried is not None:
        return recommendation_of(history, surrogate, tried)
    sound = _sound(np.concatenate([minima.x, minima.evaluated]), history)
    if not len(sound):
        sound = _by_mean(_sound(history.points[:, : surrogate.dimensions], history), surrogate)
    # Where every place that was evaluated has failed too, at another fidelity, there is no better one to name.
    return recommendation_of(history, surrogate, sound[0] if len(sound) else minima.x[0])


def recommendation_of(history: History, surrogate: Surrogate, x: Array) -> Recommendation:
    """The place x (d,) with what is expected there at full fidelity."""
    mean, variance = surrogate.mixture(x[None])
    value, sd = surrogate.standardization.restore(float(mean[0]), float(np.sqrt(variance[0])))
    return Recommendation(history.space.params(x), value, sd)


def _best_evaluated(history: History, surrogate: Surrogate) -> Array | None:
    """The place with the lowest mean among those evaluated at full fidelity, if there are any."""
    d = surrogate.dimensions
    at_full = history.points[(history.points[:, d:] == 0.0).all(axis=1), :d]
    if not len(at_full):
        return None
    return np.asarray(_by_mean(at_full, surrogate)[0])


def _sound(places: Array, history: History) -> Array:
    """Those of the places (m, d) at which nothing has failed."""
    failed = history.failed[:, : places.shape[1]]
    return places[(np.abs(places[:, None] - failed[None]).max(axis=2) > SAME_PLACE).all(axis=1)]


def _by_mean(places: Array, surrogate: Surrogate) -> Array:
    """The places (m, d), that with the lowest mean first."""
    return places[np.argsort(surrogate.mixture(places)[0], kind="stable")]


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
