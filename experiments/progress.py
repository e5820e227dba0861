"""How far the runs are: one line that stays up to date on a terminal, one line for each finished run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from experiments.runs import Job


@dataclass
class Expectation:
    """How long runs take, from those that were made: by kind, and where there are none of a kind, by all."""

    seconds: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    def take(self, job: Job, seconds: float) -> None:
        self.seconds.setdefault(job.kind, []).append(seconds)

    def of(self, job: Job) -> float | None:
        known = self.seconds.get(job.kind) or [s for each in self.seconds.values() for s in each]
        return sum(known) / len(known) if known else None

    def left(self, running: Mapping[Job, float], missing: Sequence[Job], jobs: int) -> float | None:
        """Seconds until all is done, with so many at once; None before anything is known."""
        expected = [(self.of(job), passed) for job, passed in [*running.items(), *((job, 0.0) for job in missing)]]
        parts = [max(seconds - passed, 0.0) for seconds, passed in expected if seconds is not None]
        if len(parts) < len(expected):
            return None
        return max(sum(parts) / jobs, max(parts, default=0.0))


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown time"
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


class Progress:
    """Lines of text, one for each run that ends."""

    def __init__(self, out: TextIO, total: int, kept: int, jobs: int) -> None:
        self._out, self._total, self._done, self._jobs = out, total, kept, jobs
        self._expectation = Expectation()
        self._missing: Sequence[Job] = ()

    def knows(self, job: Job, seconds: float) -> None:
        """A run that was made before took so long."""
        self._expectation.take(job, seconds)

    def begin(self, missing: Sequence[Job]) -> None:
        """Say what there is to do. `missing` is looked at again later: it shrinks as runs are started."""
        self._missing = missing
        self._say(f"{self._total} runs, {self._done} of them finished before")

    def show(self, running: Mapping[Job, float], missing: Sequence[Job]) -> None:
        """How things stand."""

    def done(self, job: Job, seconds: float) -> None:
        self._done += 1
        self._expectation.take(job, seconds)
        left = duration(self._expectation.left({}, self._missing, self._jobs))
        self._say(f"[{self._done}/{self._total}] {job}: {duration(seconds)}; about {left} left")

    def failed(self, job: Job, seconds: float, why: str, log: Path) -> None:
        self._say(f"{job} FAILED after {duration(seconds)}, see {log}\n{why}")

    def close(self) -> None:
        """Nothing more will be shown."""

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


class LiveProgress(Progress):
    """A line at the foot of the terminal: done, running, time left."""

    def __init__(self, out: TextIO, total: int, kept: int, jobs: int) -> None:
        from rich.console import Console
        from rich.live import Live

        super().__init__(out, total, kept, jobs)
        self._live = Live("", console=Console(file=out), refresh_per_second=4, transient=True)
        self._live.start()

    def show(self, running: Mapping[Job, float], missing: Sequence[Job]) -> None:
        from rich.text import Text

        left = duration(self._expectation.left(running, missing, self._jobs))
        now = ", ".join(f"{job} ({duration(passed)})" for job, passed in running.items())
        self._live.update(Text(f"{self._done} of {self._total} runs, {left} left; running: {now or 'none'}"))

    def close(self) -> None:
        self._live.stop()

    def _say(self, text: str) -> None:
        self._live.console.print(text, highlight=False, markup=False)


def progress_on(out: TextIO, total: int, kept: int, jobs: int) -> Progress:
    return LiveProgress(out, total, kept, jobs) if out.isatty() else Progress(out, total, kept, jobs)
