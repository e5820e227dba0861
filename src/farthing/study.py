"""Study: ask for an evaluation, tell its result, get a recommendation; `run` is that loop and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from farthing.axes import Fidelity
from farthing.budget import parse_budget
from farthing.checks import as_finite, as_whole
from farthing.definition import Definition, differences
from farthing.errors import (
    FarthingError,
    KernelError,
    NothingToReport,
    ObjectiveFailed,
    SettingsError,
    StoreError,
    StudyNotFound,
    TrialError,
    ValueRefused,
)
from farthing.evaluation import Clock, checked, nonnegative_number
from farthing.journal import BEAT, Journal
from farthing.loop import BY_KEYBOARD, Loop
from farthing.method.effort import LIGHT
from farthing.method.quick import QUICK
from farthing.methods import ES, PES, Method, method_of
from farthing.numerics.kernels import family
from farthing.owners import Heart
from farthing.run import Decision, Run, StopRules, begin_trial
from farthing.settings import Settings
from farthing.space import Space
from farthing.store import Store, StudyRecord, open_store
from farthing.thinking import Thinking
from farthing.trials import ABANDONED, FAILED, PENDING, Evaluation, History, Proposal, Recommendation, Trial
from farthing.workers import workers_for

NAME = "study"
"""What a study is called that was given no name."""

MAX_FAILURES = 5
"""A run stops when the objective has failed this many times in a row."""


@dataclass(frozen=True)
class Result:
    """What a run found. x, fun, fun_std: the recommended parameters, the objective expected there at full fidelity, its
    uncertainty.

    cost: of all evaluations; overhead: seconds of thinking; nfev: evaluations; failures: those that failed; message: why the run
    ended; study: to go on with.
    """

    x: dict[str, Any]
    fun: float
    fun_std: float
    cost: float
    overhead: float
    nfev: int
    failures: int
    message: str
    study: Study


class Study:
    """A problem, what was tried on it, and what to try next.

    space: axes by name, or plain values that are held fixed; fidelity: what an evaluation may cost, if that can be chosen;
    budget: a number of cost units, or a time; method: a name or an object of `farthing.methods`; seed: same seed and same results
    give the same proposals; store: a file (SQLite), a URL of a database, or None for memory; name: of the study in the store: one
    that is there already, with the same space, is gone on with; clock, wall_clock: seconds, for durations and for the record.
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        *,
        fidelity: Fidelity | None = None,
        budget: float | str | None = None,
        method: str | Method = "envpes",
        seed: int | None = None,
        store: str | PathLike[str] | Store | None = None,
        name: str | None = None,
        settings: Settings | None = None,
        clock: Clock = time.perf_counter,
        wall_clock: Clock = time.time,
    ) -> None:
        settings = Settings() if settings is None else settings
        if not isinstance(settings, Settings):
            raise SettingsError(f"settings are {settings!r}; give a farthing.Settings(...)")
        definition = Definition(Space(space, fidelity), method_of(method), _seed(seed), settings)
        _check_kernel(definition)
        self.name = _checked_name(name)
        opened = open_store(store)
        amount = parse_budget(budget)
        # Looked for first: a store that can only be read is good for what is in it.
        if opened.studies(self.name) or not opened.create(self.name, definition.to_json(), amount, wall_clock()):
            definition, amount = _reopened(opened, self.name, definition, seed, amount)
        self.space, self.method = definition.space, definition.method
        self.seed, self.settings = definition.seed, definition.settings
        self.budget = amount
        self.store = opened
        self._journal = Journal(opened, self.name, self.space, clock, wall_clock)
        self._thinking = Thinking(definition, clock)
        self._clock = clock

    @classmethod
    def open(cls, store: str | PathLike[str] | Store, name: str | None = None) -> Study:
        """The study of that name in a store; without a name, the only one there is."""
        opened = open_store(store, create=False)
        records = opened.studies(name)
        if not records:
            known = ", ".join(repr(r.name) for r in opened.studies()) or "none"
            what = "no study" if name is None else f"no study {name!r}"
            raise StudyNotFound(f"there is {what} in {opened}; the studies there: {known}")
        if len(records) > 1:
            raise StoreError(f"there are several studies in {opened}: {', '.join(repr(r.name) for r in records)}; say which")
        definition = _stored_definition(records[0])
        space = definition.space
        axes = {n: space.axes[n] if n in space.axes else space.fixed[n] for n in space.names}
        return cls(
            axes,
            fidelity=space.fidelity,
            method=definition.method,
            seed=definition.seed,
            settings=definition.settings,
            store=opened,
            name=records[0].name,
        )

    # What is known ----------------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""
        return self._journal.trials

    @property
    def history(self) -> History:
        """All trials as arrays."""
        return self._journal.history(self.method.chooses_fidelity)

    @property
    def remaining(self) -> float | None:
        """What is left of the budget: less costs, less overhead at its price, less what pending trials will cost."""
        return self._thinking.remaining(self._journal.tally, self.budget)

    @property
    def overhead_rate(self) -> float:
        """Cost of a second of thinking."""
        return self._journal.tally.rate(self.settings)

    def recommend(self) -> Recommendation:
        """The best parameters by all that is known now."""
        with self._thinking.metered():
            return self._thinking.recommend(self.history)

    def expected_regret(self) -> float:
        """How much lower than at the recommendation the minimum is expected to be, from draws of the minimizer."""
        with self._thinking.metered():
            return self._thinking.regret(self.history)

    # Ask and tell -----------------------------------------------------------------------------------------------------------

    def ask(self) -> Trial:
        """The next evaluation to make; its kwargs are for the objective. Several may be pending at once."""

        def decide() -> Decision:
            thinking, tally = self._thinking, self._journal.tally
            level = thinking.level(tally, scarce=True)
            quick = thinking.quickly(tally) if level == QUICK else None
            if quick is not None:
                return quick
            return thinking.propose(thinking.situation(self.history, tally, self.budget, LIGHT if level == QUICK else level))

        trial = begin_trial(self._journal, self._thinking, decide, None)
        assert isinstance(trial, Trial)  # no limit was set
        return trial

    def tell(self, trial: Trial | int, value: Any, cost: float | None = None, noise: float | None = None) -> Trial:
        """Record the result of a trial, in any order. Without a cost, the seconds since it was asked for count.

        value: a number or an Evaluation; noise: the standard deviation of the value, if known.
        """
        with self._thinking.metered():
            trial = self._unfinished(trial)
            if isinstance(value, Evaluation) and (cost is not None or noise is not None):
                raise ValueRefused("cost or noise was given beside an Evaluation, which has its own; state them once, in either")
            evaluation = checked(value if isinstance(value, Evaluation) else Evaluation(value, cost, noise))
            seconds = self._journal.elapsed(trial)
            if evaluation.cost is None and seconds is None:
                raise TrialError(f"how long trial {trial.number} took is not known: the clock was set back since; give cost=")
            done = self._journal.complete(trial, evaluation, seconds or 0.0)
            self._thinking.warn_of_unpriced_overhead(done)
            return done

    def fail(self, trial: Trial | int, reason: str, cost: float | None = None) -> Trial:
        """Record that a trial could not be evaluated; its cost counts, and the search keeps away from where trials fail."""
        with self._thinking.metered():
            trial = self._unfinished(trial)
            if cost is not None:
                cost = nonnegative_number(cost, "the cost")
            return self._journal.fail(trial, str(reason), None, cost, self._journal.elapsed(trial) or 0.0)

    def abandon(self, trial: Trial | int, reason: str = "given up") -> Trial:
        """Record that nothing will come of a pending trial: it costs nothing, and its place may be proposed again."""
        with self._thinking.metered():
            return self._journal.abandon(self._unfinished(trial), str(reason))

    def add(
        self,
        params: Mapping[str, Any],
        value: float,
        *,
        fidelity: float | None = None,
        cost: float | None = None,
        noise: float | None = None,
    ) -> Trial:
        """Record what was evaluated elsewhere; it informs the search and is not charged to the budget. Full fidelity by default."""
        with self._thinking.metered():
            evaluation = checked(Evaluation(value, cost, noise))
            params, level = self.space.check_params(params), self.space.check_fidelity(fidelity)
            name = None if self.space.fidelity is None else self.space.fidelity.name

            def numbered(number: int) -> Trial:
                trial = Trial(number, dict(params), level, Proposal("added"), name)
                return trial.completed(evaluation.value, evaluation.cost, evaluation.noise, cost is not None)

            return self._journal.add(numbered)

    # The loop ---------------------------------------------------------------------------------------------------------------

    def run(
        self,
        objective: Callable[..., Any],
        *,
        budget: float | str | None = None,
        evaluations: int | None = None,
        target: float | None = None,
        regret: float | None = None,
        workers: int | None = None,
        executor: Executor | None = None,
        timeout: float | str | None = None,
        max_failures: int = MAX_FAILURES,
        callback: Callable[[Study, Trial], Any] | None = None,
        progress: bool = False,
        isolated: bool = False,
    ) -> Result:
        """Ask, evaluate, tell, until the budget (in all) or the number of evaluations (in this run) is spent.

        Ends with an evaluation of the recommendation at full fidelity, for which budget is kept back, unless Settings.confirm is
        False. Other ends: `target`, when an evaluation at full fidelity is at or below it; `regret`, when the minimum is expected
        to be less than this below the recommendation; `max_failures` in a row; the callback(study, trial), called after each
        trial, returning True; Ctrl-C, once to finish and save what is running, twice to stop at once. Running again goes on.

        workers: evaluations at once, in processes of their own if more than one; executor: where to evaluate instead, `workers` of
        them at once or as many as it takes; timeout: seconds, or a time, after which an evaluation is killed and counts as failed.
        With a timeout, or isolated=True, a single worker is a process of its own too.
        """
        if not callable(objective):
            raise SettingsError(f"the objective is {objective!r}; give a function of {', '.join(self.space.names)}")
        if callback is not None and not callable(callback):
            raise SettingsError(f"the callback is {callback!r}; give a function of the study and a trial, or None")
        count = _count(evaluations, "evaluations") if evaluations is not None else None
        rules = StopRules(_limit(target, "target"), _limit(regret, "regret", least=0.0))
        if budget is not None:
            self.budget = parse_budget(budget)
            self.store.set_budget(self.name, self.budget)
        if self.budget is None and evaluations is None and rules == StopRules():
            raise SettingsError(
                'neither a budget nor a number of evaluations was given; pass budget="30 min" or evaluations=50, a target or regret'
            )
        most, seconds = _count(max_failures, "max_failures"), _timeout(timeout)
        each = None if callback is None else lambda trial: callback(self, trial)
        live = _progress(progress)
        try:
            calling = workers_for(objective, workers, executor, seconds, self._clock, isolated, relay=live is not None)
            run = Run(self._journal, self._thinking, self.budget, rules, count, live.show if live else None)
            with Heart(self._journal.beat, BEAT) if self._journal.shared else nullcontext():
                message = run.concluded(Loop(run, calling, count, most, each).run())
            run.show_end()
        finally:
            if live is not None:
                live.close()
        if message == BY_KEYBOARD:
            if not len(self.history):
                raise KeyboardInterrupt
            message = f"{message}; {self._how_to_go_on()}"
        return self._result(message, run)

    def _result(self, message: str, run: Run) -> Result:
        history = self.history
        failures = [t for t in history.trials if t.state == FAILED]
        if not len(history):
            if failures:
                raise ObjectiveFailed(
                    f"{message}, and every evaluation failed, last at {failures[-1].kwargs}: {failures[-1].reason}"
                )
            raise NothingToReport(f"{message}, and nothing was evaluated; give a larger budget or add() what is known")
        best = run.recommendation()
        return Result(
            best.params, best.mean, best.std, history.spent, history.overhead_seconds, len(history), len(failures), message, self
        )

    def _how_to_go_on(self) -> str:
        if not self._journal.shared:
            return "to go on, call result.study.run(...) again"
        return f"to go on, call farthing.Study.open({str(self.store)!r}, {self.name!r}).run(...)"

    def _unfinished(self, trial: Trial | int) -> Trial:
        """The trial as the store has it, if it may still be told."""
        number = as_whole(trial.number if isinstance(trial, Trial) else trial)
        count = len(self._journal)
        if number is None or not 0 <= number < count:
            raise TrialError(f"there is no trial {trial!r} in this study, which has {count}; tell a trial that ask() gave")
        known = self._journal.trial(number)
        if isinstance(trial, Trial) and (trial.params, trial.fidelity) != (known.params, known.fidelity):
            raise TrialError(
                f"trial {number} of this study is at {known.kwargs}, not at {trial.kwargs}; tell a trial to the study it came from"
            )
        if known.state not in (PENDING, ABANDONED):
            raise TrialError(f"trial {number} is {known.state} already; a trial takes one result, use add() for another")
        return known


def _reopened(
    store: Store, name: str, definition: Definition, seed: int | None, budget: float | None
) -> tuple[Definition, float | None]:
    """The study of that name as it was created, if it is about the same; with another budget, if one is given."""
    record: StudyRecord = store.studies(name)[0]
    stored = _stored_definition(record)
    if seed is None:
        definition = replace(definition, seed=stored.seed)
    different = differences(definition.to_json(), stored.to_json())
    if definition.seed != stored.seed:
        different.append(f"seed is {stored.seed} there and {definition.seed} here")
    if different:
        raise StoreError(
            f"there is a study {name!r} already, and it is another one: {'; '.join(different)}. "
            "Give yours another name, or go on with that one by Study.open(store, name)"
        )
    if budget is None:
        return definition, record.budget
    store.set_budget(name, budget)
    return definition, budget


def _stored_definition(record: StudyRecord) -> Definition:
    try:
        return Definition.of_json(record.definition)
    except (FarthingError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"the definition of study {record.name!r} cannot be understood ({error}): a newer farthing wrote it, or the store is "
            "damaged; upgrade farthing, or restore the store from a copy"
        ) from error


def _progress(wanted: bool) -> Any:
    if not wanted:
        return None
    from farthing.progress import live_progress

    return live_progress()


def _check_kernel(definition: Definition) -> None:
    smoothness = family(definition.settings.kernel).smoothness
    if isinstance(definition.method, PES) and smoothness < 2:
        raise KernelError(
            f"{type(definition.method).__name__} conditions on second derivatives, which {definition.settings.kernel} lacks; "
            "use matern52 or squared_exponential, or method='ei'"
        )
    if isinstance(definition.method, ES) and definition.method.support == "wlh" and smoothness < 2:
        raise KernelError(
            f"support='wlh' takes second derivatives, which {definition.settings.kernel} lacks; "
            "use matern52 or squared_exponential, or another support, such as 'ei_slice'"
        )


def _checked_name(name: str | None) -> str:
    if name is None:
        return NAME
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"the name is {name!r}; give the study a name of at least one letter")
    if not name.isprintable() or len(name) > 200:
        raise SettingsError(f"the name is {name!r}; give one line of at most 200 printable characters")
    return name


def _seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    number = as_whole(seed)
    if number is None or number < 0:
        raise SettingsError(f"seed is {seed!r}; give a whole number from zero up, or None")
    return number


def _count(value: Any, what: str) -> int:
    number = as_whole(value)
    if number is None or number < 1:
        raise SettingsError(f"{what} is {value!r}; give a whole number from 1 up")
    return number


def _limit(value: Any, what: str, least: float = -np.inf) -> float | None:
    if value is None:
        return None
    number = as_finite(value)
    if number is None or number <= least:
        raise SettingsError(f"{what} is {value!r}; give a finite number{'' if least < 0.0 else ' above zero'}, or None")
    return number


def _timeout(timeout: float | str | None) -> float | None:
    try:
        return parse_budget(timeout)
    except SettingsError:
        raise SettingsError(f'timeout is {timeout!r}; give seconds above zero, or a time such as "30 min"') from None
