"""One run in a process of its own: `python -m experiments.worker`, the job as one line of JSON on standard input.

Standard input stays open as long as whoever asked for the run lives. When it closes, the run is given up: a driver that was killed
leaves nothing behind that computes what its successor computes again.
"""

from __future__ import annotations

import os

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ.update(ONE_THREAD)  # before NumPy is loaded

import json  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from experiments.runs import Job, save  # noqa: E402

GIVEN_UP = 75
"""Exit status of a run whose driver has gone."""


def _watch() -> None:
    # Not sys.stdin: at exit, Python would wait for the lock of its buffer, which this thread holds.
    while os.read(0, 1024):
        pass
    os._exit(GIVEN_UP)


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 1)
        if not more:
            os._exit(GIVEN_UP)
        line += more
    return line


def main() -> None:
    asked = json.loads(_first_line())
    threading.Thread(target=_watch, daemon=True).start()
    from experiments.catalog import EXPERIMENTS

    job = Job(**asked["job"])
    data = None if asked["data"] is None else Path(asked["data"])
    start = time.monotonic()
    result = EXPERIMENTS[job.experiment].run(job, data)
    save(job, result, time.monotonic() - start, Path(asked["work"]))


if __name__ == "__main__":
    main()
