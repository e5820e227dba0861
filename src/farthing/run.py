"""The decisions of a run: the next trial, the confirmation when it is time for that, or the reason to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from farthing.axes import Array
from farthing.errors import SpaceExhausted
from farthing.evaluation import Outcome
from farthing.journal import Journal
from farthing.loop import BY_CALLBACK, BY_KEYBOARD
from farthing.method.beliefs import Beliefs
from farthing.method.effort import LIGHT, Tally
from farthing.method.propose import propose
from farthing.method.quick import QUICK
from farthing.method.recommend import best_by_mean, recommendation_of
from farthing.method.situation import Situation
from farthing.owners import this_owner
from farthing.report import Standing
from farthing.thinking import Thinking
from farthing.threads import one_blas_thread
from farthing.trials import History, Proposal, Recommendation, Trial

SPENT, EXHAUSTED = "budget spent", "every point of the space has been evaluated"
"""Why a run ended."""

OVERDRAFT = 1.1
"""The confirmation may cost this many times what is left: costs are predicted, and it would be a pity to miss it by a little."""

SHOWN = 0.1
"""Seconds for which a standing is shown at least while steps are quick: to work it out takes longer than such a step."""

Decision = tuple[Array, Proposal] | str | None
"""A unit point (x, s) and why; or the reason to end; or None: wait for what is running."""


def begin_trial(journal: Journal, thinking: Thinking, decide: Callable[[], Decision], owner: str | None) -> Trial | str | None:
    """The trial that `decide` decides on, pending in the store; or what else it says. It is asked again where another process was
    faster, and then knows of the trial of that one.
    """
    with thinking.metered():
        while True:
            journal.reclaim()
            with ExitStack() as stack:
                with thinking.paused():
                    stack.enter_context(journal.turn())
                decided = decide()
                if not isinstance(decided, tuple):
                    return decided
                trial = journal.begin(*decided, thinking.seconds(), owner)
            if trial is not None:
                thinking.begun()
                return trial


@dataclass(frozen=True)
class StopRules:
    """When to end a run before its budget does.

    target: when an evaluation at full fidelity is at or below it; a recommendation that is expected to be is evaluated at once.
    regret: when the minimum is expected to be less than this below the recommendation (`Study.expected_regret`).
    """

    target: float | None = None
    regret: float | None = None


@dataclass
class Run:
    """One run of a study: what `farthing.loop` asks for. show_standing: told how things stand at every step, if given."""

    journal: Journal
    thinking: Thinking
    budget: float | None
    rules: StopRules
    evaluations: int | None
    show_standing: Callable[[Standing], None] | None
    ending: str | None = None
    begun: int = 0
    quick: bool = False
    shown: float = 0.0

    def begin(self, last: bool, alone: bool) -> Trial | str | None:
        """The next trial, pending in the store; or why to end; or None: nothing to do before a running one ends."""
        if self.ending is not None:
            return self.ending
        begun = begin_trial(self.journal, self.thinking, lambda: self._decide(last, alone), this_owner())
        if isinstance(begun, Trial):
            self.begun += 1
            self.quick = begun.proposal.effort == QUICK
        return begun

    def take(self, trial: Trial, outcome: Outcome) -> Trial:
        """Record what came of a trial."""
        with self.thinking.metered():
            if outcome.evaluation is None:
                return self.journal.fail(trial, outcome.reason or "", outcome.traceback, None, outcome.seconds)
            done = self.journal.complete(trial, outcome.evaluation, outcome.seconds)
            self.thinking.warn_of_unpriced_overhead(done)
            return done

    def abandon(self, trial: Trial, reason: str) -> Trial:
        """Record that nothing will come of a trial."""
        return self.journal.abandon(trial, reason)

    def show(self, running: list[Trial]) -> None:
        """Tell the user how things stand."""
        if not self.quick or time.monotonic() - self.shown > SHOWN:
            self._show(running, None)

    def show_end(self) -> None:
        """Tell the user how things stand after the last evaluation."""
        history = self._history()
        if self.show_standing is not None and len(history):
            self._show([], self.recommendation())

    def recommendation(self) -> Recommendation:
        """What the run ends with: the place that reached the target, if one did, or else the best by all that is known."""
        with self.thinking.metered():
            history, reached = self._history(), self._at_target(self.journal.tally)
            return self.thinking.recommend(history) if reached is None else self.thinking.at(history, reached.params)

    def concluded(self, reason: str) -> str:
        """Why the run ended, by its last result too: that may have reached the target, whatever else would have ended it."""
        reached = self._at_target(self.journal.tally)
        return reason if reached is None or reason in (BY_CALLBACK, BY_KEYBOARD) else _reached_by(reached)

    def _show(self, running: list[Trial], final: Recommendation | None) -> None:
        if self.show_standing is not None:
            self.shown = time.monotonic()
            history, rate = self._history(), self.journal.tally.rate(self.thinking.definition.settings)
            done = self.begun - len(running)
            self.show_standing(Standing(history, tuple(running), self.budget, self.evaluations, done, rate, final))

    # Decisions --------------------------------------------------------------------------------------------------------------

    def _history(self) -> History:
        return self.journal.history(self.thinking.definition.method.chooses_fidelity)

    def _decide(self, last: bool, alone: bool) -> Decision:
        tally = self.journal.tally
        remaining = self.thinking.remaining(tally, self.budget)
        reached = self._at_target(tally)
        if reached is not None:
            return _reached_by(reached)
        if remaining is not None and remaining <= 0.0:
            return self._spent(tally)
        level = self.thinking.level(tally, scarce=self.evaluations is not None)
        if level == QUICK:
            # How to end takes a model.
            quick = None if last or self._near_the_end(tally, remaining) else self.thinking.quickly(tally)
            if quick is not None:
                return quick
            level = LIGHT
        with one_blas_thread():
            return self._decide_by_beliefs(self.thinking.situation(self._history(), tally, self.budget, level), last, alone)

    def _near_the_end(self, tally: Tally, remaining: float | None) -> bool:
        """Whether after one more evaluation there may not be enough left for a confirmation and the thought it takes."""
        thought = tally.rate(self.thinking.definition.settings) * tally.seconds(LIGHT)
        return remaining is not None and remaining < 3.0 * (tally.full_cost + thought)

    def _decide_by_beliefs(self, situation: Situation, last: bool, alone: bool) -> Decision:
        history = situation.history
        beliefs = self.thinking.believe(situation)
        if beliefs is None:
            try:
                return propose(situation, None)
            except SpaceExhausted:
                return EXHAUSTED if alone else None
        end = _End.of(situation, beliefs)
        if self._promises_target(end.best, situation) and end.confirmable:
            return end.confirmation() if alone else None
        if self._regret_is_small(history, situation):
            return self._finish(end, alone, f"expected regret below {self.rules.regret:g}")
        unspent = situation.remaining
        if unspent is not None and history.confirmed and end.cost > unspent:
            return SPENT  # what was found is confirmed, and nothing better could be
        if last and end.confirmable:
            return self._finish(end, alone, SPENT)
        if unspent is not None and end.priced:
            # Kept back: this step's thinking, and the confirmation with its own, if it can be paid for.
            thinking = situation.overhead_rate * beliefs.overhead(situation.number + np.arange(2.0))
            left = unspent - thinking[0] - (end.cost + thinking[1] if end.confirmable else 0.0)
            situation = replace(situation, remaining=left, limit=left)
        reason = SPENT
        if situation.limit is None or situation.limit > 0.0:
            try:
                proposed = propose(situation, beliefs)
            except SpaceExhausted:
                proposed, reason = None, EXHAUSTED
            if proposed is not None:
                return proposed
        return self._finish(end, alone, reason)

    def _spent(self, tally: Tally) -> str:
        """That the budget is spent; and how much of it trials hold of which nothing was heard."""
        held = [t for _, t in sorted(tally.pending.items()) if t.proposal.predicted_cost]
        if not held:
            return SPENT
        amount = sum(t.proposal.predicted_cost or 0.0 for t in held)
        numbers = ", ".join(str(t.number) for t in held[:5])
        return f"{SPENT}, {amount:.4g} of it held for pending trials ({numbers}); tell or abandon those that nobody evaluates"

    def _finish(self, end: _End, alone: bool, reason: str) -> Decision:
        """Confirm the recommendation, if that is still to be done, once nothing else is running; then end."""
        if not end.confirmable:
            return reason
        if not alone:
            return None
        self.ending = reason
        return end.confirmation()

    def _at_target(self, tally: Tally) -> Trial | None:
        """The trial at full fidelity with the lowest value, if that is at or below the target."""
        lowest, target = tally.lowest, self.rules.target
        return lowest if target is not None and lowest is not None and (lowest.value or 0.0) <= target else None

    def _promises_target(self, best: Recommendation, situation: Situation) -> bool:
        return self.rules.target is not None and _designed(situation) and best.mean <= self.rules.target

    def _regret_is_small(self, history: History, situation: Situation) -> bool:
        return self.rules.regret is not None and _designed(situation) and self.thinking.regret(history) < self.rules.regret


def _reached_by(trial: Trial) -> str:
    return f"target reached by trial {trial.number}"


def _designed(situation: Situation) -> bool:
    """Whether the initial design is over: before, a surrogate is not to be trusted with an end."""
    return situation.number >= situation.settings.initial


@dataclass(frozen=True)
class _End:
    """How a run would end now: with the place held for the best, at full fidelity, if that is to be evaluated and can be paid for.

    best: that place; cost: predicted, of that evaluation; priced: whether it follows from costs, and not from priors alone.
    """

    best: Recommendation
    point: Array
    cost: float
    priced: bool
    confirmable: bool
    beliefs: Beliefs
    effort: str

    @classmethod
    def of(cls, situation: Situation, beliefs: Beliefs) -> _End:
        history = situation.history
        x = best_by_mean(history, beliefs.surrogate, beliefs.minima)[None]
        best = recommendation_of(history, beliefs.surrogate, x[0])
        full = beliefs.surrogate.at_full_fidelity(x)
        known = np.concatenate([history.points, history.failed])
        tried = bool((np.abs(known - full).max(axis=1) < 1e-9).any())
        cost, priced = float(beliefs.cost(full)[0]), len(history.costs[1]) > 0
        payable = situation.remaining is None or not priced or cost <= OVERDRAFT * situation.remaining
        confirmable = situation.settings.confirm and not tried and payable
        return cls(best, np.append(x[0], 0.0), cost, priced, confirmable, beliefs, situation.effort)

    def confirmation(self) -> tuple[Array, Proposal]:
        carried = self.beliefs.surrogate.carried
        return self.point, Proposal(
            "confirmation", predicted_cost=self.cost, recommendation=self.best, carried=carried, effort=self.effort
        )
