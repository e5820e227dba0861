"""The overhead of every peer: seconds of `propose` and `observe` after n observations.

    python -m benchmarks.peers.overhead [--peers ...] [--environments .peers] [--limit 120]

Observations are given: random points at random fidelities (at full fidelity for peers that do not choose it) of a smooth function
in d = 2 and 6. Two steps are recorded apart, since in one of them models are fitted from nothing (farthing's first is a repeat and
takes no thought). After them come up to twenty for the mean, which tells more than the median of peers that think hard only now and
then; after twenty seconds no more than five, and no more than two of slow peers; after `--limit`
seconds none. At each size one peer is measured after another, each in its own environment, on one thread of one core, so that what
is compared was measured within minutes. Writes benchmarks/results/peers_overhead.json, all of it anew.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.peers import environments
from benchmarks.peers.interface import PEERS, Peer
from benchmarks.peers.problem import Axis, Fidelity, Params, Task
from benchmarks.peers.simulated import quadratic_cost

RESULTS = environments.ROOT / "benchmarks" / "results" / "peers_overhead.json"
SIZES, DIMENSIONS = (20, 50, 100), (2, 6)
STEPS, QUICK = 20, 20.0
"""Steps of the mean, and seconds after which no more than the least number is made."""

LEAST = {"fast": 5, "medium": 5, "slow": 2}
"""Steps that are made also where they are not quick, by the pace of the peer."""


def smooth_task(dimensions: int) -> Task:
    """A bowl with waves, shifted and lifted by the fidelity, with a budget that does not end."""

    def objective(params: Params, s: float) -> float:
        z = np.array(list(params.values())) - 0.4 - 0.1 * s
        return float(3.0 * (z**2).sum() + 0.5 * np.sin(7.0 * z[0]) * np.cos(5.0 * z[-1]) + 0.3 * s)

    return Task(
        f"smooth{dimensions}",
        tuple(Axis(f"x{i}", 0.0, 1.0) for i in range(dimensions)),
        Fidelity("s", cheap=1.0, full=0.0),
        objective,
        cost=lambda params, s: quadratic_cost(s),
        typical_cost=quadratic_cost,
        minimum=-np.inf,
        budget=1e6,
    )


def step(peer: Peer, task: Task) -> float:
    """Seconds of one proposal and of taking its result."""
    start = time.perf_counter()
    params, fidelity = peer.propose()
    proposed = time.perf_counter()
    value, cost = task.evaluate(params, fidelity)
    evaluated = time.perf_counter()
    peer.observe(params, fidelity, value, cost)
    return proposed - start + time.perf_counter() - evaluated


def cell(name: str, n: int, dimensions: int, limit: float) -> dict:
    """The row of the table for one peer, n and d."""
    task, rng = smooth_task(dimensions), np.random.default_rng(0)
    peer = PEERS[name].make(task, 0)
    for _ in range(n):
        params, s = task.params(rng.random(dimensions)), float(rng.random())
        fidelity = s if PEERS[name].chooses_fidelity else task.fidelity.full
        peer.observe(params, fidelity, *task.evaluate(params, fidelity))
    first = max(step(peer, task), step(peer, task))
    times, begun = [], time.perf_counter()
    least = LEAST[PEERS[name].pace]
    while len(times) < STEPS and (not times or time.perf_counter() - begun < (limit if len(times) < least else QUICK)):
        times.append(step(peer, task))
    found = {"mean": np.mean(times), "median": np.median(times), "first": first}
    return {"peer": name, "n": n, "d": dimensions, "steps": len(times)} | {key: float(f"{s:.4g}") for key, s in found.items()}


def measured(name: str, n: int, dimensions: int, folder: Path, limit: float) -> dict | None:
    """The same, by the interpreter of the peer's environment; None, and a word, where it fails."""
    command = [str(environments.interpreter(name, folder)), "-m", "benchmarks.peers.overhead", "--here", "--peers", name]
    command += ["--sizes", str(n), "--dimensions", str(dimensions), "--limit", str(limit)]
    done = subprocess.run(command, cwd=environments.ROOT, stdout=subprocess.PIPE, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not found:
        print(f"{name}: failed at d={dimensions}, n={n}", file=sys.stderr)
        return None
    return found[0]


def on_one_core() -> None:
    """Stay on one core, with all threads that are still to come, where the system can be told so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), metavar="PEER", help=", ".join(PEERS))
    parser.add_argument("--environments", type=Path, default=environments.FOLDER)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--here", action="store_true", help="measure in this interpreter and print JSON lines, nothing else")
    arguments = parser.parse_args()
    if arguments.here:
        on_one_core()
        for name, n, d in product(arguments.peers, arguments.sizes, arguments.dimensions):
            print(json.dumps(cell(name, n, d, arguments.limit)), flush=True)
        return
    peers = [name for name in arguments.peers if environments.interpreter(name, arguments.environments).exists()]
    for name in set(arguments.peers) - set(peers):
        print(f"{name} left out: there is no environment {PEERS[name].environment} in {arguments.environments}")
    rows = []
    for d, n, name in product(arguments.dimensions, arguments.sizes, peers):
        row = measured(name, n, d, arguments.environments, arguments.limit)
        if row is None:
            continue
        rows.append(row)
        print(f"{name:<15} d={d:<3} n={n:<5} {row['mean']:8.3f} s  (first {row['first']:.3f}, {row['steps']} steps)", flush=True)
        arguments.out.parent.mkdir(exist_ok=True)
        arguments.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
