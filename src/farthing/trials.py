"""What happened and why: trials, and the arrays the method works on.

A Trial is a proposal on its way: pending, then complete or failed. Everything a later step needs travels in it, so that a study
rebuilt from its trials, in another process or from a database, goes on exactly as it would have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farthing.space import Space

Array = NDArray[np.float64]

PENDING, COMPLETE, FAILED, ABANDONED = STATES = "pending", "complete", "failed", "abandoned"
INITIAL, REPEAT, CHECK, TRUTH = "initial", "repeat", "check", "truth"
LUCK, NEIGHBOR, GREED = "luck", "neighbor", "greed"
ACQUISITION, DOUBT = CHOSEN = "acquisition", "doubt"
"""Kinds of proposals that took thought."""

SAME_VALUE = 1e-4
"""Values are the same again if they differ by at most this share of the values' standard deviation."""


@dataclass(frozen=True)
class Evaluation:
    """What an objective may return instead of a number: the value, what it cost, and the standard deviation of its noise."""

    value: float
    cost: float | None = None
    noise: float | None = None


@dataclass(frozen=True)
class Recommendation:
    """The best parameters by all that is known, with the objective's expected value there at full fidelity and its uncertainty."""

    params: dict[str, Any]
    mean: float
    std: float


@dataclass(frozen=True)
class Carried:
    """What one step hands to the next: hyperparameter draws, how many observations they saw, and the scale they are in.

    draws: K hyperparameter vectors (method/hyperparameters.py) for standardized values (method/standardization.py).
    """

    draws: tuple[tuple[float, ...], ...]
    observations: int
    location: float
    scale: float
    knee: float
    bend: float


@dataclass(frozen=True)
class Proposal:
    """Why a trial was made. What was not computed is None.

    kind: initial, repeat, acquisition, doubt, luck, neighbor, greed, check, truth, confirmation or added.
    information_share, price_share: its information gain and its price (overhead included), as shares of those at full fidelity.
    effort: the level at which it was thought of (method/effort.py).
    """

    kind: str
    predicted_cost: float | None = None
    information_gain: float | None = None
    information_rate: float | None = None
    horizon: int | None = None
    mean_overhead: float | None = None
    information_share: float | None = None
    price_share: float | None = None
    recommendation: Recommendation | None = None
    carried: Carried | None = None
    effort: str | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Proposal:
        """From what `asdict` gave, perhaps by way of JSON."""
        recommendation, carried = data.get("recommendation"), data.get("carried")
        if carried is not None:
            carried = Carried(**{**carried, "draws": tuple(tuple(draw) for draw in carried["draws"])})
        return cls(**{**data, "recommendation": recommendation and Recommendation(**recommendation), "carried": carried})


@dataclass(frozen=True)
class Trial:
    """One evaluation, asked for or added.

    params, fidelity: in the user's units; overhead: seconds of thinking before it; order: which of the results it was;
    reason, traceback: why there is no value; owner: who evaluates it, if a run does; started: seconds since 1970.
    """

    number: int
    params: dict[str, Any]
    fidelity: float | int | None
    proposal: Proposal
    fidelity_name: str | None = None
    state: str = PENDING
    value: float | None = None
    cost: float | None = None
    noise: float | None = None
    overhead: float = 0.0
    order: int | None = None
    reason: str | None = None
    traceback: str | None = None
    stated_cost: bool = False
    owner: str | None = None
    started: float | None = None

    @property
    def kwargs(self) -> dict[str, Any]:
        """Parameters and fidelity together, for calling the objective."""
        return {**self.params} if self.fidelity_name is None else {**self.params, self.fidelity_name: self.fidelity}

    @property
    def charge(self) -> float:
        """What it has cost, or is predicted to cost as long as that is not known; nothing if it was added."""
        known = self.cost if self.cost is not None else self.proposal.predicted_cost
        return 0.0 if known is None or self.proposal.kind == "added" else known

    def to_json(self) -> str:
        """This trial as JSON; `from_json` gives it back exactly."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Trial:
        data = json.loads(text)
        return cls(**{**data, "proposal": Proposal.of(data["proposal"])})

    def completed(self, value: float, cost: float | None, noise: float | None, stated_cost: bool) -> Trial:
        return replace(self, state=COMPLETE, value=value, cost=cost, noise=noise, stated_cost=stated_cost, reason=None)

    def failed(self, reason: str, cost: float, traceback: str | None = None) -> Trial:
        return replace(self, state=FAILED, reason=reason, cost=cost, traceback=traceback)


@dataclass(frozen=True)
class History:
    """All trials of a study as arrays. Observations come in the order in which they were told.

    space: of the study; trials: by number; with_fidelity: whether the points have s as their last axis.
    """

    space: Space
    trials: tuple[Trial, ...]
    with_fidelity: bool

    @classmethod
    def of(cls, space: Space, trials: Iterable[Trial], chooses_fidelity: bool) -> History:
        """s becomes an axis if the method chooses it, or if something was evaluated below full fidelity."""
        trials = tuple(trials)
        with_fidelity = space.fidelity is not None and (
            chooses_fidelity or bool((space.unit_fidelities([t.fidelity for t in trials]) > 0.0).any())
        )
        return cls(space, trials, with_fidelity)

    def __len__(self) -> int:
        """How many observations there are."""
        return len(self._complete)

    @cached_property
    def _complete(self) -> list[Trial]:
        done = (t for t in self.trials if t.state == COMPLETE and t.proposal.kind != REPEAT)
        return sorted(done, key=lambda t: t.order or 0)

    @cached_property
    def repeatable(self) -> bool | None:
        """Whether the objective gave the same value again where it was asked to; None where it was not.

        What a repeat gave is no observation: two equal values at one place would tell a surrogate that there is no noise, and it
        would have to take every unevenness of the objective for a feature.
        """
        again = [t for t in self.trials if t.state == COMPLETE and t.proposal.kind == REPEAT]
        if not again or not len(self):
            return None
        apart = np.abs(self._unit(again)[:, None] - self.points[None]).max(axis=2)
        first = self.values[np.argmin(apart, axis=1)]
        return bool((np.abs([t.value for t in again] - first) <= SAME_VALUE * np.std(self.values)).all())

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """(D,) the axis to which each column of the points belongs; the fidelity is the last."""
        return np.append(self.space.groups, len(self.space.axes)) if self.with_fidelity else self.space.groups

    def _unit(self, trials: list[Trial]) -> Array:
        points = self.space.unit_points([t.params for t in trials])
        if not self.with_fidelity:
            return points
        return np.column_stack([points, self.space.unit_fidelities([t.fidelity for t in trials])])

    @cached_property
    def points(self) -> Array:
        """(n, D) unit points of the observations."""
        return self._unit(self._complete)

    @cached_property
    def pending(self) -> Array:
        """(m, D) unit points of the trials that are still to end."""
        return self._unit([t for t in self.trials if t.state == PENDING])

    @cached_property
    def failed(self) -> Array:
        """(m, D) unit points of the trials that failed."""
        return self._unit([t for t in self.trials if t.state == FAILED])

    @cached_property
    def values(self) -> Array:
        return np.array([t.value for t in self._complete], dtype=float)

    @cached_property
    def noises(self) -> Array:
        """(n,) known standard deviations, 0 where none was stated."""
        return np.array([t.noise or 0.0 for t in self._complete], dtype=float)

    @cached_property
    def costs(self) -> tuple[Array, Array]:
        """(c, D) unit points and (c,) costs of the observations whose cost is known."""
        known = np.array([t.cost is not None for t in self._complete], dtype=bool)
        return self.points[known], np.array([t.cost for t in self._complete if t.cost is not None], dtype=float)

    def overheads(self, effort: str) -> tuple[Array, Array]:
        """The step (number of earlier trials) and the seconds of overhead of every proposal that was thought of at that level.

        The initial design took no thought; old records, which do not tell their level, count for each.
        """
        asked = [t for t in self.trials if t.proposal.kind in CHOSEN and t.proposal.effort in (None, effort)]
        return np.array([t.number for t in asked], dtype=float), np.array([t.overhead for t in asked], dtype=float)

    @property
    def carried(self) -> Carried | None:
        """The hyperparameter draws of the latest trial that has any."""
        return next((t.proposal.carried for t in reversed(self.trials) if t.proposal.carried is not None), None)

    def carried_at(self, effort: str) -> Carried | None:
        """Those of the latest trial thought of at that level, so that each level goes on with its own; else of the latest."""
        own = (t.proposal.carried for t in reversed(self.trials) if t.proposal.effort == effort)
        return next((carried for carried in own if carried is not None), self.carried)

    def thinned(self, most: int) -> History:
        """Every second trial, or every fourth and so on, so that at most so many are left; the same ones while few are added."""
        return self if len(self.trials) <= most else replace(self, trials=self.trials[:: thinning(len(self.trials), most)])

    def representative(self, most: int) -> History:
        """At most so many observations: an eighth the lowest, an eighth the latest, the rest as far apart as can be.

        Searches crowd their observations; a surrogate that saw the crowd alone would know little of the rest of the space.
        """
        if len(self) <= most:
            return self
        chosen = np.zeros(len(self), dtype=bool)
        chosen[np.argsort(self.values, kind="stable")[: most // 8]] = True
        chosen[len(self) - most // 8 :] = True
        points = self.points
        distance = np.full(len(self), np.inf)
        for taken in points[chosen]:
            np.minimum(distance, ((points - taken) ** 2).sum(axis=1), out=distance)
        while chosen.sum() < most:
            farthest = int(np.argmax(np.where(chosen, -1.0, distance)))
            chosen[farthest] = True
            np.minimum(distance, ((points - points[farthest]) ** 2).sum(axis=1), out=distance)
        return replace(self, trials=tuple(t for t, kept in zip(self._complete, chosen, strict=True) if kept))

    def as_if(self, values: Array) -> History:
        """The same trials, but observations have the values (n,), and no draws were made given other ones."""
        told = {trial.number: float(value) for trial, value in zip(self._complete, values, strict=True)}
        anew = (replace(t, value=told.get(t.number, t.value), proposal=replace(t.proposal, carried=None)) for t in self.trials)
        return replace(self, trials=tuple(anew))

    @property
    def confirmed(self) -> bool:
        """Whether the latest result, a value or a failure, is that of a confirmation at full fidelity."""
        ended = [t for t in self.trials if t.order is not None]
        return bool(ended) and max(ended, key=lambda t: t.order or 0).proposal.kind == "confirmation"

    @cached_property
    def spent(self) -> float:
        """Cost of all results, failures included, but not of what was added from elsewhere."""
        return float(sum(t.cost or 0.0 for t in self.trials if t.proposal.kind != "added"))

    @cached_property
    def overhead_seconds(self) -> float:
        return float(sum(t.overhead for t in self.trials))


def thinning(trials: int, most: int) -> int:
    """The power of two by which so many trials are thinned to at most `most`."""
    stride = 1
    while (trials + stride - 1) // stride > most:
        stride *= 2
    return stride
