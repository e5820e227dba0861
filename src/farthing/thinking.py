"""What a study thinks with: its beliefs, kept from one step to the next, and the seconds that thinking takes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from farthing.definition import Definition
from farthing.errors import NothingToReport
from farthing.evaluation import Clock
from farthing.method.propose import Beliefs, Situation, believe
from farthing.method.recommend import expected_regret, recommend, recommendation_of
from farthing.method.streams import stream
from farthing.method.support import draw_support
from farthing.threads import one_blas_thread
from farthing.trials import PENDING, History, Recommendation, Trial


class Thinking:
    """Beliefs of one study and the time they take. What is cached saves work and changes nothing."""

    def __init__(self, definition: Definition, clock: Clock) -> None:
        self.definition = definition
        self._clock = clock
        self._seconds = 0.0
        self._entered: float | None = None
        self._beliefs: Beliefs | None = None

    # Time -------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def metered(self) -> Iterator[None]:
        """Counts the seconds inside as overhead of the next trial, with one BLAS thread. May be nested."""
        if self._entered is not None:
            yield
            return
        self._entered = self._clock()
        try:
            with one_blas_thread():
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

    def situation(self, history: History, budget: float | None) -> Situation:
        """All that the next proposal depends on."""
        definition, rate = self.definition, self.overhead_rate(history)
        remaining = None
        if budget is not None:
            pending = sum(t.proposal.predicted_cost or 0.0 for t in history.trials if t.state == PENDING)
            remaining = budget - history.spent - rate * history.overhead_seconds - pending
        return Situation(history, definition.method, definition.settings, definition.seed, remaining, rate)

    def overhead_rate(self, history: History) -> float:
        """Cost of a second of thinking: 1 where costs are seconds of wall time, as stated otherwise, 0 until it is stated."""
        if self.definition.settings.overhead_price is not None:
            return self.definition.settings.overhead_price
        return 0.0 if any(t.stated_cost and t.proposal.kind != "added" for t in history.trials) else 1.0

    def warn_of_unpriced_overhead(self, done: Trial) -> None:
        """Say so where a stated cost makes the price of overhead unknown."""
        if done.stated_cost and self.definition.settings.overhead_price is None:
            warnings.warn(
                "costs are stated, so farthing cannot tell what a second of its own thinking is worth and leaves it out; "
                "set Settings(overhead_price=...), 1.0 if costs are seconds, 0.0 to leave it out without this warning",
                UserWarning,
                stacklevel=3,
            )

    def believe(self, situation: Situation) -> Beliefs | None:
        """What is believed now; None before the first observation."""
        if not len(situation.history):
            return None
        self._beliefs = believe(situation, self._beliefs)
        return self._beliefs

    def recommend(self, history: History) -> Recommendation:
        """The best parameters by all that is known now."""
        beliefs = self._known(history)
        return recommend(history, beliefs.surrogate, beliefs.minima)

    def at(self, history: History, params: dict[str, Any]) -> Recommendation:
        """These parameters, with what is expected there."""
        return recommendation_of(history, self._known(history).surrogate, history.space.unit_points([params])[0])

    def regret(self, history: History) -> float:
        """How much lower than at the recommendation the minimum is expected to be."""
        beliefs = self._known(history)
        settings = self.definition.settings
        rng = stream(self.definition.seed, "regret", len(history))
        support = draw_support("wlh", beliefs.surrogate, beliefs.minima, beliefs.feasibility, settings.support_points, rng)
        best = recommend(history, beliefs.surrogate, beliefs.minima)
        return expected_regret(beliefs.surrogate, history.space.unit_points([best.params])[0], support, rng)

    def _known(self, history: History) -> Beliefs:
        beliefs = self.believe(self.situation(history, None))
        if beliefs is None:
            raise NothingToReport("nothing was evaluated yet; tell() or add() at least one result first")
        return beliefs
