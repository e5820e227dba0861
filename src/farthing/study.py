"""Study: ask for an evaluation, tell its result, get a recommendation; `run` is that loop and nothing else."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farthing.budget import parse_budget
from farthing.checks import as_whole
from farthing.errors import KernelError, NothingToReport, ObjectiveFailed, SettingsError, TrialError, ValueRefused
from farthing.evaluation import Clock, checked, evaluate, nonnegative_number
from farthing.method.propose import Beliefs, Situation, believe, propose
from farthing.method.recommend import recommend
from farthing.methods import PES, Method, method_of
from farthing.numerics.kernels import family
from farthing.report import ProgressLine
from farthing.settings import Settings
from farthing.space import Fidelity, Real, Space
from farthing.store import MemoryStore, Store
from farthing.threads import one_blas_thread
from farthing.trials import ABANDONED, PENDING, Evaluation, History, Proposal, Recommendation, Trial

ALL_DONE, SPENT = "all evaluations done", "budget spent"
"""Why a run ended."""

OVERDRAFT = 1.1
"""The confirmation may cost this many times what is left: costs are predicted, and it would be a pity to miss it by a little."""

MAX_FAILURES = 5
"""A run stops when the objective has failed this many times in a row."""


@dataclass(frozen=True)
class Result:
    """What a run found. x, fun, fun_std: the recommended parameters, the objective expected there at full fidelity, its
    uncertainty.

    cost: of all evaluations; overhead: seconds of thinking; nfev: evaluations; message: why the run ended; study: to go on with.
    """

    x: dict[str, float]
    fun: float
    fun_std: float
    cost: float
    overhead: float
    nfev: int
    message: str
    study: Study


class Study:
    """A problem, what was tried on it, and what to try next.

    space: axes by name; fidelity: what an evaluation may cost, if that can be chosen; budget: a number of cost units, or a time;
    method: a name or an object of `farthing.methods`; seed: same seed and same results give the same proposals;
    store: where trials are kept (in memory if None); clock: seconds, for costs and overheads.
    """

    def __init__(
        self,
        space: Mapping[str, Real],
        *,
        fidelity: Fidelity | None = None,
        budget: float | str | None = None,
        method: str | Method = "envpes",
        seed: int | None = None,
        store: Store | None = None,
        name: str | None = None,
        settings: Settings | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.space = Space(space, fidelity)
        self.budget = parse_budget(budget)
        self.method = method_of(method)
        self.seed = _seed(seed)
        self.name = name
        self.settings = Settings() if settings is None else settings
        if not isinstance(self.settings, Settings):
            raise SettingsError(f"settings are {settings!r}; give a farthing.Settings(...)")
        smoothness = family(self.settings.kernel).smoothness
        if isinstance(self.method, PES) and smoothness < 2:
            raise KernelError(
                f"{type(self.method).__name__} conditions on second derivatives, which {self.settings.kernel} does not have; "
                "use matern52 or squared_exponential, or method='ei'"
            )
        if store is not None and not all(callable(getattr(store, name, None)) for name in ("trials", "insert", "update")):
            raise SettingsError(f"store is {store!r}; give a farthing.store.MemoryStore(), or None")
        self._store: Store = MemoryStore() if store is None else store
        self._clock = clock
        self._thinking = 0.0
        self._metered = False
        self._started: dict[int, float] = {}
        self._beliefs: Beliefs | None = None

    # What is known ----------------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return self._store.trials()

    @property
    def history(self) -> History:
        """All trials as arrays."""
        return History.of(self.space, self.trials, self.method.chooses_fidelity)

    @property
    def remaining(self) -> float | None:
        """What is left of the budget: less costs, less overhead at its price, less what pending trials will cost."""
        return self._situation(self.history).remaining

    def recommend(self) -> Recommendation:
        """The best parameters by all that is known now."""
        with self._thinking_time():
            history = self.history
            if not len(history):
                raise NothingToReport("nothing was evaluated yet; tell() or add() at least one result first")
            beliefs = self._believe(self._situation(history))
            assert beliefs is not None
            return recommend(history, beliefs.surrogate, beliefs.minima)

    # Ask and tell -----------------------------------------------------------------------------------------------------------

    def ask(self) -> Trial:
        """A trial to evaluate next: `trial.params`, `trial.fidelity`, or both as `trial.kwargs`. Several may be pending at once."""
        with self._thinking_time():
            situation = self._situation(self.history)
            proposed = propose(situation, self._believe(situation))
            assert proposed is not None  # no limit was set
            return self._begin(*proposed)

    def tell(self, trial: Trial | int, value: Any, cost: float | None = None, noise: float | None = None) -> Trial:
        """Record the result of a trial, in any order. Without a cost, the seconds since it was asked for count.

        value: a number or an Evaluation; noise: the standard deviation of the value, if known.
        """
        with self._thinking_time():
            trial = self._pending(trial)
            if isinstance(value, Evaluation) and (cost is not None or noise is not None):
                raise ValueRefused("cost or noise was given beside an Evaluation, which has its own; state them once, in either")
            evaluation = checked(value if isinstance(value, Evaluation) else Evaluation(value, cost, noise))
            if evaluation.cost is None and trial.number not in self._started:
                raise TrialError(f"trial {trial.number} was asked for elsewhere, so its time is not known here; give cost=")
            seconds = max(self._clock() - self._started.get(trial.number, np.inf), 0.0)
            return self._complete(trial, evaluation, seconds)

    def fail(self, trial: Trial | int, reason: str, cost: float | None = None) -> Trial:
        """Record that a trial could not be evaluated; its cost counts, and the search keeps away from the very place."""
        with self._thinking_time():
            trial = self._pending(trial)
            if cost is None:
                cost = self._failure_cost(trial, max(self._clock() - self._started.get(trial.number, self._clock()), 0.0))
            done = trial.failed(str(reason), nonnegative_number(cost, "the cost"), self._next_order())
            self._store.update(done)
            return done

    def add(
        self,
        params: Mapping[str, float],
        value: float,
        *,
        fidelity: float | None = None,
        cost: float | None = None,
        noise: float | None = None,
    ) -> Trial:
        """Record what was evaluated elsewhere; it informs the search and is not charged to the budget. Full fidelity by default."""
        with self._thinking_time():
            evaluation = checked(Evaluation(value, cost, noise))
            params = self.space.check_params(params)
            trial = Trial(len(self.trials), params, self.space.check_fidelity(fidelity), Proposal("added"), self._fidelity_name)
            done = replace(
                trial.completed(evaluation.value, 0.0, evaluation.noise, self._next_order(), cost is not None), cost=evaluation.cost
            )
            self._store.insert(done)
            return done

    # The loop ---------------------------------------------------------------------------------------------------------------

    def run(
        self,
        objective: Callable[..., Any],
        *,
        budget: float | str | None = None,
        evaluations: int | None = None,
        workers: int = 1,
        callback: Callable[[Study, Trial], Any] | None = None,
        progress: bool = False,
    ) -> Result:
        """Ask, evaluate, tell, until the budget (in all) or the number of evaluations (in this run) is spent.

        Ends with an evaluation of the recommendation at full fidelity, for which budget is kept back, unless Settings.confirm is
        False. callback(study, trial) is called after each trial; returning True ends the run. Ctrl-C ends it too: the trial then
        running is abandoned, and calling run again goes on from there.
        """
        if not callable(objective):
            raise SettingsError(f"the objective is {objective!r}; give a function of {', '.join(self.space.axes)}")
        if as_whole(workers) != 1:
            raise SettingsError(f"workers is {workers!r}; this version evaluates one trial at a time, leave workers at 1")
        if callback is not None and not callable(callback):
            raise SettingsError(f"the callback is {callback!r}; give a function of the study and a trial, or None")
        count = as_whole(evaluations)
        if evaluations is not None and (count is None or count < 1):
            raise SettingsError(f"evaluations is {evaluations!r}; give a whole number from 1 up")
        if budget is not None:
            self.budget = parse_budget(budget)
        if self.budget is None and evaluations is None:
            raise SettingsError('neither a budget nor a number of evaluations was given; pass budget="30 min" or evaluations=50')
        line = self._progress_line(progress, count)
        try:
            message = self._loop(objective, count, callback, line)
        finally:
            if line is not None:
                line.close()
        return self._result(message)

    def _loop(
        self,
        objective: Callable[..., Any],
        evaluations: int | None,
        callback: Callable[[Study, Trial], Any] | None,
        line: ProgressLine | None,
    ) -> str:
        done, failures = 0, 0
        while True:
            with self._thinking_time():
                left = None if evaluations is None else evaluations - done
                if left == 0:
                    return ALL_DONE
                trial = self._next_trial(last=left == 1)
                if isinstance(trial, str):
                    return trial
                if line is not None:
                    line.show(self.history, trial)
            try:
                outcome = evaluate(objective, trial.kwargs, self._clock)
            except KeyboardInterrupt:
                self._store.update(replace(trial, state=ABANDONED, reason="interrupted", order=self._next_order()))
                if not len(self.history):
                    raise
                return f"stopped by the keyboard at trial {trial.number}; run the study again to go on"
            with self._thinking_time():
                done += 1
                if outcome.evaluation is not None:
                    failures = 0
                    finished = self._complete(trial, outcome.evaluation, outcome.seconds)
                else:
                    failures += 1
                    finished = self.fail(trial, outcome.reason or "", self._failure_cost(trial, outcome.seconds))
                    if failures == MAX_FAILURES:
                        first_line = (outcome.reason or "").partition("\n")[0]
                        raise ObjectiveFailed(
                            f"the objective failed {failures} times in a row, last at {trial.kwargs}: {first_line}"
                        ) from outcome.error
                if callback is not None and callback(self, finished) is True:
                    return "ended by the callback"
                if trial.proposal.kind == "confirmation":
                    return ALL_DONE if left == 1 else SPENT

    def _next_trial(self, last: bool) -> Trial | str:
        """The next trial of a run, the confirmation when it is time for that, or the reason to end."""
        history = self.history
        situation = self._situation(history)
        unspent = situation.remaining
        if unspent is not None and unspent <= 0.0:
            return SPENT
        beliefs = self._believe(situation)
        if beliefs is None:
            proposed = propose(situation, None)
            assert proposed is not None
            return self._begin(*proposed)
        best = recommend(history, beliefs.surrogate, beliefs.minima)
        full = beliefs.surrogate.at_full_fidelity(self.space.unit_points([best.params]))
        confirmable = self.settings.confirm and not self._already_evaluated(history, full)
        confirmation = float(beliefs.cost(full)[0])
        if unspent is not None and history.confirmed and confirmation > unspent:
            return SPENT  # what was found is confirmed, and nothing better could be
        if unspent is not None:
            # Kept back: this step's thinking, and the confirmation with its own.
            thinking = situation.overhead_rate * beliefs.overhead(situation.number + np.arange(2.0))
            left = unspent - thinking[0] - (confirmation + thinking[1] if confirmable else 0.0)
            situation = replace(situation, remaining=left, limit=left)
        if not (last and confirmable) and (situation.limit is None or situation.limit > 0.0):
            proposed = propose(situation, beliefs)
            if proposed is not None:
                return self._begin(*proposed)
        if not confirmable or (unspent is not None and confirmation > OVERDRAFT * unspent):
            return SPENT
        proposal = Proposal("confirmation", predicted_cost=confirmation, recommendation=best, carried=beliefs.surrogate.carried)
        return self._begin(np.append(full[0, : self.space.dimensions], 0.0), proposal)

    def _already_evaluated(self, history: History, full: np.ndarray[Any, Any]) -> bool:
        return bool((np.abs(history.points - full).max(axis=1) < 1e-9).any())

    def _result(self, message: str) -> Result:
        history = self.history
        if not len(history):
            raise NothingToReport(f"{message}, and nothing was evaluated; give a larger budget or add() what is known")
        best = self.recommend()
        return Result(best.params, best.mean, best.std, history.spent, history.overhead_seconds, len(history), message, self)

    # Machinery --------------------------------------------------------------------------------------------------------------

    @property
    def _fidelity_name(self) -> str | None:
        return None if self.space.fidelity is None else self.space.fidelity.name

    @contextmanager
    def _thinking_time(self) -> Iterator[None]:
        """Counts the seconds inside as overhead of the next trial, with one BLAS thread. May be nested."""
        if self._metered:
            yield
            return
        self._metered = True
        self._entered = self._clock()
        try:
            with one_blas_thread():
                yield
        finally:
            self._thinking += max(self._clock() - self._entered, 0.0)
            self._metered = False

    def _begin(self, point: np.ndarray[Any, Any], proposal: Proposal) -> Trial:
        """Record a pending trial at the unit point (x, s), with all the thinking that led to it."""
        now = self._clock()
        overhead = self._thinking + max(now - self._entered, 0.0)
        trial = Trial(
            len(self.trials),
            self.space.params(point[:-1]),
            self.space.fidelity_value(float(point[-1])),
            proposal,
            self._fidelity_name,
            overhead=overhead,
        )
        self._store.insert(trial)
        self._thinking, self._entered = 0.0, now
        self._started[trial.number] = self._clock()
        return trial

    def _complete(self, trial: Trial, evaluation: Evaluation, seconds: float) -> Trial:
        """Record a result; it cost what it says, or else the seconds it took."""
        stated = evaluation.cost is not None
        cost = seconds if evaluation.cost is None else evaluation.cost
        done = trial.completed(evaluation.value, cost, evaluation.noise, self._next_order(), stated)
        self._store.update(done)
        self._warn_of_unpriced_overhead(stated)
        return done

    def _situation(self, history: History) -> Situation:
        rate = self._overhead_rate(history)
        remaining = None
        if self.budget is not None:
            pending = sum(t.proposal.predicted_cost or 0.0 for t in history.trials if t.state == PENDING)
            remaining = self.budget - history.spent - rate * history.overhead_seconds - pending
        return Situation(history, self.method, self.settings, self.seed, remaining, rate)

    def _overhead_rate(self, history: History) -> float:
        """Cost of a second of thinking: 1 where costs are seconds of wall time, as stated otherwise, 0 until it is stated."""
        if self.settings.overhead_price is not None:
            return self.settings.overhead_price
        return 0.0 if any(t.stated_cost and t.proposal.kind != "added" for t in history.trials) else 1.0

    def _warn_of_unpriced_overhead(self, stated: bool) -> None:
        if stated and self.settings.overhead_price is None:
            warnings.warn(
                "costs are stated, so farthing cannot tell what a second of its own thinking is worth and leaves it out; "
                "set Settings(overhead_price=...), 1.0 if costs are seconds, 0.0 to leave it out without this warning",
                UserWarning,
                stacklevel=3,
            )

    def _failure_cost(self, trial: Trial, seconds: float) -> float:
        """What a failure is charged: its seconds, or what it was predicted to cost where costs are stated."""
        stated = any(t.stated_cost for t in self.trials)
        return (trial.proposal.predicted_cost or 0.0) if stated else seconds

    def _believe(self, situation: Situation) -> Beliefs | None:
        if not len(situation.history):
            return None
        self._beliefs = believe(situation, self._beliefs)
        return self._beliefs

    def _pending(self, trial: Trial | int) -> Trial:
        """The trial as the store has it, if it is pending."""
        number = as_whole(trial.number if isinstance(trial, Trial) else trial)
        trials = self.trials
        if number is None or not 0 <= number < len(trials):
            raise TrialError(f"there is no trial {trial!r} in this study, which has {len(trials)}; tell a trial that ask() gave")
        known = trials[number]
        if isinstance(trial, Trial) and (trial.params, trial.fidelity) != (known.params, known.fidelity):
            raise TrialError(
                f"trial {number} of this study is at {known.kwargs}, not at {trial.kwargs}; tell a trial to the study it came from"
            )
        if known.state != PENDING:
            raise TrialError(f"trial {number} is {known.state} already; a trial takes one result, use add() for another")
        return known

    def _next_order(self) -> int:
        return 1 + max((t.order for t in self.trials if t.order is not None), default=-1)

    def _progress_line(self, progress: bool, evaluations: int | None) -> ProgressLine | None:
        if not progress or not sys.stderr.isatty():
            return None
        return ProgressLine(sys.stderr, self.budget, evaluations, self._overhead_rate(self.history))


def _seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    number = as_whole(seed)
    if number is None or number < 0:
        raise SettingsError(f"seed is {seed!r}; give a whole number from zero up, or None")
    return number
