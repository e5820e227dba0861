"""Doubt: what if there is a lower minimum elsewhere?

A surrogate that knows one minimum well is sure that there is no lower one: it has learned what the objective is like from what it
saw, most of it near that minimum. Nothing it expects can show that it is wrong. So once there is hardly anything left to hope for,
two fifths of what is spent from there on are spent on doubt: on proposals that are made as if the minima that are known were not
there. Their *wells* are filled, so that what was seen in them counts as no lower than what is usual outside; a light surrogate of
its own is fitted to that, and no such proposal lies in a well. They go where a study would go that has seen nothing but the rest,
mostly cheaply, and what they find competes with the minimum that is known. Other minima of the mean are looked at, at full
fidelity, because cheaper evaluations may mislead; then their wells are filled too. In the last quarter of a budget there is no
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

SHARE = 0.4
"""Of what is spent since doubt began, the part that is spent on doubt."""

LATE = 0.25
"""Share of the budget left from which on there is no doubt."""

LOOKS = 0.5
"""Of what is spent on doubt, the part that may go into full evaluations of other minima of the mean."""

STARTS, EVALUATIONS = 8, 25
"""Of the search for other minima: from how many of the places evaluated outside the best one's well, and how long."""

WAY = np.linspace(0.1, 0.9, 7)
"""Where on the way to a minimum it is looked whether that goes downhill."""

LEVEL = 0.02
"""By how much, in standardized values, a way may rise and still be downhill."""

ROUGHLY_SAME = 0.03
"""Minima closer than this on every axis are one."""

BOTTOM = 0.03
"""At the bottom of a well: within this share of its squared reach of the minimum."""

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


def may_look(history: History) -> bool:
    """Whether doubt may take a full evaluation of a minimum: while no more than its share has been spent on full ones."""
    if history.space.fidelity is None:
        return True
    spent = {True: 0.0, False: 0.0}
    for trial in history.trials:
        if trial.proposal.kind == DOUBT:
            spent[trial.fidelity == history.space.fidelity.full] += trial.charge
    return spent[True] <= LOOKS / (1.0 - LOOKS) * spent[False]


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

    def apart(self, x: Array) -> NDArray[np.bool_]:
        """Which of the places (m, d) lie outside all wells."""
        scaled = (x[:, None] - self.places[None]) / self.lengthscales
        return np.asarray((scaled**2).sum(axis=2).min(axis=1) >= self.reach)


def find_wells(surrogate: Surrogate, minima: LocalMinima, history: History) -> tuple[Wells, Array | None]:
    """The wells of the best minimum and of others at whose bottom was looked at full fidelity; and the lowest of those at whose
    bottom was not, (d,), if there is one.
    """
    d = surrogate.dimensions
    lengthscales = np.exp(surrogate.weights @ np.log(surrogate.process.kernel.lengthscales))[:d]
    best = Wells(minima.x[:1], lengthscales)
    places = np.unique(history.representative(LIGHT_KNOWN).points[:, :d], axis=0)
    places = places[best.apart(places)]
    if not len(places):
        return best, None
    starts = places[np.argsort(surrogate.mean(places), kind="stable")[:STARTS]]
    # Choices are not exchanged: every combination of them has minima of its own.
    domain = Domain(surrogate.space, with_fidelity=False)
    others, values = domain.minimize(surrogate.mean_and_gradient, starts, EVALUATIONS, exchange=False)
    others = others[distinct(others, values, ROUGHLY_SAME)]
    others = others[best.apart(others)]
    at_full = history.points[(history.points[:, d:] == 0.0).all(axis=1), :d]
    scaled = (others[:, None] - at_full[None]) / lengthscales
    seen = (scaled**2).sum(axis=2).min(axis=1, initial=np.inf) < BOTTOM * best.reach
    return Wells(np.concatenate([best.places, others[seen]]), lengthscales), None if seen.all() else others[~seen][0]


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
    mean = surrogate.mean(places)
    for place in wells.places:
        way = places[:, None] + WAY[:, None] * (place - places)[:, None]
        on_the_way = surrogate.mean(way.reshape(-1, places.shape[1])).reshape(len(places), -1)
        inside |= on_the_way.max(axis=1) <= mean + LEVEL
    usual = np.median(part.values[apart])
    return part.as_if(np.where(inside, np.maximum(part.values, usual), part.values))
