"""Live progress of a run, in a terminal or a notebook.

In a terminal the display is drawn below the cursor, which stays where it is: whatever the objective prints, by itself or through
its processes, goes to where it was meant to go and pushes the display down. (Displays above the cursor, such as rich's own, erase
by counting lines: they swallow lines that others write and break when the terminal is resized.)
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TextIO, cast

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from farthing.report import (
    Standing,
    cost_in_words,
    costs_are_seconds,
    failure_counts,
    first_line,
    params_in_words,
    seconds_in_words,
    spend_by_fidelity,
    value_in_words,
)
from farthing.trials import FAILED, History, Trial

TICK = 0.25
"""Seconds between drawings."""

AT_ONCE = 0.05
"""Seconds after a drawing before something printed may cause another: an objective that prints a lot is not held up."""

BAR = 24
"""Columns of the bar."""

SHOWN = 3
"""Running trials that are shown, at most."""


def live_progress() -> Progress | None:
    """A display on standard error; None where that is no terminal, nor this a notebook, and where another display is live."""
    if Console().is_jupyter:
        return Progress(Notebook())
    stream = sys.stderr
    if isinstance(stream, _Printed) or not _is_terminal(stream):
        return None
    console = Console(file=stream, force_terminal=True)
    return None if console.is_dumb_terminal or console.legacy_windows else Progress(Terminal(stream, console))


def _is_terminal(stream: TextIO | None) -> bool:
    """Not, where a stream was closed, or replaced by something that knows no more than how to write."""
    with suppress(AttributeError, ValueError):
        return stream is not None and stream.isatty()
    return False


class Surface(Protocol):
    """Where a display is drawn."""

    def draw(self, picture: RenderableType) -> None:
        """Put this picture in place of the one before."""

    def close(self) -> None:
        """Leave the last picture where it is."""


class Progress:
    """Shows how a run stands, and for how long what is running has been. clock: seconds since 1970, as in `Trial.started`."""

    def __init__(self, surface: Surface, clock: Callable[[], float] = time.time) -> None:
        self._surface, self._clock = surface, clock
        self._first: tuple[float, Standing] | None = None
        self._latest: tuple[float, Standing] | None = None  # the time is that at which something was last done or spent
        self._summary: _Summary | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="farthing-progress", daemon=True)

    def show(self, standing: Standing) -> None:
        """Show this from now on. It is drawn by a thread: this returns at once."""
        now = self._clock()
        if self._latest is None:
            self._first = self._latest = now, standing
            self._draw()
            self._thread.start()
            return
        since, before = self._latest
        changed = (standing.spent, standing.done) != (before.spent, before.done)
        self._latest = now if changed else since, standing

    def close(self) -> None:
        """Draw the last state and leave it on the screen."""
        self._closed.set()
        if self._latest is not None:
            self._thread.join()
            self._draw()
        self._surface.close()

    def _tick(self) -> None:
        while not self._closed.wait(TICK):
            self._draw()

    def _draw(self) -> None:
        assert self._first is not None
        assert self._latest is not None
        (begun, first), (since, standing) = self._first, self._latest
        # At the end there may be another recommendation from the same history.
        if self._summary is None or self._summary.history is not standing.history or self._closed.is_set():
            self._summary = _Summary(standing)
        now = self._clock()
        left = standing.seconds_left(first, since - begun)
        left = None if left is None or self._closed.is_set() else max(left - (now - since), 0.0)
        picture = _picture(standing, self._summary, left, None if self._closed.is_set() else now)
        # A terminal that was closed, or a stream that was: the run goes on unseen.
        with suppress(OSError, ValueError):
            self._surface.draw(picture)


# What is shown --------------------------------------------------------------------------------------------------------------


class _Summary:
    """What changes only with the history, and takes time that grows with it."""

    def __init__(self, standing: Standing) -> None:
        self.history: History = standing.history
        # Before the first result too, where seconds are what will count.
        self.in_seconds = standing.overhead_rate == 1.0 or costs_are_seconds(self.history, standing.overhead_rate)
        self.recommendation = standing.recommendation
        rows = spend_by_fidelity(self.history)
        self.evaluations = sum(count for name, count, _ in rows if name != "failed")
        by_fidelity = [] if self.history.space.fidelity is None else [row for row in rows if row[1] and row[0] != "failed"]
        # "full (rows=10000)" -> "full", "100 to 1000" -> "100–1000": five of them fit into a line.
        self.by_fidelity = [f"{name.partition(' (')[0].replace(' to ', '–')} ×{count}" for name, count, _ in by_fidelity]
        self.failures = sum(count for _, count in failure_counts(self.history))
        reasons = (t.reason for t in reversed(self.history.trials) if t.state == FAILED)
        self.last_failure = first_line(next(reasons, None) or "").removeprefix("CommandFailed: ")


def _picture(standing: Standing, summary: _Summary, left: float | None, now: float | None) -> Table:
    """A few lines, most of them cut to the width. left: seconds, if known; now: None when all is over."""
    rows: list[tuple[str, RenderableType]] = [("spent", _spent(standing, summary, left))]
    total = "" if standing.evaluations is None else f" ({standing.done} of {standing.evaluations} in this run)"
    rows.append(("evaluations", Text(" · ".join([f"{summary.evaluations}{total}", *summary.by_fidelity]))))
    if summary.failures:
        rows.append(("failures", _line(f"{summary.failures}, the last: {summary.last_failure}", "red")))
    best = summary.recommendation
    if best is not None:
        value = f"{value_in_words(float(best.mean))} ± {best.std:.2g}"
        rows.append(("best so far", _line(f"{value} at {params_in_words(best.params)}", "bold")))
    if now is not None:
        running = [_running(trial, now) for trial in standing.running[:SHOWN]] or ["thinking"]
        if len(standing.running) > SHOWN:
            running.append(f"and {len(standing.running) - SHOWN} more")
        rows += [("now" if i == 0 else "", _line(text)) for i, text in enumerate(running)]
    picture = Table.grid(Column(style="dim", no_wrap=True), Column(ratio=1), padding=(0, 2), expand=True)
    for label, content in rows:
        picture.add_row(label, content)
    return picture


def _spent(standing: Standing, summary: _Summary, left: float | None) -> RenderableType:
    spent, share = cost_in_words(standing.spent, summary.in_seconds), standing.overhead_share
    if standing.budget is not None:
        spent += f" of {cost_in_words(standing.budget, summary.in_seconds)}"
    parts = [spent, None if share is None else f"{share:.0%} thinking", None if left is None else f"{_whole_seconds(left)} left"]
    words = _line(" · ".join(part for part in parts if part))
    if standing.used is None:
        return words
    row = Table.grid("", Column(no_wrap=True), padding=(0, 2))
    row.add_row(ProgressBar(total=1.0, completed=standing.used, width=BAR, complete_style="cyan"), words)
    return row


def _running(trial: Trial, now: float) -> str:
    elapsed = "" if trial.started is None else f"{_whole_seconds(max(now - trial.started, 0.0))} at "
    return elapsed + params_in_words(trial.kwargs if trial.fidelity_name is None else _fidelity_first(trial))


def _fidelity_first(trial: Trial) -> dict[str, Any]:
    assert trial.fidelity_name is not None
    return {trial.fidelity_name: trial.fidelity, **trial.params}


def _whole_seconds(seconds: float) -> str:
    """Digits that change at every drawing could not be read."""
    return f"{seconds:.0f} s" if seconds < 100.0 else seconds_in_words(seconds)


def _line(text: str, style: str = "") -> Text:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return Text(printable, style=style, no_wrap=True, overflow="ellipsis")


# Where it is shown ----------------------------------------------------------------------------------------------------------

ERASE_BELOW, ERASE_LINE, SAVE, RESTORE, DOWN = "\x1b[J", "\x1b[K", "\x1b7", "\x1b8", "\x1bD"


class Terminal:
    """The lines below the cursor. What this process prints meanwhile comes out above them, on the stream it was printed to.

    What other processes print comes out there too; of several lines at once, those after the first may have the rest of a line of
    the display behind them.
    """

    def __init__(self, stream: TextIO, console: Console) -> None:
        self._stream, self._console = stream, console
        self._lines: list[str] = []
        self._drawn = -AT_ONCE
        self._cursor_on_text = False
        self._lock = threading.RLock()  # of which a signal handler that prints may take hold a second time
        self._process = os.getpid()
        self._replaced: list[tuple[str, _Printed]] = []
        self._handlers: list[tuple[logging.StreamHandler[Any], _Printed]] = []
        for name in ("stdout", "stderr"):
            original = getattr(sys, name)
            if _is_terminal(original):
                printed = _Printed(original, self)
                self._replaced.append((name, printed))
                setattr(sys, name, cast(TextIO, printed))
                # logging.basicConfig has kept the stream itself.
                own = (h for h in logging.root.handlers if isinstance(h, logging.StreamHandler))
                self._handlers += [(h, printed) for h in own if h.stream is original]
        for handler, printed in self._handlers:
            handler.setStream(printed)

    def draw(self, picture: RenderableType) -> None:
        with self._lock:
            size = self._size()
            self._console.size = size.columns - 1, size.lines
            with self._console.capture() as captured:
                self._console.print(picture)
            # Writable in any encoding, and never so high that the cursor would be pushed off the screen.
            encoding = self._stream.encoding or "ascii"
            text = captured.get().encode(encoding, "replace").decode(encoding)
            self._lines = text.rstrip("\n").split("\n")[: max(size.lines - 1, 0)]
            self._put()

    def write(self, text: str, original: TextIO) -> int:
        """Write what was printed to its own stream, the display out of its way."""
        if not self._lines or os.getpid() != self._process:  # a fork has no display, and perhaps a lock that nobody releases
            return original.write(text)
        with self._lock:
            self._cursor_on_text = text.endswith("\r")
            if "\n" not in text:
                return original.write(text)
            self._send(ERASE_BELOW)
            written = original.write(text)
            original.flush()
            if time.monotonic() - self._drawn > AT_ONCE:
                self._put()
            return written

    def close(self) -> None:
        with self._lock:
            for name, printed in self._replaced:
                if getattr(sys, name) is printed:
                    setattr(sys, name, printed.original)
            for handler, printed in self._handlers:
                if handler.stream is printed:
                    handler.setStream(printed.original)
            if self._lines:
                with suppress(OSError, ValueError):
                    self._put()
                    self._send(f"\x1b[{len(self._lines)}B\r\n")
            self._lines = []

    def _put(self) -> None:
        """Make room below the cursor without moving it sideways, then draw there and come back."""
        height = len(self._lines)
        room = DOWN * height + f"\x1b[{height}A" if height else ""
        # Where others have printed, the cursor may stand on what was the display. But it may also stand at the start of a line
        # that the objective will write over, as its own progress.
        clear = "" if self._cursor_on_text else ERASE_LINE
        below = "".join(f"\r\n{line}{ERASE_LINE}" for line in self._lines)
        self._send(f"{room}{clear}{SAVE}{below}{ERASE_BELOW}{RESTORE}")
        self._drawn = time.monotonic()

    def _send(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _size(self) -> os.terminal_size:
        with suppress(OSError, ValueError):
            size = os.get_terminal_size(self._stream.fileno())
            if size.columns > 1 and size.lines > 0:
                return size
        return os.terminal_size((80, 24))


class _Printed:
    """Stands for sys.stdout or sys.stderr while a terminal shows progress, and for ever after where somebody has kept it."""

    def __init__(self, original: TextIO, terminal: Terminal) -> None:
        self.original, self._terminal = original, terminal

    def write(self, text: str) -> int:
        return self._terminal.write(text, self.original)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


class Notebook:
    """One output of a cell, updated in place. display: IPython's own, unless given."""

    def __init__(self, display: Callable[..., Any] | None = None) -> None:
        self._display = importlib.import_module("IPython.display").display if display is None else display
        self._handle: Any = None

    def draw(self, picture: RenderableType) -> None:
        if self._handle is None:
            self._handle = self._display(picture, display_id=True)
        else:
            self._handle.update(picture)

    def close(self) -> None:
        """Nothing to do: the output stays as it is."""
