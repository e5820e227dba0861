"""Evaluations in this very process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from farthing.evaluation import Clock, Outcome, evaluate
from farthing.workers.interface import Objective, Workers


class Inline(Workers):
    """One evaluation at a time, in this very process, while `wait` is called."""

    slots = 1

    def __init__(self, objective: Objective, clock: Clock) -> None:
        self._objective = objective
        self._clock = clock
        self._job: tuple[int, Mapping[str, Any]] | None = None

    def start(self, number: int, kwargs: Mapping[str, Any]) -> None:
        self._job = number, kwargs

    def wait(self, seconds: float | None = None) -> list[tuple[int, Outcome]]:
        if self._job is None:
            time.sleep(max(seconds or 0.0, 0.0))
            return []
        (number, kwargs), self._job = self._job, None
        return [(number, evaluate(self._objective, kwargs, self._clock))]

    def stop(self) -> None:
        self._job = None
