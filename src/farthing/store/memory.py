"""Trials in memory: gone with the process."""

from __future__ import annotations

from collections.abc import Iterable

from farthing.errors import TrialError
from farthing.trials import PENDING, Trial


class MemoryStore:
    """A store in memory, empty or holding the given trials."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._trials: list[Trial] = []
        for trial in trials:
            self.insert(trial)

    def trials(self) -> tuple[Trial, ...]:
        return tuple(self._trials)

    def insert(self, trial: Trial) -> None:
        if trial.number != len(self._trials):
            raise TrialError(f"trial {trial.number} was inserted where number {len(self._trials)} is next; insert trials in order")
        self._trials.append(trial)

    def update(self, trial: Trial) -> None:
        if not 0 <= trial.number < len(self._trials):
            raise TrialError(f"there is no trial {trial.number} in this study, which has {len(self._trials)}")
        state = self._trials[trial.number].state
        if state != PENDING:
            raise TrialError(f"trial {trial.number} is {state} already; a trial takes one result, use add() for another")
        self._trials[trial.number] = trial
