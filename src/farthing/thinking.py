"""What a study thinks with: its beliefs, kept from one step to the next, and the seconds that thinking takes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from farthing.axes import Array
from farthing.definition import Definition
from farthing.errors import NothingToReport
from farthing.evaluation import Clock
from farthing.method.beliefs import Beliefs, believe
from farthing.method.effort import LIGHT, Tally, affordable, next_level
from farthing.method.propose import propose
from farthing.method.quick import QUICK, quick_point
from farthing.method.recommend import expected_regret, recommend, recommendation_of
from farthing.method.situation import Situation
from farthing.method.streams import stream
from farthing.method.support import draw_support
from farthing.numerics.kernels import family
from farthing.threads import one_blas_thread
from farthing.trials import ACQUISITION, INITIAL, History, Proposal, Recommendation, Trial


class Thinking:
    """Beliefs of one study and the time they take. What is cached saves work and changes nothing."""

    def __init__(self, definition: Definition, clock: Clock) -> None:
        self.definition = definition
        self._clock = clock
        self._seconds = 0.0
        self._entered: float | None = None
        self._beliefs: dict[str, Beliefs] = {}

    # Time -------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def metered(self) -> Iterator[None]:
        """Counts the seconds inside as overhead of the next trial. May be nested."""
        if self._entered is not None:
            yield
            return
        self._entered = self._clock()
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside `metered`: waiting for others is not thinking."""
        self._stop()
        try:
            yield
        finally:
            self._entered = self._clock()

    def _stop(self) -> None:
        assert self._entered is not None
        self._seconds += max(self._clock() - self._entered, 0.0)
        self._entered = None

    def seconds(self) -> float:
        """Thinking since the last trial was begun."""
        return self._seconds + (0.0 if self._entered is None else max(self._clock() - self._entered, 0.0))

    def begun(self) -> None:
        """A trial was begun with all the thinking so far; what follows counts for the next."""
        self._seconds = 0.0
        if self._entered is not None:
            self._entered = self._clock()

    # Beliefs ----------------------------------------------------------------------------------------------------------------

    def situation(self, history: History, tally: Tally, budget: float | None, level: str) -> Situation:
        """All that the next proposal depends on, to be thought about at that level."""
        definition, rate = self.definition, tally.rate(self.definition.settings)
        remaining = self.remaining(tally, budget)
        return Situation(history, definition.method, definition.settings, definition.seed, remaining, rate).at(level)

    def remaining(self, tally: Tally, budget: float | None) -> float | None:
        """What is left of the budget: less costs, less overhead at its price, less what pending trials will cost."""
        if budget is None:
            return None
        pending = sum(t.proposal.predicted_cost or 0.0 for t in tally.pending.values())
        return budget - tally.spent - tally.rate(self.definition.settings) * tally.thinking - pending

    def overhead_rate(self, history: History) -> float:
        """Cost of a second of thinking."""
        return Tally.of(history.space, history.trials).rate(self.definition.settings)

    def level(self, tally: Tally, scarce: bool) -> str:
        """At which level the next proposal may be thought about; scarce: evaluations are, and not time."""
        return next_level(tally, self.definition.settings, self.definition.method, scarce)

    def warn_of_unpriced_overhead(self, done: Trial) -> None:
        """Say so where a stated cost makes the price of overhead unknown."""
        if done.stated_cost and self.definition.settings.overhead_price is None:
            warnings.warn(
                "costs are stated, so farthing cannot tell what a second of its own thinking is worth and leaves it out; "
                "set Settings(overhead_price=...), 1.0 if costs are seconds, 0.0 to leave it out without this warning",
                UserWarning,
                stacklevel=3,
            )

    def quickly(self, tally: Tally) -> tuple[Array, Proposal] | None:
        """The next evaluation without a model, at full fidelity; None where that finds nothing new."""
        definition, number = self.definition, tally.trials
        x = quick_point(tally.search, tally.taken, definition.method, definition.settings, definition.seed, number)
        if x is None:
            return None
        kind = INITIAL if number < definition.settings.initial else ACQUISITION
        return np.append(x, 0.0), Proposal(kind, predicted_cost=tally.full_cost or None, effort=QUICK)

    def believe(self, situation: Situation) -> Beliefs | None:
        """What is believed now; None before the first observation."""
        if not len(situation.history):
            return None
        with one_blas_thread():
            beliefs = believe(situation, self._beliefs.get(situation.effort))
        self._beliefs[situation.effort] = beliefs
        return beliefs

    def propose(self, situation: Situation) -> tuple[Array, Proposal] | None:
        """The next evaluation by all that is believed; None where nothing costs so little as the limit allows."""
        with one_blas_thread():
            return propose(situation, self.believe(situation))

    def recommend(self, history: History) -> Recommendation:
        """The best parameters by all that is known now."""
        with one_blas_thread():
            beliefs = self._known(history)
            return recommend(history, beliefs.surrogate, beliefs.minima, self.definition.settings)

    def at(self, history: History, params: dict[str, Any]) -> Recommendation:
        """These parameters, with what is expected there."""
        with one_blas_thread():
            return recommendation_of(history, self._known(history).surrogate, history.space.unit_points([params])[0])

    def regret(self, history: History) -> float:
        """How much lower than at the recommendation the minimum is expected to be."""
        with one_blas_thread():
            beliefs = self._known(history)
            settings = self.definition.settings
            rng = stream(self.definition.seed, "regret", len(history))
            sampler = "wlh" if family(settings.kernel).smoothness >= 2 else "ei_slice"  # which takes no second derivatives
            support = draw_support(sampler, beliefs.surrogate, beliefs.minima, beliefs.feasibility, settings.support_points, rng)
            best = recommend(history, beliefs.surrogate, beliefs.minima, settings)
            return expected_regret(beliefs.surrogate, history.space.unit_points([best.params])[0], support, rng)

    def _known(self, history: History) -> Beliefs:
        """Beliefs at the level that can be afforded, or at the lightest that has any."""
        tally = Tally.of(history.space, history.trials)
        level = affordable(tally, self.definition.settings, scarce=True)
        beliefs = self.believe(self.situation(history, tally, None, LIGHT if level == QUICK else level))
        if beliefs is None:
            raise NothingToReport("nothing was evaluated yet; tell() or add() at least one result first")
        return beliefs
