"""One study in a store, as this process sees it: its trials, kept up to date by reading only what is new.

Many processes may write to the same study. `insert` keeps numbers apart; taking turns keeps several processes from working out the
same proposal at once; and pulses that have stopped show which trials have lost the process that evaluated them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from farthing.axes import Array
from farthing.errors import FarthingError, StoreError, StudyNotFound, TrialError
from farthing.evaluation import Clock, finite_number, nonnegative_number
from farthing.method.effort import Tally
from farthing.owners import Watch, describe, liveness, this_owner
from farthing.space import Space
from farthing.store import MemoryStore, Store
from farthing.trials import ABANDONED, COMPLETE, STATES, Evaluation, History, Proposal, Trial

LEASE = 60.0
"""Seconds without a beat after which the owner of a trial, on another machine, is taken to have died."""

BEAT = 10.0
"""Seconds between beats."""

TURN = 20.0
"""Seconds after which a process that waits to propose no longer waits for the one whose turn it is."""

PATIENCE = (0.5, 1.0, 2.0)
"""Seconds between attempts to save a result."""


class Journal:
    """The trials of one study. clock: seconds for durations; wall_clock: seconds since 1970, for the record."""

    def __init__(self, store: Store, name: str, space: Space, clock: Clock, wall_clock: Clock) -> None:
        self.store, self.name, self.space = store, name, space
        self.shared = not isinstance(store, MemoryStore)
        self._clock, self._wall_clock = clock, wall_clock
        self._trials: list[Trial] = []
        self._revision = 0
        self._history: History | None = None
        self._tally = Tally(space)
        self._started: dict[int, float] = {}
        self._watch = Watch(LEASE)
        self._overtaken = False

    # Reading ----------------------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number, as they are now."""
        self._refresh()
        return tuple(self._trials)

    def __len__(self) -> int:
        """How many trials there are now."""
        self._refresh()
        return len(self._trials)

    def trial(self, number: int) -> Trial:
        """One of them, as it was at the last look."""
        return self._trials[number]

    @property
    def tally(self) -> Tally:
        """What they add up to now: to be read, it changes with them."""
        self._refresh()
        return self._tally

    def history(self, chooses_fidelity: bool) -> History:
        """All trials as arrays."""
        self._refresh()
        if self._history is None:
            self._history = History.of(self.space, self._trials, chooses_fidelity)
        return self._history

    def _refresh(self) -> None:
        changed, revision = self.store.changes(self.name, self._revision)
        if revision == self._revision:
            return
        if revision < self._revision:
            raise StoreError(f"study {self.name!r} was deleted and made anew by another process; open it again")
        for trial in changed:
            self._check(trial)
            if trial.number < len(self._trials):
                self._trials[trial.number] = trial
            else:
                self._trials.append(trial)
        self._tally.take(changed)
        self._revision, self._history = revision, None

    def _check(self, trial: Trial) -> None:
        """A store may be damaged, or written by others."""
        try:
            self.space.check_params(trial.params)
            self.space.check_fidelity(trial.fidelity)
            if trial.state not in STATES:
                raise StoreError(f"its state is {trial.state!r}")
            if trial.state == COMPLETE:
                finite_number(trial.value, "its value")
                for what, amount in (("cost", trial.cost), ("noise", trial.noise)):
                    nonnegative_number(0.0 if amount is None else amount, f"its {what}")
        except FarthingError as error:
            raise StoreError(
                f"trial {trial.number} of {self.name!r} cannot be right: {error}. The store is damaged; restore it from a copy"
            ) from error

    # Writing ----------------------------------------------------------------------------------------------------------------

    def begin(self, point: Array, proposal: Proposal, overhead: float, owner: str | None) -> Trial | None:
        """A pending trial at the unit point (x, s), durable; None where another process has taken its number."""
        trial = Trial(
            len(self._trials),
            self.space.params(point[:-1]),
            self.space.fidelity_value(float(point[-1])),
            proposal,
            None if self.space.fidelity is None else self.space.fidelity.name,
            overhead=overhead,
            owner=owner,
            started=self._wall_clock(),
        )
        stored = self.store.insert(self.name, trial)
        self._overtaken = stored is None
        if stored is not None:
            self._started[stored.number] = self._clock()
        return stored

    def add(self, make: Callable[[int], Trial]) -> Trial:
        """A trial that is complete already, under the next number."""
        while True:
            stored = self.store.insert(self.name, make(len(self)))
            if stored is not None:
                return stored

    def complete(self, trial: Trial, evaluation: Evaluation, seconds: float) -> Trial:
        """Record a result; it cost what it says, or else the seconds it took."""
        stated = evaluation.cost is not None
        cost = evaluation.cost if stated else self._unstated_cost(trial, seconds)
        return self._finish(trial.completed(evaluation.value, cost, evaluation.noise, stated))

    def fail(self, trial: Trial, reason: str, traceback: str | None, cost: float | None, seconds: float) -> Trial:
        """Record that a trial failed, at this cost or else the seconds it took."""
        return self._finish(trial.failed(reason, self._unstated_cost(trial, seconds) if cost is None else cost, traceback))

    def _unstated_cost(self, trial: Trial, seconds: float) -> float:
        """The seconds; where the study's costs are stated, and so not seconds, what was predicted, or what others cost."""
        total, count = self._tally.stated
        if not count:
            return seconds
        predicted = trial.proposal.predicted_cost
        return total / count if predicted is None else predicted

    def _finish(self, trial: Trial) -> Trial:
        """Record the end of a trial; where the store fails, its error says how not to lose the value."""
        for attempt, pause in enumerate((*PATIENCE, None)):
            try:
                return self.store.finish(self.name, trial)
            except StudyNotFound as error:
                raise StudyNotFound(
                    f"{error}; trial {trial.number} ended as {trial.state}, with the value {trial.value!r}"
                ) from error
            except StoreError as error:
                if pause is None:
                    raise StoreError(f"{error}\n{_how_to_keep(trial)}") from error
                time.sleep(pause)
            except TrialError:
                # The attempt before may have been saved though its answer was lost.
                saved = self.trials[trial.number] if attempt else None
                if saved is None or replace(saved, order=None) != replace(trial, order=None):
                    raise
                return saved
        raise AssertionError("the last attempt returns or raises")

    def abandon(self, trial: Trial, reason: str) -> Trial:
        """Record that nothing will come of a pending trial."""
        return self.store.finish(self.name, replace(trial, state=ABANDONED, reason=reason))

    def elapsed(self, trial: Trial) -> float | None:
        """Seconds since a trial was begun; None where that is not known, or the clock has been set back since."""
        if trial.number in self._started:
            return max(self._clock() - self._started[trial.number], 0.0)
        seconds = -1.0 if trial.started is None else self._wall_clock() - trial.started
        return seconds if seconds >= 0.0 else None

    # Among others -----------------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Show that this process lives."""
        self.store.beat(self.name, this_owner())

    def reclaim(self) -> None:
        """Mark the trials of processes that have died as abandoned."""
        self._refresh()
        if not self._others():
            return
        for pulse in self._watch.lost(p for p in self.store.pulses(self.name) if p.owner != this_owner()):
            self.store.abandon(self.name, pulse, f"{describe(pulse.owner)} ended without a result")

    def _others(self) -> bool:
        """Whether other processes were at work on the study at the last look."""
        return self.shared and any(t.owner not in (None, this_owner()) for t in self._tally.pending.values())

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside, no other process that takes turns proposes. Where this process seems to be alone, nothing happens."""
        if not self.shared or not (self._overtaken or self._others()):
            yield
            return
        mine = f"{this_owner()}#{self._clock()}"
        self._wait_for_turn(mine)
        try:
            yield
        finally:
            self.store.turn(self.name, mine, None)

    def _wait_for_turn(self, mine: str) -> None:
        holder = self.store.turn(self.name, None, mine)
        seen, since, pause = holder, time.monotonic(), 0.005
        while holder != mine:
            time.sleep(pause)
            pause = min(2.0 * pause, 0.1)
            gone = holder is not None and (liveness(holder.partition("#")[0]) is False or time.monotonic() - since > TURN)
            holder = self.store.turn(self.name, holder if gone else None, mine)
            if holder != seen:
                seen, since, pause = holder, time.monotonic(), 0.005


def _how_to_keep(trial: Trial) -> str:
    if trial.value is None:
        return f"the failure of trial {trial.number} could not be saved; it stays pending until the store works again"
    return (
        f"the value of trial {trial.number} could not be saved; once the store works again, keep it with "
        f"study.tell({trial.number}, {trial.value!r}, cost={trial.cost!r}, noise={trial.noise!r})"
    )
