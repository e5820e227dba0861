"""Many runs: those that are missing, each in a process of its own, a few at once. What is finished is kept, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

from experiments.progress import Progress, progress_on
from experiments.runs import ROOT, Job, load
from experiments.worker import ONE_THREAD

LOOK = 0.1
"""Seconds between two looks at what is running."""

LAST_LINES = 6
"""Of what a failed run has printed, those that are shown."""


class StoppedError(Exception):
    """Ctrl-C, or a termination signal; the message says how many runs of how many are kept."""


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    log: Path
    started: float


@dataclass
class Engine:
    """Makes runs. work: the folder they are kept in; data: a folder with data sets, if any; jobs: how many at once.

    current: runs made with other sources of farthing are made again.
    """

    work: Path
    data: Path | None
    jobs: int
    current: bool = False
    failed: dict[Job, str] = field(default_factory=dict)

    def make(self, wanted: Sequence[Job]) -> None:
        """Make those of the wanted runs that are missing. A run that fails is noted in `failed`; StoppedError on Ctrl-C."""
        kept = {job: record for job in wanted if (record := load(job, self.work, self.current)) is not None}
        missing = [job for job in wanted if job not in kept]
        progress = progress_on(sys.stderr, len(wanted), len(kept), self.jobs)
        for job, record in kept.items():
            progress.knows(job, record["seconds"])
        running: list[_Running] = []
        progress.begin(missing)
        try:
            with _terminated_like_interrupted():
                while missing or running:
                    while missing and len(running) < self.jobs:
                        running.append(self._start(missing.pop(0)))
                    time.sleep(LOOK)
                    for one in [r for r in running if r.process.poll() is not None]:
                        running.remove(one)
                        self._ended(one, progress)
                    progress.show({r.job: time.monotonic() - r.started for r in running}, missing)
        except KeyboardInterrupt:
            progress.close()
            done = sum(load(job, self.work, self.current) is not None for job in wanted)
            raise StoppedError(f"{done} of {len(wanted)} runs are finished and kept in {self.work}") from None
        finally:
            progress.close()
            for one in running:
                one.process.kill()
            for one in running:
                one.process.wait()
                one.log.unlink(missing_ok=True)

    def _start(self, job: Job) -> _Running:
        out = job.path(self.work)
        out.parent.mkdir(parents=True, exist_ok=True)
        for stale in out.parent.glob(f"{out.name}.*.part"):  # of a run that was killed
            stale.unlink(missing_ok=True)
        log = out.with_suffix(".log")
        with log.open("wb") as written:
            process = subprocess.Popen(
                [sys.executable, "-m", "experiments.worker"],
                cwd=ROOT,
                env=os.environ | ONE_THREAD,
                stdin=subprocess.PIPE,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the driver, which then ends its runs
            )
        asked = {"job": asdict(job), "work": str(self.work.absolute()), "data": self.data and str(self.data.absolute())}
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, and its log says why
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        return _Running(job, process, log, time.monotonic())

    def _ended(self, one: _Running, progress: Progress) -> None:
        assert one.process.stdin is not None
        with suppress(BrokenPipeError):
            one.process.stdin.close()
        seconds = time.monotonic() - one.started
        if one.process.returncode == 0 and load(one.job, self.work) is not None:
            one.log.unlink(missing_ok=True)
            progress.done(one.job, seconds)
            return
        lines = one.log.read_text(errors="replace").strip().splitlines()
        why = "\n".join(lines[-LAST_LINES:]) or f"it ended with status {one.process.returncode} and said nothing"
        self.failed[one.job] = why
        progress.failed(one.job, seconds, why, one.log)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Inside, a termination signal ends what is running as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
