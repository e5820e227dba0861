"""The loop of a run: start evaluations while slots are free, take in results, until there is a reason to end.

It knows nothing of how a study decides. Ctrl-C once: nothing new is started, what runs is finished and saved; twice: now.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from farthing.errors import ObjectiveFailed, StoreError
from farthing.evaluation import Outcome
from farthing.trials import Trial
from farthing.workers import Workers

ALL_DONE, BY_CALLBACK, BY_KEYBOARD = "all evaluations done", "ended by the callback", "stopped by the keyboard"
"""Why a run ended."""

LOOK = 0.5
"""Seconds after which a waiting loop looks whether Ctrl-C was pressed."""


class Steps(Protocol):
    """What the loop needs of a study."""

    def begin(self, last: bool, alone: bool) -> Trial | str | None:
        """The next trial, pending in the store; or why to end; or None: nothing to do before a running one ends.

        last: no more may follow; alone: nothing else is running.
        """

    def take(self, trial: Trial, outcome: Outcome) -> Trial:
        """Record what came of a trial."""

    def abandon(self, trial: Trial, reason: str) -> Trial:
        """Record that nothing will come of a trial."""

    def show(self, running: list[Trial]) -> None:
        """Tell the user how things stand."""


@dataclass
class Interruption:
    """How often Ctrl-C was pressed."""

    presses: int = 0

    def __bool__(self) -> bool:
        return self.presses > 0


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Inside, the first Ctrl-C is only noted; the second raises KeyboardInterrupt. In other threads nothing changes."""
    noted, mine = Interruption(), os.getpid()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(number: int, frame: FrameType | None) -> None:
        if os.getpid() != mine:  # a fork of this process, with its handlers
            raise KeyboardInterrupt
        noted.presses += 1
        if noted.presses > 1:
            raise KeyboardInterrupt
        print("\nfarthing: finishing what is running, then stopping; press Ctrl-C again to stop now", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class Loop:
    """One run of a study. evaluations: how many at most; max_failures: how many in a row end it; callback: called after each."""

    steps: Steps
    workers: Workers
    evaluations: int | None
    max_failures: int
    callback: Callable[[Trial], Any] | None
    started: int = 0
    failures: int = 0
    running: dict[int, Trial] = field(default_factory=dict)

    def run(self) -> str:
        """Why it ended. A second Ctrl-C, an error of the callback or of the store, leave nothing running."""
        with interruption() as pressed:
            try:
                return self._run(pressed)
            except KeyboardInterrupt:
                return BY_KEYBOARD
            finally:
                self.workers.stop()
                for trial in self.running.values():
                    with suppress(StoreError):  # it stays pending, and is given up by others once this process has ended
                        self.steps.abandon(trial, "interrupted")

    def _run(self, pressed: Interruption) -> str:
        reason: str | None = None
        while True:
            if pressed:
                reason = reason or BY_KEYBOARD
            elif reason is None:
                reason = self._fill(pressed)
            if not self.running:
                # A reason to end that was given while others ran may be out of date now that they are in.
                if reason is not None:
                    return reason
                continue
            self.steps.show(list(self.running.values()))
            # All results are recorded before any of them can end the run.
            finished = [(outcome, self._record(number, outcome, pressed)) for number, outcome in self.workers.wait(LOOK)]
            for outcome, done in finished:
                reason = self._judge(done, outcome, pressed) or reason
            if finished:
                self.steps.show(list(self.running.values()))

    def _fill(self, pressed: Interruption) -> str | None:
        """Start what can be started; the reason to end, if there is one and nothing is running."""
        while len(self.running) < self.workers.slots and not pressed:
            left = None if self.evaluations is None else self.evaluations - self.started
            if left == 0:
                return ALL_DONE
            trial = self.steps.begin(last=left == 1, alone=not self.running)
            if isinstance(trial, str):
                return None if self.running else trial
            if trial is None:
                return None
            self.running[trial.number] = trial
            self.started += 1
            self.workers.start(trial.number, trial.kwargs)
        return None

    def _record(self, number: int, outcome: Outcome, pressed: Interruption) -> Trial:
        """Put what came of a running trial into the store.

        What failed after Ctrl-C is abandoned: it may have failed for that, since what the objective has started gets the terminal's
        signal too.
        """
        trial = self.running.pop(number)
        if outcome.void or (pressed and outcome.evaluation is None):
            return self.steps.abandon(trial, outcome.reason or "interrupted")
        return self.steps.take(trial, outcome)

    def _judge(self, done: Trial, outcome: Outcome, pressed: Interruption) -> str | None:
        """The reason to end that a result gives."""
        if pressed and outcome.evaluation is None:
            return None
        if outcome.evaluation is not None:
            self.failures = 0
        else:
            self.failures += 1
            if self.failures == self.max_failures:
                raise ObjectiveFailed(
                    f"the objective failed {self.failures} times in a row; mend it and run again, what is known is kept. "
                    f"The last failure, at {done.kwargs}: {outcome.reason}{_indented(outcome.traceback)}"
                )
        if self.callback is not None and self.callback(done) is True:
            return BY_CALLBACK
        return None


def _indented(traceback: str | None) -> str:
    return "" if not traceback else "\nThe last traceback:\n" + "".join(f"    {line}\n" for line in traceback.splitlines())
