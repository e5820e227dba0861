"""Calling an objective: timing it, and turning whatever it does into a result or a reason."""

from __future__ import annotations

import math
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from farthing.checks import as_number
from farthing.errors import ValueRefused
from farthing.trials import Evaluation

Clock = Callable[[], float]
"""Seconds from an arbitrary origin."""


@dataclass(frozen=True)
class Outcome:
    """What came of calling an objective: an evaluation, or the reason why there is none; and the seconds it took.

    Plain data, so that it travels between processes. void: nothing was evaluated, through no fault of the point; the trial is given
    up, not failed.
    """

    seconds: float
    evaluation: Evaluation | None = None
    reason: str | None = None
    traceback: str | None = None
    void: bool = False


def evaluate(objective: Callable[..., Any], kwargs: Mapping[str, Any], clock: Clock) -> Outcome:
    """Call the objective. An exception, sys.exit() or a result that is no finite number is a failure with its reason, no error."""
    start = clock()
    try:
        returned = objective(**kwargs)
    except (Exception, SystemExit) as error:
        return Outcome(max(clock() - start, 0.0), None, *described(error))
    seconds = max(clock() - start, 0.0)
    try:
        return Outcome(seconds, checked(returned))
    except ValueRefused as error:
        return Outcome(seconds, reason=str(error))


def described(error: BaseException) -> tuple[str, str | None]:
    """The exception in a line or two, and its traceback; its type alone where it cannot even describe itself."""
    try:
        return f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))
    except Exception:
        return f"{type(error).__name__}, which raised another exception when asked for its message", None


def checked(returned: Any) -> Evaluation:
    """What an objective returned as an Evaluation of floats, or a ValueRefused that names what is wrong with it."""
    if not isinstance(returned, Evaluation):
        returned = Evaluation(returned)
    return Evaluation(
        finite_number(returned.value, "the value"),
        None if returned.cost is None else nonnegative_number(returned.cost, "the cost"),
        None if returned.noise is None else nonnegative_number(returned.noise, "the noise"),
    )


def finite_number(value: Any, what: str) -> float:
    """A finite float, or a ValueRefused."""
    number = as_number(value)
    if number is None:
        raise ValueRefused(f"{what} is {value!r} of type {type(value).__name__}; give a number")
    if not math.isfinite(number):
        raise ValueRefused(f"{what} is {value!r}; give a finite number, or report a failure with study.fail(trial, reason)")
    return number


def nonnegative_number(value: Any, what: str) -> float:
    """A finite float from zero up, or a ValueRefused."""
    number = finite_number(value, what)
    if number < 0.0:
        raise ValueRefused(f"{what} is {value!r}; give a number from zero up")
    return number


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Inside, Ctrl-C waits: in this thread until the end, in processes started here until they call `ignore_interrupts`.

    A terminal sends it to all of them, and Python can be interrupted long before any code of ours runs in a new one. Other
    threads are interrupted as ever; on Windows nothing waits.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # multiprocessing would start it with the first process, and then unblock SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which itself raises KeyboardInterrupt if one is due
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Ctrl-C does nothing to this process from now on, nor does one that waited since `interrupts_wait`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
