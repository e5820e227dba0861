"""What a run needs of the place where objectives are called."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self

from farthing.errors import SettingsError
from farthing.evaluation import Outcome

Objective = Callable[..., Any]

REMEDY = (
    "define the objective at the top level of a module that can be imported, or use workers=1 without a timeout, "
    "or executor=ThreadPoolExecutor(...)"
)

PATROL_SECONDS = 0.5
"""How often to look for what no pipe tells: a dead worker whose children hold its pipe open, a future that has begun."""


def pickled(objective: Objective) -> bytes:
    """The objective as bytes for another process; where pickle refuses it, a SettingsError with the remedy."""
    try:
        return pickle.dumps(objective)
    except Exception as error:  # pickle raises what it likes
        raise SettingsError(f"the objective {objective!r} cannot be sent to another process ({error}); {REMEDY}") from error


class Workers(Protocol):
    """Evaluates trials, `slots` of them at once at most. A context manager: leaving it stops everything."""

    slots: int

    def start(self, number: int, kwargs: Mapping[str, Any]) -> None:
        """Begin evaluating trial `number`; a free slot is assumed."""

    def wait(self, seconds: float | None = None) -> list[tuple[int, Outcome]]:
        """What has finished, as soon as anything has; empty after `seconds`, or at once where nothing runs and no limit is set."""

    def stop(self) -> None:
        """Kill what runs and free everything. May be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
