"""The paper's experiments: their definitions against known numbers, the engine against kills, verdicts on made-up results."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # experiments is a folder of the project, not part of the package

import farthing as ft  # noqa: E402
from experiments import ablation, curves, data, fig1, fig5, fig6, page, runs, synthetic, table1, variants  # noqa: E402
from experiments.__main__ import main  # noqa: E402
from experiments.catalog import EXPERIMENTS  # noqa: E402
from experiments.contenders import ENVPES, PES, Contender  # noqa: E402
from experiments.curves import TWENTIETHS  # noqa: E402
from experiments.engine import Engine  # noqa: E402
from experiments.experiment import Size  # noqa: E402
from experiments.progress import Expectation  # noqa: E402
from experiments.runs import Job, load, save  # noqa: E402
from experiments.study_run import run_study  # noqa: E402
from experiments.table1_paper import PAPER, SAMPLERS, judge  # noqa: E402
from experiments.verdicts import BETTER, NO_DATA, NOT, REPRODUCED, TOO_FEW, UNDECIDED, ahead, at_every_tenth  # noqa: E402
from experiments.worker import GIVEN_UP  # noqa: E402
from farthing.method import minimizers, support  # noqa: E402
from farthing.method.beliefs import believe  # noqa: E402
from farthing.method.local_minima import find_local_minima  # noqa: E402
from farthing.method.situation import Situation  # noqa: E402
from farthing.method.surrogate import fit_surrogate  # noqa: E402


class Ticking:
    """A clock that moves by the same step at every look."""

    def __init__(self, step=0.01):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


# Definitions ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "minimizer", "minimum"),
    [
        ("branin", (0.0855457, -0.03), 0.397887),  # (pi, 2.275); the other one on this square is (9.42478, 2.475)
        ("branin", (0.9233037, -0.0033333), 0.397887),
        ("hartmann3", (-0.7708223, 0.1112978, 0.7050939), -3.86278),
        ("hartmann6", (-0.596621, -0.6999786, -0.0462521, -0.4493351, -0.3766968, 0.3146011), -3.32237),
    ],
)
def test_minima_are_those_of_the_literature(name, minimizer, minimum):
    params = {f"x{i}": x for i, x in enumerate(minimizer)}
    for problem in (synthetic.offset(name), synthetic.plain(name, 10)):
        assert problem.truth(params) == pytest.approx(minimum, abs=2e-5)
        assert problem.minimum == pytest.approx(minimum, abs=1e-5)


@pytest.mark.parametrize(
    ("problem", "cheap", "full", "hours"),
    [
        (synthetic.offset("branin"), 120.0, 1800.0, 15.0),
        (synthetic.offset("hartmann3"), 120.0, 1800.0, 10.0),
        (synthetic.offset("hartmann6", 0.5), 120.0, 1800.0, 25.0),
        (("good", 0, 1.0), 300.0 * np.exp(-3.0), 300.0, 8.0),
        (("bad", 1, 0.25), 300.0 * np.exp(-1.0), 300.0, 2.0),
    ],
)
def test_costs_at_both_ends_and_budgets(problem, cheap, full, hours, monkeypatch):
    if isinstance(problem, tuple):
        monkeypatch.setattr(synthetic.functions, "lowest_on_square", lambda *_: (np.zeros(2), 0.0))
        problem = synthetic.draw(*problem)
    x = {f"x{i}": 0.3 for i in range(problem.dimensions)}
    assert problem.objective(s=1.0, **x).cost == pytest.approx(cheap)
    assert problem.objective(s=0.0, **x).cost == pytest.approx(full)
    assert problem.objective(s=0.0, **x).value == problem.truth(x)
    assert problem.budget == pytest.approx(hours * 3600.0)


def test_a_shifted_fidelity_is_the_papers():
    u, v, s = 7.5 * 0.3 + 2.5 + 0.2 * 0.5, 7.5 * -0.2 + 2.5 - 0.15 * 0.5, 0.5
    expected = (v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10 + 0.5 * s
    assert synthetic.offset("branin").objective(s=s, x0=0.3, x1=-0.2).value == pytest.approx(expected)


def test_a_draw_is_one_function_with_its_minimum_nowhere_undercut(monkeypatch):
    monkeypatch.setattr(synthetic, "WAVES", 500)
    problem = synthetic.draw("good", 3)
    monkeypatch.setattr(synthetic.functions, "lowest_on_square", lambda *_: (np.zeros(2), 0.0))
    again, other = synthetic.draw("good", 3), synthetic.draw("good", 4)
    points = [{"x0": x, "x1": y} for x, y in np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 2))]
    values = [problem.truth(p) for p in points]
    assert values == [again.truth(p) for p in points]
    assert values != [other.truth(p) for p in points]
    assert problem.minimum < min(values) < problem.minimum + 0.5


def test_draws_have_the_variance_and_lengthscales_that_are_stated():
    at = [{"x0": 0.0, "x1": 0.0}, {"x0": 0.3, "x1": 0.0}]
    rows = np.array(
        [[f(at[0]), f(at[1]), g(s=0.4, **at[0]).value] for f, g in ((p.truth, p.objective) for p in _draws_without_minima(300))]
    )
    q = np.sqrt(5.0)  # one lengthscale apart
    correlation = (1.0 + q + q**2 / 3.0) * np.exp(-q)
    covariance = rows.T @ rows / len(rows)
    se = 1.5 * np.sqrt(2.0 / len(rows))
    assert covariance[0, 0] == pytest.approx(1.5, abs=4 * se)
    assert covariance[0, 1] == pytest.approx(1.5 * correlation, abs=4 * se)
    assert covariance[0, 2] == pytest.approx(1.5 * correlation, abs=4 * se)


def _draws_without_minima(count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic.functions, "lowest_on_square", lambda *_: (np.zeros(2), 0.0))
        patch.setattr(synthetic, "WAVES", 200)
        return [synthetic.draw("bad", seed) for seed in range(count)]


def test_fig6s_transform_is_continuous_and_scales_subsets():
    assert fig6.transformed(-0.5, 10, 10) == 0.5
    assert fig6.transformed(3.0, 5, 10) == -6.0
    assert fig6.transformed(-np.e, 10, 10) == pytest.approx(2.0)
    assert fig6.transformed(-100.0, 50, 100) == pytest.approx(1.0 + np.log(200.0))
    assert fig6.transformed(-1.0 + 1e-9, 7, 7) == pytest.approx(fig6.transformed(-1.0 - 1e-9, 7, 7), abs=1e-8)
    assert fig6.subset_size(0.0, 17_518) == 17_518
    assert fig6.subset_size(1.0, 17_518) == 350


def test_fig6s_likelihood_is_that_of_a_dense_normal():
    rng = np.random.default_rng(1)
    t, y = np.sort(rng.uniform(0.0, 20.0, 400)), rng.standard_normal(400)
    q = np.sqrt(5.0) * np.abs(t[:, None] - t) / 0.7
    covariance = 2.5 * (1.0 + q + q**2 / 3.0) * np.exp(-q) + 0.01 * np.eye(400)
    assert fig6.log_likelihood(t, y, 2.5, 0.7) == pytest.approx(multivariate_normal(np.zeros(400), covariance).logpdf(y))


def test_at_scale_one_data_and_budgets_are_the_papers():
    assert (fig5.full_rows(1.0), fig6.full_count(1.0)) == (10_000, 17_518)
    assert (fig5.HOURS, fig6.HOURS) == (10.0, 8.0)
    assert fig5.full_rows(fig5.Fig5.full.scale) == 1485
    assert fig6.full_count(fig6.Fig6.full.scale) == 7504


def test_fig5s_error_is_the_share_of_wrong_digits(monkeypatch):
    rng = np.random.default_rng(0)
    centers = 5.0 * rng.random((3, 784))
    label, label_test = rng.integers(0, 3, 90), rng.integers(0, 3, 60)
    rows = centers[label] + 0.01 * rng.standard_normal((90, 784)), centers[label_test] + 0.01 * rng.standard_normal((60, 784))
    monkeypatch.setattr(fig5, "_digits", lambda folder: (rows[0], label, rows[1], label_test))
    assert fig5.error({"x0": 0.0, "x1": -0.5}, 60, np.random.default_rng(0), None) == 0.0
    monkeypatch.setattr(fig5, "_digits", lambda folder: (rows[0], label, rows[1], (label_test + 1) % 3))
    assert fig5.error({"x0": 0.0, "x1": -0.5}, 60, np.random.default_rng(0), None) == 1.0


# Table 1 --------------------------------------------------------------------------------------------------------------------


def test_the_figures_of_table1_on_a_hand_made_example():
    found = table1.quality(np.array([60, 30, 9, 1, 0]), seconds=0.5)  # N = 100, m = 5: useful from 2 on
    p = np.array([61, 31, 10, 2, 1]) / 105.0
    assert found["kl"] == pytest.approx(float((p * np.log(5.0 * p)).sum()))
    assert found["useful"] == 60.0
    assert found["unused"] == 20.0
    assert found["rate"] == (3 - 1) / 0.5
    assert found["time"] == 0.5
    assert table1.quality(np.full(1000, 10), 1.0)["kl"] == pytest.approx(0.0, abs=1e-12)


def _searched():
    """A surrogate with its local minima, after fifteen evaluations of Branin."""
    problem = synthetic.plain("branin", 15)
    study = ft.Study(problem.space, method="pes", seed=1, settings=ft.Settings(overhead_price=0.0, draws=2))
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(-1.0, 1.0, (15, 2)):
        study.add({"x0": x, "x1": y}, problem.truth({"x0": x, "x1": y}))
    surrogate = fit_surrogate(study.history, study.settings, 1)
    return study, surrogate, find_local_minima(surrogate, None, rng)


def test_lowest_draws_are_counted_as_their_chances_say():
    _, surrogate, _ = _searched()
    points = np.array([[0.5, 0.5], [0.52, 0.9]])
    counts = table1.count_lowest(surrogate, points, 4000, np.random.default_rng(0))
    mean, covariance = surrogate.process.predict(_probes(surrogate, points))
    spread = covariance[:, 0, 0] + covariance[:, 1, 1] - 2.0 * covariance[:, 0, 1]
    chance = float(surrogate.weights @ _normal_cdf((mean[:, 1] - mean[:, 0]) / np.sqrt(spread)))
    assert counts.sum() == 4000
    assert counts[0] / 4000 == pytest.approx(chance, abs=4.0 * np.sqrt(0.25 / 4000))


def _probes(surrogate, points):
    from farthing.numerics.kernels import Probes

    return Probes.values(surrogate.at_full_fidelity(points))


def _normal_cdf(z):
    from scipy.special import ndtr

    return ndtr(z)


def _papers_own():
    return {
        task: {sampler: {metric: PAPER[metric][task][i] for metric in PAPER} for i, sampler in enumerate(SAMPLERS)}
        for task in PAPER["kl"]
    }


def test_the_papers_own_table_is_reproduced_by_itself():
    verdicts = judge(_papers_own())
    assert len(verdicts) == 17
    assert {v.outcome for v in verdicts} == {REPRODUCED}
    assert "14 of 16" in verdicts[0].measured


def test_table1_can_fall_short_and_exceed():
    cells = _papers_own()
    cells["branin"]["WLH"] |= {"kl": 0.43, "useful": 80.0, "time": 0.489 / 31, "rate": 1.69e3 * 29}
    outcomes = {v.claim.split(" of WLH")[0]: v.outcome for v in judge(cells)[1:]}
    assert outcomes["branin: KL divergence"] == NOT
    assert outcomes["branin: useful, %"] == BETTER
    assert outcomes["branin: time, s"] == BETTER
    assert outcomes["branin: useful points a second"] == REPRODUCED
    cells["hartmann6"]["EI"]["kl"] = 0.1
    assert judge(cells)[0].outcome == NOT


# One run --------------------------------------------------------------------------------------------------------------------


def test_a_seed_reproduces_a_run_when_the_clock_does():
    problem = replace(synthetic.offset("branin"), budget=None, evaluations=13)
    first, second = (run_study(problem, ENVPES, 5, TWENTIETHS, Ticking()) for _ in range(2))
    assert json.dumps(first) == json.dumps(second)
    assert json.dumps(first) != json.dumps(run_study(problem, ENVPES, 6, TWENTIETHS, Ticking()))
    assert len(first["cost"]) == 13
    assert len(set(first["fidelity"])) > 2


def test_a_run_records_both_clocks_and_the_truth_is_charged_to_nobody():
    clock = Ticking()
    problem = synthetic.plain("branin", 4)

    def slow_truth(params):
        clock.now += 1e6
        return problem.truth(params)

    run = run_study(replace(problem, truth=slow_truth), PES, 0, TWENTIETHS, clock)
    assert max(run["thought"]) == pytest.approx(sum(run["overhead"]))
    assert max(run["thought"]) < 10.0
    assert run["spent"] == [float(n) for n in run["after"]]
    assert run["spent"][-1] == 4.0
    assert run["seen"] == sorted(run["seen"], reverse=True)
    assert all(value >= 0.3978 for value in run["truth"])


def test_where_the_truth_takes_long_it_is_asked_for_at_shares_of_the_budget_alone():
    asked = []
    base = synthetic.offset("branin", 0.1)

    def truth(params):
        asked.append(params)
        return base.truth(params)

    run = run_study(replace(base, truth=truth, minimum=None), Contender("random", "Random"), 0, (0.5, 1.0), Ticking())
    known = [v is not None for v in run["truth"]]
    assert 1 <= sum(known) <= 4
    assert len(asked) <= sum(known)
    record = {"job": {"task": "t", "contender": "c", "seed": 0, "scale": 0.1}, "result": run, "seconds": 1.0, "cores": 1}
    summary = curves.summarize([record | {"versions": {}}], ("evaluations", "total"), (0.5, 1.0))
    assert summary["tasks"]["t"]["contenders"]["c"]["regret"]["total"][0][-1] is not None


def test_regret_at_a_share_is_that_of_the_last_recommendation_made_by_then():
    run = {"truth": [5.0, 3.0, 1.0], "spent": [10.0, 20.0, 30.0], "thought": [1.0, 9.0, 15.0], "after": [1, 2, 3], "budget": 40.0}
    assert curves.curve(run, "evaluations", (0.2, 0.25, 0.5, 0.75), 1.0) == [None, 4.0, 2.0, 0.0]
    assert curves.curve(run, "total", (0.25, 0.5, 0.75, 1.0), 1.0) == [None, 4.0, 2.0, 2.0]
    assert curves.curve(run | {"budget": 3}, "steps", (1 / 3, 1.0), 0.0) == [5.0, 1.0]
    assert curves.curve({"seen": [4.0, 2.0], "budget": 2}, "steps", (0.5, 1.0), 1.0, "seen") == [3.0, 1.0]


def test_a_method_that_does_not_exist_is_left_out():
    assert not Contender("new", "NotThereYet").available
    experiment = fig1.Fig1()
    experiment.contenders = (PES, Contender("new", "NotThereYet"))
    assert {job.contender for job in experiment.jobs(Size(2, 2, 1.0))} == {"PES"}
    summary = {"tasks": {"branin": {"contenders": {"PES": {}}}}}
    assert any("new is not in these results" in remark for remark in experiment.remarks(summary))


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_contender_can_be_made_and_every_task_has_a_problem(name):
    experiment = EXPERIMENTS[name]
    jobs = experiment.jobs(experiment.full)
    assert len({job.fingerprint for job in jobs}) == len(jobs)
    for contender in getattr(experiment, "contenders", ()):
        if contender.available:
            contender.make()
            contender.settings_with(1.0)
            assert contender.variant is None or contender.variant in variants.VARIANTS
    for task in experiment.tasks:
        if name in ("fig1", "fig2", "fig4"):
            assert experiment.problem(task, 0, 1.0, None).space


# Variants -------------------------------------------------------------------------------------------------------------------


def test_faces_stationary_makes_a_minimizer_on_a_face_an_equality():
    entries = minimizers.Entries(2, False, False, np.empty((0, 3)))
    corner = np.array([[[0.0, 0.4]]])
    assert entries.kinds(corner)[0][0, 0, :2].tolist() == [False, True]
    with variants.applied("faces_stationary"):
        assert entries.kinds(corner)[0][0, 0, :2].tolist() == [True, True]
    assert entries.kinds(corner)[0][0, 0, :2].tolist() == [False, True]


def test_variants_of_the_support_change_it_and_are_undone():
    _, surrogate, minima = _searched()

    def drawn(variant):
        with variants.applied(variant):
            return support.SAMPLERS["wlh"](surrogate, minima, 400, np.random.default_rng(3))

    ours = drawn(None)
    for variant in ("clipped_support", "equal_weights", "no_uniform_share"):
        assert not np.array_equal(ours, drawn(variant)), variant
    assert np.array_equal(ours, drawn(None))


def test_clipped_support_piles_up_on_faces_where_redrawn_does_not():
    center, slope, wide, hessian = np.array([0.05, 0.5]), np.zeros(2), 0.3**2 * np.eye(2), np.eye(2)

    def on_a_face(variant):
        with variants.applied(variant):
            points = support._draw_around(center, slope, wide, hessian, 500, np.random.default_rng(0))
        assert points.min() >= 0.0
        assert points.max() <= 1.0
        return (points[:, 0] == 0.0).mean()

    assert on_a_face(None) == 0.0
    assert on_a_face("clipped_support") == pytest.approx(0.43, abs=0.1)


def test_no_uniform_share_and_equal_weights_are_what_they_say():
    _, surrogate, minima = _searched()
    far = replace(minima, x=np.array([[0.55, 0.5], [0.05, 0.95]]), mean=np.zeros(2))
    with variants.applied("equal_weights"):
        assert support.normal_cdf(np.array([-30.0, 0.0])).tolist() == [1.0, 1.0]
        assert len(support.SAMPLERS["wlh"](surrogate, far, 100, np.random.default_rng(0))) == 100
    assert support.normal_cdf(np.array([-30.0]))[0] < 1e-6
    with variants.applied("no_uniform_share"):
        assert support.UNIFORM_SHARE == 0.0
        assert len(support.SAMPLERS["wlh"](surrogate, minima, 100, np.random.default_rng(0))) == 100
    assert support.UNIFORM_SHARE > 0.0


def test_last_overhead_is_what_every_step_to_come_is_taken_to_cost():
    problem = replace(synthetic.offset("branin"), budget=None, evaluations=13)
    clock = Ticking(0.2)
    study = ft.Study(problem.space, fidelity=problem.fidelity, seed=0, settings=ENVPES.settings_with(1.0), clock=clock)
    study.run(problem.objective, evaluations=12)
    situation = Situation(study.history, study.method, study.settings, 0, 1e5, 1.0)
    last = study.history.overheads("normal")[1][-1]
    with variants.applied("last_overhead"):
        rule = believe(situation).overhead
    assert rule(np.array([13.0, 500.0])).tolist() == [last, last]
    assert believe(situation).overhead(np.array([500.0]))[0] != last


# The engine -----------------------------------------------------------------------------------------------------------------


JOB = Job.of("fig1", "branin", "EI", 0, 0.05, {"version": 1})


def test_a_run_is_kept_whole_or_not_at_all(tmp_path):
    path = save(JOB, {"truth": [1.0]}, 2.0, tmp_path)
    record = load(JOB, tmp_path)
    assert record["result"] == {"truth": [1.0]}
    assert set(record["versions"]) >= {"Python", "farthing", "numpy", "scipy"}
    assert list(tmp_path.rglob("*.part")) == []
    text = path.read_text()
    for damaged in (text[: len(text) // 2], "", "[]", text.replace(JOB.fingerprint, "0" * 12), '{"format": 1}'):
        path.write_text(damaged)
        assert load(JOB, tmp_path) is None
    path.unlink()
    path.with_name(f"{path.name}.123.part").write_text(text)
    assert load(JOB, tmp_path) is None


def test_runs_of_other_sources_are_kept_apart_on_demand(tmp_path, monkeypatch):
    save(JOB, {}, 1.0, tmp_path)
    assert load(JOB, tmp_path, current=True) is not None
    monkeypatch.setattr(runs, "farthing_version", lambda: "0.1.0+another")
    assert load(JOB, tmp_path, current=True) is None
    record = load(JOB, tmp_path)
    assert record is not None
    other = record | {"versions": {"farthing": "0.1.0+another"}}
    assert curves.what_was_run([record, other])["versions"]["farthing"].count("+") == 2


def test_another_definition_is_another_run():
    assert Job.of("fig1", "branin", "EI", 0, 0.05, {"version": 2}).fingerprint != JOB.fingerprint
    assert Job.of("fig1", "branin", "EI", 0, 0.1, {"version": 1}).fingerprint != JOB.fingerprint
    assert Job.of("fig1", "branin", "EI", 0, 0.05, {"version": 1}) == JOB
    assert Job(**json.loads(json.dumps(asdict(JOB)))) == JOB


def test_time_left_comes_from_runs_of_the_same_kind():
    expectation = Expectation()
    other = Job.of("fig1", "branin", "PES", 0, 0.05, {})
    assert expectation.left({JOB: 1.0}, [other], 1) is None
    expectation.take(JOB, 10.0)
    assert expectation.left({JOB: 4.0}, [other, other], 1) == 26.0
    expectation.take(other, 2.0)
    assert expectation.left({JOB: 4.0}, [other, other], 2) == 6.0


def test_a_run_that_fails_is_told_and_the_others_are_made(tmp_path, capfd):
    broken = Job.of("fig1", "no-such-task", "EI", 0, 0.03, {})
    (good,) = [job for job in EXPERIMENTS["fig1"].jobs(Size(1, 1, 0.03)) if job.contender == "EI"]
    engine = Engine(tmp_path, None, 2)
    engine.make([broken, good])
    assert list(engine.failed) == [broken]
    assert "no-such-task" in engine.failed[broken]
    assert load(good, tmp_path) is not None
    assert "FAILED" in capfd.readouterr().err


def test_a_run_ends_with_its_driver(tmp_path):
    long = next(iter(EXPERIMENTS["fig1"].jobs(Size(1, 1, 100.0))))
    worker = subprocess.Popen([sys.executable, "-m", "experiments.worker"], cwd=ROOT, stdin=subprocess.PIPE)
    worker.stdin.write(json.dumps({"job": asdict(long), "work": str(tmp_path), "data": None}).encode() + b"\n")
    worker.stdin.flush()
    time.sleep(0.5)
    assert worker.poll() is None
    worker.stdin.close()  # as the system does when the driver is killed
    assert worker.wait(timeout=60) == GIVEN_UP
    assert _kept(tmp_path) == {}


COMMAND = [sys.executable, "-m", "experiments", "fig1", "--runs", "2", "--scale", "0.05", "--jobs", "1"]


def _driver(tmp_path):
    """A real driver, of four runs."""
    return subprocess.Popen(
        [*COMMAND, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _kept(tmp_path):
    return {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}


def _wait_for(tmp_path, count, process):
    deadline = time.monotonic() + 120.0
    while len(_kept(tmp_path)) < count:
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_is_finished_survives_interruption_and_kill_and_only_the_rest_is_made(tmp_path):
    interrupted = _driver(tmp_path)
    _wait_for(tmp_path, 1, interrupted)
    interrupted.send_signal(signal.SIGINT)
    said, _ = interrupted.communicate(timeout=60)
    first = _kept(tmp_path)
    assert interrupted.returncode == 130
    assert 1 <= len(first) < 4
    assert f"{len(first)} of 4 runs are finished and kept" in said
    assert "To go on: python -m experiments fig1 --runs 2" in said

    killed = _driver(tmp_path)
    _wait_for(tmp_path, len(first) + 1, killed)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    second = _kept(tmp_path)
    time.sleep(0.5)
    assert len(_kept(tmp_path)) == len(second) or len(second) == 4  # its run has ended with it
    assert first.items() <= second.items()
    damaged = next(path for path in second if path not in first)
    damaged.write_text(damaged.read_text()[:100])
    whole = {path: at for path, at in _kept(tmp_path).items() if path != damaged}

    last = _driver(tmp_path)
    said, _ = last.communicate(timeout=120)
    assert last.returncode == 0, said
    assert f"4 runs, {len(whole)} of them finished before" in said
    everything = _kept(tmp_path)
    assert len(everything) == 4
    assert whole.items() <= everything.items()
    assert list((tmp_path / "work").rglob("*.part")) == []

    figure = tmp_path / "out" / "docs" / "results" / "fig1.svg"
    drawn = figure.read_bytes()
    shutil.rmtree(tmp_path / "work")
    figure.unlink()
    assert main(["report", "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]) == 0
    assert figure.read_bytes() == drawn
    assert "2 runs each; scale 0.05" in figure.read_text()
    assert f"{os.cpu_count()} core" in figure.read_text()


@pytest.mark.parametrize("bad", [["--runs", "0"], ["--scale", "-1"], ["--jobs", "x"], ["--data", "nowhere"], ["fig9"]])
def test_a_bad_command_is_refused(bad, capsys):
    with pytest.raises(SystemExit) as refused:
        main(bad if bad == ["fig9"] else ["fig1", *bad])
    assert refused.value.code == 2
    assert bad[-1] in capsys.readouterr().err


# Data -----------------------------------------------------------------------------------------------------------------------

CSV = """SETTLEMENT_DATE,SETTLEMENT_PERIOD,ND,TSD,OTHER
01-JAN-2015,1,28726,29490,1
01-JAN-2015,2,29391,30135,1
2015-10-25,48,20000,21000,1
25-Oct-2015,49,1,1,1
26/10/2015,1,22000,23000,1
"""


def test_half_hours_are_placed_by_date_and_period_and_the_long_days_are_cut():
    arrays = data.parse_demand(CSV)
    assert arrays["t_days"] == pytest.approx([0.0, 1 / 48, 297 + 47 / 48, 298.0])
    assert arrays["nd_mw"].tolist() == [28726.0, 29391.0, 20000.0, 22000.0]
    assert arrays["tsd_mw"][1] == 30135.0
    with pytest.raises(data.DataMissingError, match="SETTLEMENT_PERIOD"):
        data.parse_demand("a,b\n1,2\n")


def test_without_a_network_it_is_said_what_to_do(tmp_path, monkeypatch, capsys):
    import sklearn.datasets

    def offline(*_, **__):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setenv("FARTHING_CACHE", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    for loader, name in ((data.mnist, data.MNIST_FILE), (data.demand, data.DEMAND_FILE)):
        with pytest.raises(data.DataMissingError, match="no route to host") as missing:
            loader(None)
        assert f"a folder with {name}" in str(missing.value)
        assert "--data DIR" in str(missing.value)
        assert str(tmp_path) in str(missing.value)
    out = tmp_path / "out"
    assert main(["fig6", "--quick", "--work", str(tmp_path / "work"), "--out", str(out)]) == 1
    assert "fig6 left out: UK demand of 2015 is not in the cache" in capsys.readouterr().err


def test_a_download_is_kept_and_a_revised_series_told(tmp_path, monkeypatch):
    answers = iter([CSV])
    monkeypatch.setenv("FARTHING_CACHE", str(tmp_path))
    monkeypatch.setattr(data, "_download_demand", lambda: next(answers))
    for _ in range(2):
        with pytest.warns(UserWarning, match="revised"):
            assert len(data.demand(None)["nd_mw"]) == 4
    (tmp_path / data.DEMAND_FILE).write_bytes(b"not an archive")
    with pytest.raises(data.DataMissingError, match="remove it"):
        data.demand(None)


def test_data_that_is_not_what_it_should_be_is_refused(tmp_path):
    with pytest.raises(data.DataMissingError, match=f"there is no {data.MNIST_FILE}"):
        data.mnist(tmp_path)
    np.savez(tmp_path / data.MNIST_FILE, **{key: np.zeros(3, dtype=np.uint8) for key in data.MNIST_KEYS})
    with pytest.raises(data.DataMissingError, match="checksum"):
        data.mnist(tmp_path)


# Verdicts and the page ------------------------------------------------------------------------------------------------------


def _curves(level, runs=10, spread=0.1, seed=0, shares=20):
    """Runs whose regret falls from 1 to about `level`, evenly in its logarithm."""
    rng = np.random.default_rng(seed)
    ends = level * np.exp(spread * rng.standard_normal(runs))
    return [[None, *np.exp(np.linspace(0.0, np.log(end), shares - 1)).tolist()] for end in ends]


def _cell(level, clocks, runs=10, shares=20, **more):
    regret = {clock: _curves(level, runs, shares=shares, seed=i) for i, clock in enumerate(clocks)}
    return {"seeds": list(range(runs)), "evaluations": [50] * runs, "overhead": [0.1] * runs, "regret": regret, **more}


def _summary(tasks, clocks=("evaluations", "total"), shares=TWENTIETHS):
    return {
        "scale": 1.0,
        "versions": {"Python": "3.11", "farthing": "0.1.0"},
        "cores": "2",
        "core_minutes": 12.5,
        "clocks": list(clocks),
        "shares": list(shares),
        "tasks": {task: {"budget": 54000.0, "best_known": None, "contenders": cells} for task, cells in tasks.items()},
    }


TENTHS = range(1, 20, 2)


@pytest.mark.parametrize(("ours", "outcome"), [(1e-6, BETTER), (9e-4, REPRODUCED), (1e-1, NOT)])
def test_equality_at_every_tenth_has_three_outcomes(ours, outcome):
    verdict = at_every_tenth("claim", _curves(ours, spread=1.0), _curves(1e-3, spread=1.0), list(TENTHS), "EI")
    assert verdict.outcome == outcome
    assert ("clearly higher nowhere" in verdict.measured) == (outcome != NOT)


@pytest.mark.parametrize(("above", "outcome"), [(0, REPRODUCED), (1, UNDECIDED), (5, UNDECIDED), (6, NOT)])
def test_a_median_that_is_higher_but_not_clearly_leaves_it_undecided(above, outcome):
    theirs = [[1e-3 * (1 + run)] * 20 for run in range(10)]
    ours = [[value * (1.1 if i < 2 * above else 1.0) for i, value in enumerate(curve)] for curve in theirs]
    assert at_every_tenth("claim", ours, theirs, list(TENTHS), "EI").outcome == outcome


def test_no_recommendation_yet_is_worse_than_any():
    late = [[None] * 12 + [1e-9] * 8] * 10
    assert at_every_tenth("claim", late, _curves(1e-3), list(TENTHS), "EI").outcome == NOT
    assert curves.quartiles(late, 5) == (np.inf, np.inf, np.inf)


def test_regrets_that_are_as_good_as_none_are_equal():
    tiny, tinier = [[1e-7] * 20] * 10, [[1e-9] * 20] * 10
    assert at_every_tenth("claim", tiny, tinier, list(TENTHS), "EI").outcome == REPRODUCED
    assert curves.quartiles(tiny, 3) == (1e-7, 1e-7, 1e-7)


def test_identical_runs_differ_in_nothing():
    same = [[1e-3] * 20] * 5
    assert at_every_tenth("claim", same, same, list(TENTHS), "EI").outcome == REPRODUCED


def test_ahead_means_clearly_lower_somewhere_and_clearly_higher_nowhere():
    def of(*ours):
        return ahead("claim", [[level] * 20 for level in ours], [[1e-3 * (1 + i)] * 20 for i in range(10)], range(1, 20, 2))

    assert of(*[1e-4] * 10).outcome == BETTER
    assert of(*[1e-3 * (1 + i) for i in range(10)]).outcome == NOT  # the same
    assert of(*[1e-1] * 10).outcome == NOT
    once = [[1e-3 * (1 + i)] * 19 + [1e-4] for i in range(10)]
    verdict = ahead("claim", once, [[1e-3 * (1 + i)] * 20 for i in range(10)], range(1, 20, 2))
    assert verdict.outcome == REPRODUCED
    assert verdict.measured == "clearly lower at 100%; at the end 1.0e-04 against 5.5e-03; clearly higher nowhere"
    crossed = [[1e-1, 1e-1, *curve[2:]] for curve in once]
    assert ahead("claim", crossed, [[1e-3 * (1 + i)] * 20 for i in range(10)], range(1, 20, 2)).outcome == NOT


def _fig4(envpes, fabolas=1e-3):
    clocks = ("evaluations", "total")
    levels = {"EI": 1e-3, "PES": 1e-3, "EnvPES": envpes} | ({} if fabolas is None else {"FABOLAS": fabolas})
    return _summary({t: {n: _cell(level, clocks) for n, level in levels.items()} for t in ("branin", "hartmann3", "hartmann6")})


def test_fig4_can_say_better_and_not_and_no_data():
    fig4 = EXPERIMENTS["fig4"]
    assert {v.outcome for v in fig4.verdicts(_fig4(1e-7))} == {BETTER}
    assert {v.outcome for v in fig4.verdicts(_fig4(0.3))} == {NOT}
    outcomes = [v.outcome for v in fig4.verdicts(_fig4(1e-7, fabolas=None))]
    assert outcomes.count(NO_DATA) == 6
    assert outcomes.count(BETTER) == 6


def test_a_few_runs_give_no_verdict():
    summary = _fig4(1e-7)
    for task in summary["tasks"].values():
        task["contenders"]["FABOLAS"]["seeds"] = [0, 1]
    assert {v.outcome for v in page.judged(EXPERIMENTS["fig4"], summary)} == {TOO_FEW}
    assert {v.outcome for v in page.judged(EXPERIMENTS["fig4"], _fig4(1e-7))} == {BETTER}


def test_fig1_can_say_not():
    def of(ei_seen, pes_seen):
        cells = {n: _cell(1e-4, ("steps",), seen=_curves(seen)) for n, seen in (("EI", ei_seen), ("PES", pes_seen))}
        return [v.outcome for v in EXPERIMENTS["fig1"].verdicts(_summary({"branin": cells}, ("steps",)))]

    assert of(1e-3, 1e-2) == [REPRODUCED] * 3
    assert of(1e-2, 1.2e-4) == [REPRODUCED, NOT, NOT]


def test_fig1_compares_before_both_have_found_the_minimum():
    cells = {n: _cell(level, ("steps",), seen=_curves(seen)) for n, level, seen in (("EI", 1e-12, 1e-8), ("PES", 1e-12, 1e-4))}
    ei, pes, most = EXPERIMENTS["fig1"].verdicts(_summary({"branin": cells}, ("steps",)))
    assert (ei.outcome, pes.outcome, most.outcome) == (REPRODUCED,) * 3
    assert "at 70% of the evaluations, and later none above 1e-06" in ei.measured
    assert pes.measured.endswith("at 100% of the evaluations")


def test_fig2_can_say_not():
    def of(share, level):
        cells = {
            f"{method}, {label}": _cell(end, ("steps",), overhead_by_step=[seconds] * 80)
            for method in ("PES", "EnvPES")
            for label, end, seconds in (("EI slice", 1e-4, 1.0), ("WLH", level, share))
        }
        summary = _summary({"branin": cells}, ("steps",))
        return {v.outcome for v in EXPERIMENTS["fig2"].verdicts(summary)}

    assert of(0.05, 1e-4) == {BETTER}
    assert of(0.3, 1e-4) == {REPRODUCED}
    assert of(0.7, 1e-4) == {NOT}
    assert of(0.05, 1e-1) == {NOT}


def test_fig3_can_say_not():
    def of(good, bad):
        cells = {
            task: {n: _cell(level if n == "EnvPES" else 1e-3, ("evaluations", "total")) for n in ("EI", "PES", "EnvPES")}
            for task, level in (("good", good), ("bad", bad))
        }
        return [v.outcome for v in EXPERIMENTS["fig3"].verdicts(_summary(cells))]

    assert of(1e-7, 1.5e-3) == [REPRODUCED] * 4
    assert of(1e-9, 1e-4)[2:] == [BETTER, BETTER]
    assert of(1e-9, 1e-3)[2:] == [REPRODUCED, REPRODUCED]  # the same runs: a tie
    assert of(9e-4, 1e-2) == [NOT] * 4
    assert of(1e-2, 1e-3)[:2] == [NOT, NOT]


@pytest.mark.parametrize(("far", "outcome"), [(4, REPRODUCED), (5, REPRODUCED), (3, NOT), (8, BETTER)])
def test_far_ahead_counts_the_tenths_at_which_there_is_regret_left(far, outcome):
    """The others reach the minimum at 90%; EnvPES is ten times ahead at the first `far` tenths, and no further than that."""
    cells = {name: _cell(1e-3, ("evaluations", "total")) for name in ("EI", "PES", "EnvPES")}
    for name, cell in cells.items():
        for found in cell["regret"].values():
            for curve in found:
                for tenth in range(10):
                    ours = 1e-4 if tenth < far else 9e-4
                    curve[2 * tenth + 1] = 1e-9 if tenth >= 8 else ours if name == "EnvPES" else 1e-3
    verdicts = EXPERIMENTS["fig3"].verdicts(_summary({"good": cells, "bad": cells}))
    assert [v.outcome for v in verdicts[:2]] == [outcome] * 2


def test_the_ablation_says_which_choice_is_better():
    def of(level):
        cells = {
            "ours": _cell(1e-4, ("evaluations", "total"), shares=3),
            "4 draws": _cell(level, ("evaluations", "total"), shares=3),
        }
        verdicts = EXPERIMENTS["ablation"].verdicts(_summary({"branin": cells}, shares=(0.25, 0.5, 1.0)))
        return next(v.outcome for v in verdicts if "4 draws" in v.claim and "four" in v.claim)

    assert of(1e-2) == ablation.HELPS
    assert of(1e-7) == ablation.HURTS
    assert of(1e-4) == ablation.TIE


def test_page_and_figures_come_from_results_alone(tmp_path):
    clocks = ("evaluations", "total")
    steps = ("steps",)
    real = {n: _cell(1e-2, clocks, shares=10) for n in ("EI", "PES", "EnvPES")}
    supports = itertools.product(("PES", "EnvPES"), ("EI slice", "WLH"))
    summaries = {
        "fig1": _summary({"branin": {n: _cell(1e-4, steps, seen=_curves(1e-2)) for n in ("EI", "PES")}}, steps),
        "fig2": _summary({"branin": {f"{m}, {s}": _cell(1e-4, steps, overhead_by_step=[0.1] * 80) for m, s in supports}}, steps),
        "table1": _summary({})
        | {"tasks": {t: {"runs": 16, "measured": 144, "samplers": _with_pure(cells)} for t, cells in _papers_own().items()}},
        "fig3": _summary({t: {n: _cell(1e-3, clocks) for n in ("EI", "PES", "EnvPES")} for t in ("good", "bad")}),
        "fig4": _fig4(1e-7),
        "fig5": _summary({"mnist": real}, shares=curves.TENTHS),
        "fig6": _summary({"demand": real}, shares=curves.TENTHS),
        "ablation": _summary(
            {"branin": {c.label: _cell(1e-3, clocks, shares=3) for c in ablation.CONTENDERS}}, shares=(0.25, 0.5, 1.0)
        ),
    }
    for name, summary in summaries.items():
        page.save_summary(name, summary, tmp_path / "results")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "fig3.md").write_text("Why that is so.\n")
    written = page.write_report(tmp_path / "results", tmp_path / "docs", notes).read_text()
    assert set(summaries) == set(EXPERIMENTS)
    for name, summary in summaries.items():
        figure = (tmp_path / "docs" / "results" / f"{name}.svg").read_text()
        assert "runs each" in figure
        assert "scale 1; Python 3.11, farthing 0.1.0; 2 cores" in figure.replace("\n", " ")
        assert f"(results/{name}.svg)" in written
        assert all(f"| {v.outcome} |" in written for v in EXPERIMENTS[name].verdicts(summary))
    assert "Why that is so." in written
    assert "FABOLAS is not in these results" in written
    assert str(ROOT) not in written


def _with_pure(samplers):
    full = {sampler: {**cells, "unused": 1.0} for sampler, cells in samplers.items()}
    return {**full, table1.PURE: full["WLH"]}


def test_what_was_not_run_is_said(tmp_path):
    written = page.write_report(tmp_path / "results", tmp_path / "docs", tmp_path).read_text()
    assert "Nothing has been run yet." in written
    assert written.count("Not run yet") == len(EXPERIMENTS)
