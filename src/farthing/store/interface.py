"""What a study needs of a store."""

from __future__ import annotations

from typing import Protocol

from farthing.trials import Trial


class Store(Protocol):
    """Keeps the trials of one study. A trial is durable when the call returns."""

    def trials(self) -> tuple[Trial, ...]:
        """All trials, by number."""

    def insert(self, trial: Trial) -> None:
        """Add a trial under its number, which must be the next."""

    def update(self, trial: Trial) -> None:
        """Replace the pending trial of the same number; one that is not pending is never changed."""
