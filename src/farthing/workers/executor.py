"""Evaluations in an executor of the user."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from concurrent import futures
from dataclasses import dataclass
from typing import Any

from farthing.checks import as_whole
from farthing.errors import SettingsError
from farthing.evaluation import Outcome, described, evaluate
from farthing.workers.interface import PATROL_SECONDS, Objective, Workers, pickled


@dataclass
class _Submitted:
    """An evaluation given to an executor. submitted: monotonic seconds; began: those at which it was first seen to run."""

    number: int
    future: futures.Future[Outcome]
    submitted: float
    began: float | None = None

    @property
    def since(self) -> float:
        return self.submitted if self.began is None else self.began


class InExecutor(Workers):
    """Evaluations in an executor of the user, which is never shut down here. Seconds are those measured where it ran.

    Nothing in an executor can be killed: what outlives its timeout may run on, and keep a place in the executor.
    """

    def __init__(self, objective: Objective, executor: futures.Executor, count: int | None, timeout: float | None) -> None:
        count = as_whole(getattr(executor, "_max_workers", None)) if count is None else count
        if count is None:
            raise SettingsError(f"how many evaluations fit into {executor!r} at once is not known; give workers=")
        if isinstance(executor, futures.ProcessPoolExecutor):
            pickled(objective)
        self.slots = count
        self._objective = objective
        self._executor = executor
        self._timeout = math.inf if timeout is None else timeout
        self._running: list[_Submitted] = []

    def start(self, number: int, kwargs: Mapping[str, Any]) -> None:
        try:
            future = self._executor.submit(evaluate, self._objective, dict(kwargs), time.perf_counter)
        except RuntimeError as error:  # futures.BrokenExecutor is one, and what comes after a shutdown is too
            raise SettingsError(f"the executor broke or was shut down ({error}); run again with a new one") from error
        self._running.append(_Submitted(number, future, time.monotonic()))

    def wait(self, seconds: float | None = None) -> list[tuple[int, Outcome]]:
        until = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            finished = [(job.number, outcome) for job in list(self._running) for outcome in self._look(job)]
            now = time.monotonic()
            if finished or now >= until or (not self._running and seconds is None):
                return finished
            pause = until - now
            if math.isfinite(self._timeout):
                pause = min([pause, PATROL_SECONDS, *(max(job.since + self._timeout - now, 0.0) for job in self._running)])
            if self._running:
                futures.wait([job.future for job in self._running], min(pause, threading.TIMEOUT_MAX), futures.FIRST_COMPLETED)
            else:
                time.sleep(pause)

    def stop(self) -> None:
        for job in self._running:
            job.future.cancel()
        self._running.clear()

    def _look(self, job: _Submitted) -> list[Outcome]:
        """The outcome of a job that is over, which is then forgotten; nothing while it goes on."""
        now = time.monotonic()
        if job.future.done():
            self._running.remove(job)
            return [_outcome(job.future, now - job.submitted)]
        if job.began is None and job.future.running():
            job.began = now
        if now - job.since < self._timeout or (job.began is None and not job.future.cancel()):
            return []
        self._running.remove(job)
        if job.began is None:
            reason = f"did not begin within {self._timeout:g} s: the executor is busy with something else"
            return [Outcome(0.0, reason=reason, void=True)]
        return [Outcome(now - job.began, reason=f"timed out after {self._timeout:g} s; it may still be running in the executor")]


def _outcome(future: futures.Future[Outcome], seconds: float) -> Outcome:
    """What a finished future holds; `seconds` counts where it holds no outcome, as its executor failed and not the objective."""
    if future.cancelled():
        return Outcome(0.0, reason="the executor canceled the evaluation before it began", void=True)
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, futures.BrokenExecutor):
        return Outcome(seconds, reason=f"the executor broke: {error}")
    return Outcome(seconds, None, *described(error))
