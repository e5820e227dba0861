"""What a study needs of a store.

A store holds any number of studies, each a definition and its trials, and may be used by many processes at once. Every change of a
trial raises the study's revision, so that a reader asks only for what is new. There are no clocks in it: that a worker has died is
seen by others from its pulse, which no longer changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from farthing.trials import Trial


@dataclass(frozen=True)
class StudyRecord:
    """A study as a store knows it. definition: JSON, never changed after creation; created: seconds since 1970."""

    name: str
    definition: dict[str, Any]
    budget: float | None
    created: float
    trials: int


@dataclass(frozen=True)
class Pulse:
    """A pending trial that somebody is evaluating: `beat` rises for as long as the owner lives."""

    number: int
    owner: str
    beat: int


class Store(Protocol):
    """Keeps studies. What a call did is durable when it returns. A study that does not exist is a StudyNotFound."""

    def create(self, name: str, definition: Mapping[str, Any], budget: float | None, created: float) -> bool:
        """A new, empty study; False, and nothing done, where there is one of that name."""

    def studies(self, name: str | None = None) -> list[StudyRecord]:
        """All studies by name, or the one of that name (none where there is none)."""

    def set_budget(self, name: str, budget: float | None) -> None:
        """Change the budget of a study."""

    def delete(self, name: str) -> None:
        """Remove a study and its trials."""

    def changes(self, name: str, since: int) -> tuple[list[Trial], int]:
        """The trials that are new or changed since that revision (all since 0), by number, and the revision now."""

    def insert(self, name: str, trial: Trial) -> Trial | None:
        """Add a trial. Its number must be the next; None, and nothing done, where it is not: another process was faster.

        A trial that is complete or failed already gets the next `order`; the trial is returned as it was stored.
        """

    def finish(self, name: str, trial: Trial) -> Trial:
        """Record the result, or the end, of a pending or abandoned trial under the next `order`; returned as it was stored.

        A TrialError for one that is unknown, complete or failed: a result is never changed.
        """

    def turn(self, name: str, holder: str | None, successor: str | None) -> str | None:
        """Hand on the right to propose, from `holder` (None: free) to `successor` (None: set free), if `holder` has it.

        Returns who has it now. A courtesy that saves work: `insert` is what keeps numbers apart.
        """

    def beat(self, name: str, owner: str) -> None:
        """Raise the beat of every pending trial of this owner."""

    def pulses(self, name: str) -> list[Pulse]:
        """The pending trials that have an owner."""

    def abandon(self, name: str, pulse: Pulse, reason: str) -> bool:
        """Mark a pending trial as abandoned, unless its beat has moved on; whether it was done."""
