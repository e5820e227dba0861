"""Doubt: what if there is a lower minimum elsewhere?

A surrogate that knows one minimum well is sure that there is no lower one: it has learned what the objective is like from what it
saw, most of it near that minimum. Nothing it expects can show that it is wrong. So once there is hardly anything left to hope for,
a third of what is spent from there on is spent on doubt: on proposals that are made as if the minima that are known were not
there. Their *wells* are filled, so that what was seen in them counts as no lower than what is usual outside; a light surrogate of
its own is fitted to that, and no such proposal lies in a well. They go where a study would go that has seen nothing but the rest,
mostly cheaply, and what they find competes with the minimum that is known. A minimum found on the way is looked at once at full
fidelity, because cheaper evaluations may mislead, before its own well is filled. In the last quarter of a budget there is no
doubt: what it would find could hardly be pursued any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.method.domain import Domain
from farthing.method.effort import LIGHT_KNOWN
from farthing.method.local_minima import LocalMinima, distinct
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array
from farthing.trials import DOUBT, History

HARDLY = 1e-2
"""The largest expected improvement, in standardized values, below which there is hardly anything left to hope for."""

SHARE = 1.0 / 3.0
"""Of what is spent since doubt began, the part that is spent on doubt."""

LATE = 0.25
"""Share of the budget left from which on there is no doubt."""

KNOWN = 0.1
"""A minimum other than the best has a well of its own once its sd is below this share of how far above the best it is, or below
HARDLY.
"""

STARTS, EVALUATIONS = 8, 25
"""Of the search for other minima: from how many of the places evaluated outside the best one's well, and how long."""

WAY = np.linspace(0.1, 0.9, 7)
"""Where on the way to a minimum it is looked whether that goes downhill."""

LEVEL = 0.02
"""By how much, in standardized values, a way may rise and still be downhill."""

BOTTOM = 0.1
"""Near the place of a minimum: this share of the squared reach of its well."""

OUTSIDE = 3
"""Evaluations outside all wells without which there is nothing to go by elsewhere."""


def is_due(history: History) -> bool:
    """Whether, if there is hardly any hope, the next proposal is one of doubt: while less than its share has been spent on doubt
    since it began.
    """
    began = next((i for i, t in enumerate(history.trials) if t.proposal.kind == DOUBT), None)
    if began is None:
        return True
    spent = {True: 0.0, False: 0.0}
    for trial in history.trials[began:]:
        spent[trial.proposal.kind == DOUBT] += trial.charge
    return spent[True] < SHARE / (1.0 - SHARE) * spent[False]


@dataclass(frozen=True)
class Wells:
    """Minima that are known, at places (w, d), and what lies within a lengthscale of them: u = sum_i (x_i - c_i)^2 / l_i^2 < reach.

    Where that would be most of the box, reach is half of what u is on average in the box around the best, the first of the places.
    """

    places: Array
    lengthscales: Array

    @property
    def reach(self) -> float:
        # A coordinate that is uniform in [0, 1] has a mean square distance from c of 1/12 + (c - 1/2)^2.
        usual = ((1.0 / 12.0 + (self.places[0] - 0.5) ** 2) / self.lengthscales**2).sum()
        return min(1.0, 0.5 * float(usual))

    def unseen(self, history: History) -> Array | None:
        """The first of the places other than the best near which nothing was evaluated at full fidelity, (d,); None: all were."""
        at_full = history.points[history.points[:, -1] == 0.0, :-1] if history.with_fidelity else history.points
        scaled = (self.places[1:, None] - at_full[None]) / self.lengthscales
        seen = (scaled**2).sum(axis=2).min(axis=1, initial=np.inf) < BOTTOM * self.reach
        return None if seen.all() else np.asarray(self.places[1:][~seen][0])

    def apart(self, x: Array) -> NDArray[np.bool_]:
        """Which of the places (m, d) lie outside all wells."""
        scaled = (x[:, None] - self.places[None]) / self.lengthscales
        return np.asarray((scaled**2).sum(axis=2).min(axis=1) >= self.reach)


def find_wells(surrogate: Surrogate, minima: LocalMinima, history: History) -> Wells:
    """The best minimum, and those others that are known so well that nothing more is to be found there."""
    lengthscales = np.exp(surrogate.weights @ np.log(surrogate.process.kernel.lengthscales))[: surrogate.dimensions]
    best = Wells(minima.x[:1], lengthscales)
    places = np.unique(history.representative(LIGHT_KNOWN).points[:, : surrogate.dimensions], axis=0)
    places = places[best.apart(places)]
    if not len(places):
        return best
    starts = places[np.argsort(_mean(surrogate, places), kind="stable")[:STARTS]]
    # Choices are not exchanged: every combination of them has minima of its own.
    domain = Domain(surrogate.space, with_fidelity=False)
    found, values = domain.minimize(surrogate.mean_and_gradient, starts, EVALUATIONS, exchange=False)
    found = found[distinct(found, values, 0.03)]
    found = np.concatenate([best.places, found[best.apart(found)]])
    mean, variance = surrogate.mixture(found)
    known = np.sqrt(variance) < np.maximum(KNOWN * (mean - mean[0]), HARDLY)
    known[0] = True
    return Wells(found[known], lengthscales)


def filled(history: History, surrogate: Surrogate, wells: Wells) -> History | None:
    """A representative part of the history, as if the wells were not there; None where it has next to nothing outside them.

    What was seen in a well, or where it is downhill all the way to its minimum by the surrogate's mean, is raised to the median of
    what was seen outside.
    """
    part = history.representative(LIGHT_KNOWN)
    places = part.points[:, : surrogate.dimensions]
    apart = wells.apart(places)
    if apart.sum() < OUTSIDE:
        return None
    inside = ~apart
    mean = _mean(surrogate, places)
    for place in wells.places:
        way = places[:, None] + WAY[:, None] * (place - places)[:, None]
        on_the_way = _mean(surrogate, way.reshape(-1, places.shape[1])).reshape(len(places), -1)
        inside |= on_the_way.max(axis=1) <= mean + LEVEL
    usual = np.median(part.values[apart])
    return part.as_if(np.where(inside, np.maximum(part.values, usual), part.values))


def _mean(surrogate: Surrogate, places: Array) -> Array:
    """The mixture's mean at full fidelity at places (m, d)."""
    return np.asarray(surrogate.weights @ surrogate.process.mean_at(surrogate.at_full_fidelity(places)))
