"""The recommendation: where the mixture's posterior mean is lowest at full fidelity (paper §2.4)."""

from __future__ import annotations

import numpy as np

from farthing.method.local_minima import LocalMinima
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array
from farthing.trials import History, Recommendation


def recommend(history: History, surrogate: Surrogate, minima: LocalMinima) -> Recommendation:
    """The best place by all that is known, with its expected value and standard deviation in the user's units.

    After a confirmation only places evaluated at full fidelity are considered: a run ends with a place that was tried, and never
    below the best one tried.
    """
    x = _best_evaluated(history, surrogate) if history.confirmed else minima.x[0]
    mean, variance = surrogate.mixture(x[None])
    value, sd = surrogate.standardization.restore(float(mean[0]), float(np.sqrt(variance[0])))
    return Recommendation(history.space.params(x), value, sd)


def _best_evaluated(history: History, surrogate: Surrogate) -> Array:
    d = surrogate.dimensions
    at_full = history.points[(history.points[:, d:] == 0.0).all(axis=1), :d]
    mean, _ = surrogate.mixture(at_full)
    return np.asarray(at_full[np.argmin(mean)])
