"""The tasks of the comparison, by name."""

from __future__ import annotations

import json
import os
from pathlib import Path

from benchmarks.peers import lcbench, simulated, training
from benchmarks.peers.problem import Task

SIMULATED = tuple(simulated.BUILDERS)
LCBENCH = tuple(f"lcbench-{number}" for number in lcbench.OPENML_TASKS)
TRAINING = tuple(training.DEFINITIONS)
NAMES = (*SIMULATED, *LCBENCH, *TRAINING)

EXACT_FLOOR = 1e-6
ERROR_FLOOR = 1e-2
LOSS_FLOOR = 1e-4


def data_folder(given: Path | None) -> Path | None:
    """The folder with data files: what was given, or what the environment variable FARTHING_DATA says."""
    if given is not None:
        return given
    return Path(os.environ["FARTHING_DATA"]) if os.environ.get("FARTHING_DATA") else None


def missing(name: str, data: Path | None) -> str | None:
    """Why a task cannot be made here, or None."""
    if name in LCBENCH:
        return lcbench.missing(data)
    return training.missing() if name in TRAINING else None


def floor(name: str) -> float:
    """The regret below which there is nothing left to gain: 0.01 percentage points of an error, 1e-4 of a log loss, else 1e-6."""
    if name in LCBENCH or name == "svc":
        return ERROR_FLOOR
    return LOSS_FLOOR if name in TRAINING else EXACT_FLOOR


def reference_minima() -> dict[str, float]:
    """The lowest value known of each task whose minimum has no formula."""
    return {name: known["minimum"] for name, known in json.loads(lcbench.REFERENCES.read_text()).items()}


def make_task(name: str, seed: int = 0, data: Path | None = None) -> Task:
    """The task of that name; seed: of its noise or its random function, where it has one."""
    if name not in NAMES:
        raise ValueError(f"there is no task {name!r}; choose one of {', '.join(NAMES)}")
    reason = missing(name, data)
    if reason is not None:
        raise ValueError(f"the task {name!r} cannot be made: {reason}")
    if name in LCBENCH:
        assert data is not None
        return lcbench.build(name, data)
    return training.build(name) if name in TRAINING else simulated.build(name, seed)
