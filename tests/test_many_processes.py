"""One study, many processes, no coordinator."""

import subprocess
import sys
from pathlib import Path

import many_processes
import numpy as np
import postgres
import pytest

import farthing as ft
from farthing.trials import COMPLETE

PROCESSES, EACH = 8, 50


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "shared.db")
    try:
        return postgres.fresh_database()
    except postgres.NoServer as reason:
        pytest.skip(f"no PostgreSQL: {reason}")


def test_eight_processes_on_one_store_neither_lose_nor_repeat_a_number_and_never_find_it_locked(store):
    command = [sys.executable, many_processes.__file__, store, str(EACH)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
        for _ in range(PROCESSES)
    ]
    for process in started:
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out.strip(), err) == (0, "all evaluations done", "")
    study = ft.Study.open(store)
    trials = study.trials
    assert [t.number for t in trials] == list(range(PROCESSES * EACH))
    assert sorted(t.order for t in trials) == list(range(PROCESSES * EACH))
    assert all(t.state == COMPLETE for t in trials)
    owners = [t.owner for t in trials]
    assert sorted(owners.count(owner) for owner in set(owners)) == [EACH] * PROCESSES
    assert len({tuple(t.params.values()) for t in trials}) == len(trials), "two processes evaluated the same point"
    assert study.recommend().params == pytest.approx({"x": 0.3, "y": 0.6}, abs=0.05)


def test_a_process_that_was_there_all_along_sees_what_the_others_did(store):
    study = many_processes.study_in(store)
    assert study.trials == ()
    command = [sys.executable, many_processes.__file__, store, "6"]
    subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=Path(__file__).parent)
    assert len(study.trials) == 6
    assert study.ask().number == 6


def test_evaluations_at_once_are_spread_out():
    """Pending points are reckoned with: without that, four workers would be sent to the same place."""
    study = ft.Study(
        {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)},
        fidelity=ft.Fidelity("rows", cheap=10, full=1000, log=True),
        seed=2,
        settings=ft.Settings(overhead_price=0.0, draws=4),
    )
    rng = np.random.default_rng(0)
    for _ in range(16):
        x, y, rows = *rng.random(2), float(rng.choice([10, 100, 1000]))
        study.add({"x": float(x), "y": float(y)}, many_processes.objective(x, y) + 1 / rows, fidelity=rows, cost=rows / 1000)
    trials = [study.ask() for _ in range(4)]
    points = np.column_stack(
        [study.space.unit_points([t.params for t in trials]), study.space.unit_fidelities([t.fidelity for t in trials])]
    )
    distances = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(4, 1)]
    assert distances.min() > 0.02
