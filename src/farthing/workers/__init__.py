"""Where an objective is called: in this process, in worker processes that may be killed, or in somebody's executor."""

from __future__ import annotations

from concurrent import futures

from farthing.checks import as_finite, as_whole
from farthing.errors import SettingsError
from farthing.evaluation import Clock
from farthing.workers.executor import InExecutor
from farthing.workers.inline import Inline
from farthing.workers.interface import Objective, Workers
from farthing.workers.processes import Processes

__all__ = ["InExecutor", "Inline", "Objective", "Processes", "Workers", "workers_for"]


def workers_for(
    objective: Objective,
    workers: int | None,
    executor: futures.Executor | None,
    timeout: float | None,
    clock: Clock,
    isolated: bool = False,
    relay: bool = False,
) -> Workers:
    """The plainest workers that do what is asked.

    workers: evaluations at once; None: one, or as many as the executor has; timeout: seconds for each;
    isolated: in a process of its own even where this one would do; relay: what worker processes print comes out through this
    one's sys.stdout and sys.stderr.
    """
    if workers is not None and (as_whole(workers) or 0) < 1:
        raise SettingsError(f"workers is {workers!r}; give a whole number from 1 up")
    if timeout is not None and (as_finite(timeout) or 0.0) <= 0.0:
        raise SettingsError(f"timeout is {timeout!r}; give a number of seconds above zero, or None for no limit")
    if executor is not None:
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            raise SettingsError(f"executor is {executor!r}; give an executor such as ThreadPoolExecutor(4), or None")
        return InExecutor(objective, executor, workers, timeout)
    if isolated or timeout is not None or (workers or 1) > 1:
        return Processes(objective, workers or 1, timeout, relay)
    return Inline(objective, clock)
