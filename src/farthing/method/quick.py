"""Quick proposals: no model, only recorded values, in a fraction of a millisecond.

Where evaluations take milliseconds, the time a model takes buys hundreds of them. After a Latin hypercube most proposals are the
best place so far, displaced by a random step; each that improves on it doubles the step, each that does not shortens it by the
fourth root of two, so that it settles where one in five improves (Rechenberg's rule). Every tenth proposal is anywhere. A search
whose step has become short has converged: the next begins elsewhere, and where it comes to nothing better, the best place is
refined. All of it is worked out from results in their order, each in constant time, so that a study rebuilt from its trials goes on
the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from farthing.method.streams import stream
from farthing.methods import Method, Random
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.space import Space
from farthing.trials import Trial

QUICK = "quick"

FIRST_STEP, LONGEST_STEP = 0.2, 0.5
"""Standard deviation of a step on every axis, in units of the box."""

CONVERGED = 1e-3
"""The step at which a search has converged."""

FINER = 10.0
"""Each time the best place is refined, the step may become shorter by so much."""

LOOKING = 5
"""Places anywhere, the best of which a new search begins from."""

LONGER, SHORTER = 2.0, 2.0**-0.25

EXPLORING = 10
"""One in so many proposals is anywhere in the space."""

TRIES = 4
"""Steps that are tried where a place was evaluated already, each twice as long as the one before; and as many places anywhere."""


@dataclass
class Search:
    """Where the search stands.

    place, value: the best of this search at full fidelity, None and infinite before any; best, lowest: of all searches; step: at
    present; converged: the step at which this search ends; finest: the shortest there was; looking: places anywhere still to come.
    """

    space: Space
    place: Array | None = None
    value: float = np.inf
    best: Array | None = None
    lowest: float = np.inf
    step: float = FIRST_STEP
    converged: float = CONVERGED
    finest: float = CONVERGED
    looking: int = 0

    def ended(self, trial: Trial) -> None:
        """Take in the next result, a value at full fidelity or a failure."""
        quick = trial.proposal.effort == QUICK and trial.proposal.kind == "acquisition"
        stepped = quick and not self.looking and not exploring(trial.number)
        self.looking -= quick and self.looking > 0
        value = np.inf if trial.value is None else trial.value
        better = value < (self.value if quick else self.lowest)
        if stepped:
            self.step = min(self.step * LONGER, LONGEST_STEP) if better else self.step * SHORTER
        if better:
            self._found(self.space.unit_points([trial.params])[0], value, stepped)
        if self.step < self.converged:
            self._begin_anew()

    def _found(self, place: Array, value: float, stepped: bool) -> None:
        if not stepped and self.place is not None:
            # Elsewhere the step that was right here may be too short.
            self.step = max(self.step, min(float(np.sqrt(((place - self.place) ** 2).mean())), FIRST_STEP))
        self.place, self.value = place, value
        if value < self.lowest:
            self.best, self.lowest = place, value

    def _begin_anew(self) -> None:
        if self.value > self.lowest:
            self.place, self.value, self.step = self.best, self.lowest, FINER * self.finest
            self.finest /= FINER
            self.converged = self.finest
        else:
            self.place, self.value, self.step = None, np.inf, FIRST_STEP
            self.converged, self.looking = CONVERGED, LOOKING


def quick_point(
    search: Search, taken: Mapping[tuple[object, ...], set[int]], method: Method, settings: Settings, seed: int, number: int
) -> Array | None:
    """The unit point (d,) of trial `number`; None where all that was looked at is taken. With a real axis nothing comes twice."""
    space = search.space
    if number < settings.initial:
        points = space.scatter(_latin(space.dimensions, settings.initial, seed)[number:])
    else:
        rng = stream(seed, "proposal", number)
        points = space.scatter(rng.random((TRIES, space.dimensions)))
        if search.place is not None and not search.looking and not exploring(number) and not isinstance(method, Random):
            points = np.concatenate([_displaced(space, search.place, search.step, points, rng), points])
    if space.reals:
        return np.asarray(points[0])
    return next((p for p in points if not taken.get(tuple(space.params(p).values()))), None)


def exploring(number: int) -> bool:
    """Whether a quick proposal of this number is anywhere."""
    return number % EXPLORING == EXPLORING - 1


def _displaced(space: Space, place: Array, step: float, anywhere: Array, rng: np.random.Generator) -> Array:
    """(TRIES, d) the place moved along its numbers, reflected at the faces; of p axes, each choice is exchanged once in p times.

    anywhere: (TRIES, d), for the choices.
    """
    numbers, d = space.numbers, space.dimensions
    steps = step * 2.0 ** np.arange(TRIES)[:, None]
    points = np.abs(place + steps * rng.standard_normal((TRIES, d)))
    points = np.maximum(np.where(points > 1.0, 2.0 - points, points), 0.0)
    if numbers < d:
        exchanged = (rng.random((TRIES, len(space.axes))) < 1.0 / len(space.axes))[:, space.groups[numbers:]]
        points[:, numbers:] = np.where(exchanged, anywhere[:, numbers:], place[numbers:])
    return space.snap(points)


def _latin(dimensions: int, count: int, seed: int) -> Array:
    """A Latin hypercube: on every axis one of `count` points in each of as many equal parts. (count, dimensions)."""
    rng = stream(seed, "design", 0)
    return (np.argsort(rng.random((count, dimensions)), axis=0) + rng.random((count, dimensions))) / count
