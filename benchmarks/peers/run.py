"""One run of one peer on one task, in the interpreter that runs this.

    python -m benchmarks.peers.run PEER TASK SEED --out FILE [--data DIR] [--wall 600] [--budget SECONDS] [--speed 1]

Two clocks: what evaluations cost (simulated, or their wall time where the task says so), and the overhead, real seconds in
`propose` and `observe`. A run ends when both together exceed the task's budget, or when proposing, observing and evaluating have
taken `--wall` real seconds; imports, `recommend` and the true value of what it recommends are not counted. With `--speed` a real
second counts as so many, on every clock. Recommendations are asked for after each of the first 30 evaluations, after every second
up to 60 and after every fifth beyond, the same for all peers.

FILE gets one JSON line a step between a header and a line that says why the run ended. It is written beside itself and renamed at
the end: a file of that name is a complete run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import argparse
import json
import platform
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.peers import tasks
from benchmarks.peers.interface import PEERS, Peer
from benchmarks.peers.problem import Params, Task

WALL = 600.0


def recommends(step: int) -> bool:
    """Whether a recommendation is asked for after this step."""
    return step <= 30 or (step % 2 == 0 if step <= 60 else step % 5 == 0)


def steps(task: Task, peer: Peer, wall: float = WALL, clock: Callable[[], float] = time.perf_counter) -> Iterator[dict[str, Any]]:
    """The records of a run: one a step, and at last why it ended."""

    @cache
    def regret(key: str) -> float:
        return task.regret(json.loads(key))

    step, spent, thinking, taken = 0, 0.0, 0.0, 0.0
    while True:
        step += 1
        try:
            start = clock()
            params, fidelity = peer.propose()
            proposed = clock()
            value, cost = task.evaluate(params, fidelity)
            evaluated = clock()
            peer.observe(params, fidelity, value, cost)
            observed = clock()
            overhead = task.speed * ((proposed - start) + (observed - evaluated))
            spent, thinking, taken = spent + cost, thinking + overhead, taken + task.speed * (observed - start)
            record = {"step": step, "params": params, "fidelity": fidelity, "value": value, "cost": cost}
            record |= {"spent": spent, "overhead": overhead, "thinking": thinking}
            record |= {} if peer.kind is None else {"kind": peer.kind}
            if recommends(step):
                recommended = _plain(peer.recommend())
                record |= {"recommend": clock() - observed, "recommended": recommended, "regret": regret(json.dumps(recommended))}
        except Exception as error:
            yield {"ended": "failed", "reason": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
            return
        yield record | {"params": _plain(params)}
        if spent + thinking > task.budget:
            yield {"ended": "budget"}
            return
        if taken > wall:
            yield {"ended": "wall", "reason": f"{wall:g} s of wall time, before the budget was spent"}
            return


def _plain(params: Params) -> Params:
    """Python's own numbers, which JSON can hold."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in params.items()}


def write(out: Path, header: dict[str, Any], records: Iterator[dict[str, Any]]) -> None:
    """Write a run beside its file, then give it its name."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for stale in out.parent.glob(f"{out.name}.*.part"):  # of a run that was killed
        stale.unlink()
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    try:
        with part.open("w") as lines:
            for record in chain([header], records):
                lines.write(json.dumps(record) + "\n")
                lines.flush()
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def is_complete(out: Path) -> bool:
    """Whether a run was written to its end."""
    if not out.exists():
        return False
    last = out.read_text().rstrip().rpartition("\n")[2]
    try:
        return "ended" in json.loads(last)
    except json.JSONDecodeError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=list(PEERS))
    parser.add_argument("task", choices=tasks.NAMES)
    parser.add_argument("seed", type=int)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--wall", type=float, default=WALL)
    parser.add_argument("--budget", type=float, help="seconds, instead of the task's own budget")
    parser.add_argument("--speed", type=float, default=1.0, help="seconds that a second of this machine counts")
    arguments = parser.parse_args()
    task = tasks.make_task(arguments.task, arguments.seed, tasks.data_folder(arguments.data))
    task = replace(task, speed=arguments.speed)
    if arguments.budget is not None:
        task = replace(task, budget=arguments.budget)
    entry = PEERS[arguments.peer]
    peer = entry.make(task, arguments.seed)
    header = {
        "peer": arguments.peer,
        "task": task.name,
        "seed": arguments.seed,
        "budget": task.budget,
        "minimum": task.minimum,
        "wall": arguments.wall,
        "speed": arguments.speed,
        "python": platform.python_version(),
        "versions": entry.versions(),
    }
    write(arguments.out, header, steps(task, peer, arguments.wall))


if __name__ == "__main__":
    main()
