"""Stores: what one step of a study costs in a database that holds many trials.

    python -m benchmarks.store [--trials 10000] [--repeats 200]

A study gets 10,000 complete trials, each with eight hyperparameter draws of nine numbers in its proposal, in a new SQLite file and,
where a server is found (see tests/postgres.py), in a new PostgreSQL database. Timed are the first load of all trials, then the
median over 200 repetitions of "read what is new and insert a pending trial" (as `ask` does) and of "finish it" (as `tell` does).
Writes benchmarks/results/store.json, unless there were fewer trials than 10,000.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sqlalchemy

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres

from farthing.store.sql import SqlStore
from farthing.trials import Carried, Proposal, Recommendation, Trial

RESULTS = Path(__file__).parent / "results"
FULL_SIZE = 10_000


def pending(number: int, rng: np.random.Generator) -> Trial:
    """A trial as a study of six parameters and a fidelity makes it."""
    params = {f"x{i}": float(x) for i, x in enumerate(rng.random(6))}
    draws = tuple(tuple(float(v) for v in rng.standard_normal(9)) for _ in range(8))
    proposal = Proposal(
        kind="acquisition",
        predicted_cost=float(rng.random()),
        information_gain=float(rng.random()),
        information_rate=float(rng.random()),
        horizon=50,
        mean_overhead=float(rng.random()),
        information_share=float(rng.random()),
        price_share=float(rng.random()),
        recommendation=Recommendation(params, float(rng.random()), float(rng.random())),
        carried=Carried(draws, number, *(float(v) for v in rng.random(4))),
    )
    return Trial(number, params, float(rng.random()), proposal, fidelity_name="s", overhead=0.3, owner="host:1:0", started=1.7e9)


def complete(trial: Trial, rng: np.random.Generator) -> Trial:
    return trial.completed(float(rng.standard_normal()), 60.0, None, False)


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def row(kind: str, where: str | Path, trials: int, repeats: int) -> dict:
    rng = np.random.default_rng(0)
    store = SqlStore(where)
    store.create("benchmark", {}, None, 0.0)
    for number in range(trials):
        store.insert("benchmark", complete(pending(number, rng), rng))
    loading = SqlStore(where)
    load = seconds(lambda: loading.changes("benchmark", 0))
    revision = trials
    asked, told = [], []
    for number in range(trials, trials + repeats):
        trial = pending(number, rng)

        def ask(trial: Trial = trial, since: int = revision) -> None:
            store.changes("benchmark", since)
            assert store.insert("benchmark", trial) is not None

        asked.append(seconds(ask))
        result = complete(trial, rng)
        told.append(seconds(lambda result=result: store.finish("benchmark", result)))
        revision += 2
    assert store.changes("benchmark", revision - 1)[1] == revision
    return {
        "store": kind,
        "trials": trials,
        "load_seconds": load,
        "changes_and_insert_seconds": float(np.median(asked)),
        "finish_seconds": float(np.median(told)),
    }


def durable_database() -> str:
    """On the server of the tests, which does without fsync; here it counts."""
    import psycopg

    with psycopg.connect(postgres.server_url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM RESET fsync")
        connection.execute("SELECT pg_reload_conf()")
    return postgres.fresh_database()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=FULL_SIZE)
    parser.add_argument("--repeats", type=int, default=200)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(row("sqlite", Path(folder) / "studies.db", arguments.trials, arguments.repeats))
    try:
        rows.append(row("postgresql", durable_database(), arguments.trials, arguments.repeats))
    except postgres.NoServer as reason:
        print(f"no PostgreSQL: {reason}")
    for each in rows:
        steps = (
            f"changes and insert {1e3 * each['changes_and_insert_seconds']:.2f} ms, finish {1e3 * each['finish_seconds']:.2f} ms"
        )
        print(f"{each['store']:<10} {each['trials']} trials: {steps}, first load {each['load_seconds']:.3f} s")
    summary = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "sqlalchemy": sqlalchemy.__version__,
        "rows": rows,
    }
    if arguments.trials >= FULL_SIZE:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "store.json").write_text(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
