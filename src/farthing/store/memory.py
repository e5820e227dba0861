"""Studies in memory: gone with the process."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from farthing.errors import StudyNotFound, TrialError
from farthing.store.interface import Pulse, StudyRecord
from farthing.trials import ABANDONED, PENDING, Trial


@dataclass
class _Study:
    record: StudyRecord
    trials: list[Trial] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    beats: dict[int, int] = field(default_factory=dict)
    orders: int = 0
    holder: str | None = None


class MemoryStore:
    """A store in memory, for the threads of one process."""

    def __init__(self) -> None:
        self._studies: dict[str, _Study] = {}
        self._lock = threading.RLock()

    def __str__(self) -> str:
        return "memory"

    def create(self, name: str, definition: Mapping[str, Any], budget: float | None, created: float) -> bool:
        with self._lock:
            if name in self._studies:
                return False
            # Through JSON, as every other store: what cannot be written as JSON is refused here too.
            self._studies[name] = _Study(StudyRecord(name, json.loads(json.dumps(definition)), budget, created, 0))
            return True

    def studies(self, name: str | None = None) -> list[StudyRecord]:
        with self._lock:
            chosen = sorted(self._studies) if name is None else [name] * (name in self._studies)
            return [self._record(self._studies[n]) for n in chosen]

    def set_budget(self, name: str, budget: float | None) -> None:
        with self._lock:
            study = self._study(name)
            study.record = replace(study.record, budget=budget)

    def delete(self, name: str) -> None:
        with self._lock:
            self._study(name)
            del self._studies[name]

    def changes(self, name: str, since: int) -> tuple[list[Trial], int]:
        with self._lock:
            study = self._study(name)
            # The number of the trial that each revision changed, so that a look costs no more than what is new.
            return [study.trials[n] for n in sorted(set(study.changed[since:]))], len(study.changed)

    def insert(self, name: str, trial: Trial) -> Trial | None:
        with self._lock:
            study = self._study(name)
            if trial.number != len(study.trials):
                return None
            trial = self._ordered(study, trial)
            study.trials.append(trial)
            study.changed.append(trial.number)
            return trial

    def finish(self, name: str, trial: Trial) -> Trial:
        with self._lock:
            study = self._study(name)
            if not 0 <= trial.number < len(study.trials):
                raise TrialError(f"there is no trial {trial.number} in this study, which has {len(study.trials)}")
            state = study.trials[trial.number].state
            if state not in (PENDING, ABANDONED):
                raise TrialError(f"trial {trial.number} is {state} already; a trial takes one result, use add() for another")
            return self._replaced(study, self._ordered(study, trial))

    def turn(self, name: str, holder: str | None, successor: str | None) -> str | None:
        with self._lock:
            study = self._study(name)
            if study.holder == holder:
                study.holder = successor
            return study.holder

    def beat(self, name: str, owner: str) -> None:
        with self._lock:
            study = self._study(name)
            for pulse in self.pulses(name):
                if pulse.owner == owner:
                    study.beats[pulse.number] = pulse.beat + 1

    def pulses(self, name: str) -> list[Pulse]:
        with self._lock:
            study = self._study(name)
            pending = (t for t in study.trials if t.state == PENDING)
            return [Pulse(t.number, t.owner, study.beats.get(t.number, 0)) for t in pending if t.owner is not None]

    def abandon(self, name: str, pulse: Pulse, reason: str) -> bool:
        with self._lock:
            if pulse not in self.pulses(name):
                return False
            study = self._study(name)
            self._replaced(study, replace(study.trials[pulse.number], state=ABANDONED, reason=reason))
            return True

    def _record(self, study: _Study) -> StudyRecord:
        # A copy: whoever changes what was handed out must not change the study.
        return replace(study.record, definition=deepcopy(study.record.definition), trials=len(study.trials))

    def _study(self, name: str) -> _Study:
        if name not in self._studies:
            raise StudyNotFound(f"there is no study {name!r} in memory")
        return self._studies[name]

    def _ordered(self, study: _Study, trial: Trial) -> Trial:
        """The trial with the next order, if it is a result."""
        if trial.state in (PENDING, ABANDONED):
            return replace(trial, order=None)
        study.orders += 1
        return replace(trial, order=study.orders - 1)

    def _replaced(self, study: _Study, trial: Trial) -> Trial:
        study.trials[trial.number] = trial
        study.changed.append(trial.number)
        return trial
