"""The overhead of every peer: seconds of `propose` and `observe` after n observations.

    python -m benchmarks.peers.overhead [--peers ...] [--environments .peers] [--limit 120]

Observations are given: random points at random fidelities (at full fidelity for peers that do not choose it) of a smooth function
in d = 2 and 6. After a first step, which is recorded apart, come five of which the median is taken, and up to fifteen more as
long as they are quick, for the mean of all: it tells more of peers that think hard only now and then. A cell ends early after
`--limit` seconds. Each peer runs in its own environment, one after another, on one thread. Writes
benchmarks/results/peers_overhead.json.
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
from pathlib import Path

import numpy as np

from benchmarks.peers import environments
from benchmarks.peers.interface import PEERS, Peer
from benchmarks.peers.problem import Axis, Fidelity, Params, Task
from benchmarks.peers.simulated import quadratic_cost

RESULTS = environments.ROOT / "benchmarks" / "results" / "peers_overhead.json"
SIZES, DIMENSIONS = (20, 50, 100), (2, 6)
STEPS, MORE_STEPS, QUICK = 5, 20, 10.0
"""Steps of the median, steps of the mean, and seconds after which no more are made for the mean."""


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
    begun = time.perf_counter()
    first, times = step(peer, task), []
    while len(times) < MORE_STEPS and (not times or time.perf_counter() - begun < (limit if len(times) < STEPS else QUICK)):
        times.append(step(peer, task))
    summary = {"seconds": float(np.median(times[:STEPS])), "mean": float(np.mean(times)), "first": first, "steps": len(times)}
    return {"peer": name, "n": n, "d": dimensions} | summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), metavar="PEER", help=", ".join(PEERS))
    parser.add_argument("--environments", type=Path, default=environments.FOLDER)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--here", action="store_true", help="measure in this interpreter and print JSON lines, nothing else")
    arguments = parser.parse_args()
    cells = [(name, n, d) for name in arguments.peers for d in DIMENSIONS for n in arguments.sizes]
    if arguments.here:
        for name, n, d in cells:
            print(json.dumps(cell(name, n, d, arguments.limit)), flush=True)
        return
    rows = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    for name in arguments.peers:
        python = environments.interpreter(name, arguments.environments)
        if not python.exists():
            print(f"{name} left out: there is no {python}")
            continue
        command = [str(python), "-m", "benchmarks.peers.overhead", "--here", "--peers", name, "--limit", str(arguments.limit)]
        command += ["--sizes", *map(str, arguments.sizes)]
        done = subprocess.run(command, cwd=environments.ROOT, stdout=subprocess.PIPE, text=True, check=False)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for row in found:
            rest = f"mean {row['mean']:.3f}, first {row['first']:.3f}"
            print(f"{name:<15} d={row['d']:<3} n={row['n']:<5} {row['seconds']:8.3f} s  ({rest})")
        if done.returncode:
            print(f"{name}: failed after {len(found)} of {len(arguments.sizes) * len(DIMENSIONS)}", file=sys.stderr)
        fresh = {(row["peer"], row["n"], row["d"]) for row in found}
        rows = [row for row in rows if (row["peer"], row["n"], row["d"]) not in fresh] + found
        arguments.out.parent.mkdir(exist_ok=True)
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
