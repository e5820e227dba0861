"""The comparison with other optimizers: its tasks against known numbers, its runner, its driver and its summary on made-up runs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import farthing as ft
from farthing.method import beliefs

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks is a folder of the project, not part of the package

from benchmarks import costs, defaults, recommendations, roughness  # noqa: E402
from benchmarks.peers import __main__ as driver  # noqa: E402
from benchmarks.peers import (  # noqa: E402
    document,
    farthing_peers,
    functions,
    lcbench,
    overhead,
    plot,
    references,
    run,
    simulated,
    speed,
    standings,
    summary,
    tasks,
    training,
)
from benchmarks.peers.interface import PEERS, Best, Peer, sobol_design  # noqa: E402
from benchmarks.peers.problem import Axis, Fidelity  # noqa: E402
from farthing.method import cost as cost_model  # noqa: E402
from farthing.method.recommend import recommend  # noqa: E402
from farthing.numerics.kernels import Probes  # noqa: E402
from farthing.settings import Settings  # noqa: E402

CERTAIN = Settings(repeatable=1.0)

make_task = cache(tasks.make_task)

# Tasks ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "minimum"),
    [
        ("branin", 0.397887),
        ("hartmann3", -3.86278),
        ("hartmann6", -3.32237),
        ("augmented-branin", 0.397887),
        ("augmented-hartmann", -3.32237),
        ("noisy", -3.86278),
        ("pricey", 0.397887),
        ("eight", -3.32237),
    ],
)
def test_minima_are_those_of_the_literature(name, minimum):
    assert tasks.make_task(name).minimum == pytest.approx(minimum, abs=1e-5)


@pytest.mark.parametrize("name", tasks.SIMULATED)
def test_the_truth_at_the_minimizer_is_the_minimum_and_nowhere_lower(name):
    task = make_task(name)
    assert task.truth(task.minimizer) == pytest.approx(task.minimum, abs=1e-7)
    rng = np.random.default_rng(0)
    assert all(task.regret(task.params(u)) > 0.0 for u in rng.random((300, task.dimensions)))
    near = task.unit(task.minimizer) + 1e-3 * rng.standard_normal((50, task.dimensions))
    assert all(task.regret(task.params(u)) > -1e-7 for u in near)


@pytest.mark.parametrize(
    ("name", "cheap", "full", "budget"),
    [
        ("branin", 120.0, 1800.0, 15 * 3600.0),
        ("hartmann3", 120.0, 1800.0, 10 * 3600.0),
        ("hartmann6", 120.0, 1800.0, 50 * 3600.0),
        ("augmented-branin", 300.0, 1800.0, 20 * 1800.0),
        ("draw-good", 300.0 * np.exp(-3.0), 300.0, 8 * 3600.0),
        ("draw-bad", 300.0 * np.exp(-1.0), 300.0, 8 * 3600.0),
    ],
)
def test_costs_and_budgets(name, cheap, full, budget):
    task = make_task(name)
    middle = task.params(np.full(task.dimensions, 0.5))
    assert task.evaluate(middle, task.fidelity.cheap)[1] == pytest.approx(cheap)
    assert task.evaluate(middle, task.fidelity.full)[1] == pytest.approx(full) == task.full_cost
    assert task.budget == budget
    assert task.simulated


def test_fidelity_shifts_and_lifts_as_in_the_paper():
    task = tasks.make_task("branin")
    x = {"x0": 0.3, "x1": -0.2}
    shifted = functions.branin(np.array([7.5 * 0.3 + 2.5 + 0.1, 7.5 * -0.2 + 2.5 - 0.075])) + 0.25
    assert task.evaluate(x, 0.5)[0] == pytest.approx(shifted)


def test_cheap_values_of_the_misleading_task_have_their_minimum_elsewhere():
    task = tasks.make_task("misleading")
    place, _ = functions.lowest_on_square(lambda x: simulated.misleading(x, 1.0), -1.0, 1.0)
    assert np.abs(place - list(task.minimizer.values())).max() > 0.5


def test_the_pricey_task_costs_ten_times_as_much_on_one_side():
    task = tasks.make_task("pricey")
    left, right = (task.evaluate({"x0": x, "x1": 0.0}, 0.3)[1] for x in (-1.0, 1.0))
    assert right / left == pytest.approx(10.0)


def test_noise_is_seeded_and_only_in_what_is_evaluated():
    values = [[tasks.make_task("noisy", seed=s).evaluate({"x0": 0.0, "x1": 0.0, "x2": 0.0}, 0.0)[0] for _ in "ab"] for s in (0, 1)]
    assert values[0][0] == values[0][1] != values[1][0]
    task = tasks.make_task("noisy")
    assert task.truth(task.minimizer) == task.truth(task.minimizer)


def test_random_functions_have_the_kernel_they_are_named_after():
    points = np.array([[0.0, 0.0, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.7]])
    lengthscales = np.array([0.3, 0.3, 1.5])
    draws = np.array([functions.matern_draw(lengthscales, 1.5, np.random.default_rng(i), 200)(points) for i in range(3000)])
    r = np.sqrt(5.0) * np.linalg.norm((points[:, None] - points) / lengthscales, axis=-1)
    expected = 1.5**2 * (1.0 + r + r**2 / 3.0) * np.exp(-r)
    # The standard error of a covariance of n draws is at most variance * sqrt(2 / n).
    assert np.abs(draws.T @ draws / len(draws) - expected).max() < 4.0 * 1.5**2 * np.sqrt(2.0 / 3000)


@pytest.mark.parametrize("axis", [Axis("a", -2.0, 3.0), Axis("b", 1e-4, 1e-1, log=True), Axis("c", 16, 512, "integer", log=True)])
def test_axes_go_to_the_unit_interval_and_back(axis):
    for unit in (0.0, 0.37, 1.0):
        value = axis.value(unit)
        assert axis.value(axis.unit(value)) == pytest.approx(value)
        assert isinstance(value, int) == (axis.kind == "integer")
    assert (axis.value(0.0), axis.value(1.0)) == (axis.low, axis.high)


def test_fidelities_are_shares_of_the_way_to_full():
    assert [Fidelity("s", cheap=1.0, full=0.0).value(share) for share in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    rows = Fidelity("rows", cheap=100, full=10_000, log=True, integer=True)
    assert rows.value(0.5) == 1000.0
    assert rows.share(1000.0) == pytest.approx(0.5)
    assert rows.is_amount
    assert not Fidelity("s", cheap=1.0, full=0.0).is_amount


def test_lcbench_is_left_out_with_a_word_where_its_data_are_absent(tmp_path):
    assert "FARTHING_DATA" in tasks.missing("lcbench-3945", None)
    assert "model.onnx" in tasks.missing("lcbench-3945", tmp_path)
    with pytest.raises(ValueError, match=r"model\.onnx"):
        tasks.make_task("lcbench-3945", data=tmp_path)


def test_every_task_without_a_formula_has_a_reference():
    known = json.loads(lcbench.REFERENCES.read_text())
    assert set(known) == {*tasks.LCBENCH, *tasks.TRAINING}
    assert all(entry["minimum"] <= entry["best_random"] for entry in known.values())


def test_lcbench_asks_its_network_for_the_task_the_epoch_and_the_parameters_in_their_order(monkeypatch, tmp_path):
    """The network is a stand-in: its seconds and its accuracy tell which inputs it got."""

    class Network:
        def run(self, outputs, inputs):
            assert inputs["x_cat"].tolist() == [[17]]
            epoch, batch_size, learning_rate = inputs["x_cont"][0, :3]
            assert inputs["x_cont"].shape == (1, 8)
            return [np.array([[10.0 * epoch + batch_size, 40.0 + 100.0 * learning_rate, 0.0, 0.0, 0.0, 0.0]], dtype=np.float32)]

    folder = tmp_path / lcbench.FOLDER
    folder.mkdir()
    (folder / "model.onnx").touch()
    (folder / "encoding.json").write_text(json.dumps({"OpenML_task_id": {"3945": 17}}))
    monkeypatch.setattr(lcbench, "_session", lambda path: Network())
    task = tasks.make_task("lcbench-3945", data=tmp_path)
    params = task.params(np.full(7, 0.5)) | {"batch_size": 32, "learning_rate": 0.05}
    error, seconds = task.evaluate(params, 12.0)
    assert (error, seconds) == (pytest.approx(55.0), pytest.approx(152.0))
    assert task.truth(params) == pytest.approx(55.0)
    assert task.budget == pytest.approx(30 * task.full_cost)


@pytest.mark.parametrize("name", tasks.TRAINING)
def test_trained_models_cost_wall_time_and_learn_from_a_higher_fidelity(name):
    task = tasks.make_task(name)
    value, seconds = task.evaluate(task.minimizer, task.fidelity.cheap)
    assert seconds > 0.0
    assert not task.simulated
    assert value > task.evaluate(task.minimizer, task.fidelity.value(0.6))[0]


# Peers ----------------------------------------------------------------------------------------------------------------------


def test_a_given_design_depends_on_the_seed_alone():
    assert np.array_equal(sobol_design(3, 0), sobol_design(3, 0))
    assert not np.array_equal(sobol_design(3, 0), sobol_design(3, 1))
    assert sobol_design(3, 0).shape == (10, 3)


def test_the_best_is_the_lowest_at_full_fidelity_and_before_there_is_one_the_lowest():
    best, found = Best(tasks.make_task("branin")), []
    seen = (
        ("cheap", 1.0, 5.0),
        ("high", 0.1, 9.0),
        ("low", 0.9, 4.0),
        ("full", 0.0, 30.0),
        ("better", 0.0, 20.0),
        ("last", 0.9, -9.0),
    )
    for params, s, value in seen:
        best.take({"x0": params}, s, value)
        found.append(best.params["x0"])
    assert found == ["cheap", "cheap", "low", "full", "better", "better"]


def test_every_peer_has_a_pace_with_seeds_and_a_floor_under_its_overhead():
    assert {entry.pace for entry in PEERS.values()} == set(driver.SEEDS) == set(overhead.LEAST)
    assert [name for name, entry in PEERS.items() if entry.pace == "slow"] == ["botorch-mfkg", "botorch-mfmes", "fabolas", "boca"]
    assert all(not name.startswith("farthing") for name in PEERS if name not in ("farthing", "farthing-ei"))


def records_of(peer_name, task, seed=0):
    *steps, end = run.steps(task, PEERS[peer_name].make(task, seed))
    return steps, end


def last_regret(steps):
    return [record["regret"] for record in steps if "regret" in record][-1]


def test_a_run_of_the_random_peer_keeps_both_clocks():
    steps, end = records_of("random", tasks.make_task("hartmann3"))
    assert end == {"ended": "budget"}
    assert len(steps) == 20  # of 1800 s in 10 h; the least overhead makes it the last
    assert [record["spent"] for record in steps] == pytest.approx(1800.0 * np.arange(1, 21))
    assert np.allclose(np.cumsum([record["overhead"] for record in steps]), [record["thinking"] for record in steps])
    regrets = [record["regret"] for record in steps]
    assert regrets == sorted(regrets, reverse=True)
    assert not any("kind" in record for record in steps)


class Ticking:
    """A clock that goes on by a fiftieth of a second whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.02
        return self.now


@pytest.fixture(scope="module")
def farthing_run():
    """A run that is the same every time, because thinking takes as long every time."""
    task, clock = replace(tasks.make_task("branin"), budget=3 * 3600.0), Ticking()
    with patch.object(ft, "Study", partial(ft.Study, clock=clock)):
        peer = PEERS["farthing"].make(task, 0)
    *steps, end = run.steps(task, peer, clock=clock)
    return task, steps, end


def test_farthing_runs_and_comes_closer_than_random(farthing_run):
    task, steps, end = farthing_run
    assert end == {"ended": "budget"}
    assert 10 < len(steps) < 150
    assert steps[0]["kind"] == "initial"
    assert "acquisition" in {record["kind"] for record in steps}
    assert len({round(record["fidelity"], 6) for record in steps}) > 3
    assert steps[-2]["spent"] + steps[-2]["thinking"] <= task.budget < steps[-1]["spent"] + steps[-1]["thinking"]
    assert last_regret(steps) < last_regret(records_of("random", task)[0])


def test_farthings_recommendation_is_paid_for_where_it_is_charged():
    peer, task = PEERS["farthing"].make(tasks.make_task("branin"), 0), tasks.make_task("branin")
    with patch.object(beliefs, "find_local_minima", side_effect=beliefs.find_local_minima) as formed:  # of a surrogate that is new
        for step in range(15):
            params, fidelity = peer.propose()
            peer.observe(params, fidelity, *task.evaluate(params, fidelity))
            charged = formed.call_count
            peer.recommend()
            assert charged == formed.call_count, f"step {step}"
    assert formed.call_count == 14  # one step is the repeat, which tells the surrogate nothing


def test_rules_of_recommending_are_asked_at_a_recorded_history(farthing_run):
    task, steps, _ = farthing_run
    known = recommendations.known_after(task, 0, steps)
    surrogate, at_full = known.beliefs.surrogate, known.at_full
    assert len(at_full) == sum(record["fidelity"] == task.fidelity.full for record in steps) > 0

    # The chance that one place is lower than another, by joint draws of the two, where that is least certain.
    pairs = np.random.default_rng(2).random((200, 2, 2))
    places = min(pairs, key=lambda pair: abs(known.chance(*pair) - 0.4))
    draws = surrogate.process.sample(Probes.values(surrogate.at_full_fidelity(places)), np.random.default_rng(0), 20_000)
    chance = surrogate.weights @ (draws[:, :, 0] < draws[:, :, 1]).mean(axis=1)
    assert known.chance(*places) == pytest.approx(chance, abs=0.01)
    assert 0.02 < chance < 0.98

    lowest = min((r for r in steps if r["fidelity"] == task.fidelity.full), key=lambda r: r["value"])
    regrets = recommendations.regrets(task, 0, steps)
    assert regrets["lowest value at full fidelity"] == pytest.approx(task.regret(lowest["params"]))
    minimum, tried = recommendations.posterior_minimum(known), recommendations.best_at_full(known)
    assert regrets["posterior minimum"] == pytest.approx(task.regret(surrogate.space.params(minimum)))
    anywhere = np.random.default_rng(1).random((2000, 2))
    assert known.mean(minimum[None])[0] < min(known.mean(anywhere).min(), known.mean(at_full).min())

    # An untried place is recommended if it is likely enough to be better than the one tried, and only then.
    chance = known.chance(minimum, tried)
    assert (recommendations.if_likely(chance - 1e-9, recommendations.best_at_full, known) == minimum).all()
    assert (recommendations.if_likely(chance + 1e-9, recommendations.best_at_full, known) == tried).all()


def test_roughness_is_judged_by_what_was_known_and_tried_until_then(farthing_run):
    task, steps, _ = farthing_run
    assert roughness.at_mark(task, 0, steps, 0.0) is None
    for mark in (0.5, 1.0):
        told = [r for r in steps if "regret" in r and r["spent"] + r["thinking"] <= (mark + 1e-3) * task.budget][-1]
        at_full = [r["value"] - task.minimum for r in steps if r["fidelity"] == task.fidelity.full and r["step"] <= told["step"]]
        assert at_full or mark < 1.0
        rough, regret, tried = roughness.at_mark(task, 0, steps, mark)
        assert not rough  # it is smooth
        known = recommendations.known_after(task, 0, [r for r in steps if r["step"] <= told["step"]])
        best = recommend(known.history, known.beliefs.surrogate, known.beliefs.minima, CERTAIN).params
        assert regret == pytest.approx(max(task.regret(best), 1e-6))
        assert tried == pytest.approx(max(min(at_full, default=regret), 1e-6))


def test_what_was_tried_counts_in_rough_runs_alone():
    (row,) = roughness.summarize({("svc", 0.5): [(True, 0.2, 0.1), (False, 0.3, 0.1)]})
    assert row["difference"] == pytest.approx(np.log(0.5) / 2.0, abs=1e-3)
    assert row["error"] == pytest.approx(-np.log(0.5) / 2.0, abs=1e-3)
    assert (row["runs"], row["rough"], row["lower"], row["higher"]) == (2, 1, 1, 0)
    assert row["medians"] == pytest.approx([0.25, 0.2])


def test_variants_are_compared_by_runs_in_a_folder_or_by_what_was_recorded_of_them(farthing_run, tmp_path):
    task, steps, end = farthing_run
    header = {"peer": "farthing", "task": "branin", "seed": 4, "budget": task.budget, "minimum": task.minimum, "wall": 9.0}
    run.write(tmp_path / "runs" / "branin" / "farthing" / "4.jsonl", header | {"versions": {}}, iter([*steps, end]))
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text("".join(json.dumps(made.record()) + "\n" for made in summary.read_runs(tmp_path / "runs")))

    told = [record for record in steps if "regret" in record]
    expected = []
    for share in np.linspace(0.15, 1.0, 18):
        known = [r for r in told if r["spent"] + r["thinking"] <= (share + 1e-3) * task.budget] or told[:1]
        expected.append(np.log(max(known[-1]["regret"], 1e-6)))
    for source in (tmp_path / "runs", recorded):
        assert defaults.read(source) == {("branin", 4): pytest.approx(np.mean(expected), abs=1e-3)}


def test_costs_are_foretold_from_those_before_by_each_set_of_priors(farthing_run):
    task, steps, _ = farthing_run
    before = cost_model.SLOPE
    found = {}
    for name, kind, n, error in costs.errors(task, steps[:17]):
        found.setdefault((name, kind, n), []).append(error)
    assert before == cost_model.SLOPE
    assert {n for _, _, n in found} == {10, 11, 12, 13, 14, 16}
    assert all(len(these) == (1 if kind == "next" else 100) for (_, kind, _), these in found.items())
    known = recommendations.known_after(task, 0, steps[:12]).history
    z = np.append(known.space.unit_points([steps[12]["params"]])[0], known.space.unit_fidelities([steps[12]["fidelity"]])[0])
    expected = np.log(steps[12]["cost"] / cost_model.fit_cost(known, 1.2)(z[None])[0])
    assert found["farthing", "next", 12] == pytest.approx([expected])
    assert found["farthing's before", "next", 12] != pytest.approx([expected], rel=1e-6)

    rows = costs.summarize({("simulated", "farthing", "next", 10): [0.3], ("simulated", "farthing", "next", 12): [-0.1]})
    assert [(row["rms"], row["mean"], row["count"]) for row in rows] == [(round(0.05**0.5, 3), 0.1, 2)]


class Scripted(Peer):
    """Proposes the middle, and takes (fake) time for everything."""

    def __init__(self, task, clock, fails_at=None):
        super().__init__(task, 0)
        self.clock, self.fails_at, self.count = clock, fails_at, 0

    def propose(self):
        self.count += 1
        if self.count == self.fails_at:
            raise RuntimeError("not positive definite")
        self.clock.now += 3.0
        return self.task.params(np.full(self.task.dimensions, 0.5)), self.task.fidelity.full

    def observe(self, params, fidelity, value, cost):
        self.clock.now += 2.0

    def recommend(self):
        self.clock.now += 100.0
        return self.task.minimizer


class FakeClock:
    now = 0.0

    def __call__(self):
        return self.now


def scripted_run(task, wall=600.0, **options):
    clock = FakeClock()
    return list(run.steps(task, Scripted(task, clock, **options), wall, clock))


def test_recommending_is_timed_and_not_charged():
    *steps, end = scripted_run(replace(tasks.make_task("branin"), budget=1810.0 * 3))
    assert [record["overhead"] for record in steps] == [5.0] * 3 + [5.0]
    assert steps[0]["recommend"] == 100.0
    assert steps[0]["regret"] == pytest.approx(0.0, abs=1e-9)
    assert end["ended"] == "budget"


def test_a_run_ends_at_its_wall_limit_and_says_so():
    *steps, end = scripted_run(tasks.make_task("branin"), wall=12.0)
    assert len(steps) == 3
    assert end["ended"] == "wall"
    assert "12 s" in end["reason"]


def test_on_a_faster_machine_a_second_counts_as_more_on_every_clock():
    clock = FakeClock()

    def slowly(params, fidelity):
        clock.now += 4.0
        return 1.0

    task = replace(tasks.make_task("branin"), objective=slowly, cost=None, clock=clock, speed=1.5, budget=100.0)
    *steps, end = run.steps(task, Scripted(task, clock), wall=20.0, clock=clock)
    assert [(record["cost"], record["overhead"]) for record in steps] == [(6.0, 7.5)] * 2  # the wall limit too: 13.5 s a step
    assert end["ended"] == "wall"


def test_farthing_is_told_what_its_thinking_is_charged():
    peer = farthing_peers.EnvPES(replace(tasks.make_task("branin"), speed=1.5), 0)
    assert peer._study.settings.overhead_price == 1.5


def test_the_speed_is_by_what_the_same_random_points_took(tmp_path):
    def made(task, peer, seconds, steps, counted=1.0):
        made_up(tmp_path, task, peer, 0, [1.0] * steps, cost=seconds * counted)
        path = driver.path_of(tmp_path, task, peer, 0)
        header, *records = path.read_text().splitlines()
        path.write_text("\n".join([json.dumps(json.loads(header) | {"speed": counted}), *records]))

    for task, steps in (("svc", 12), ("mlp", 12), ("branin", 12), ("boosting", 9)):
        made(task, "random", 2.0, steps)
    made("svc", "optuna-tpe", 2.0, 12)
    before = [replace(each, steps=10, seconds={"evaluations": 30.0}) for each in summary.read_runs(tmp_path)]
    assert speed.factors(tmp_path, before) == {("svc", 0): 1.5, ("mlp", 0): 1.5}
    made("svc", "random", 2.0, 12, counted=1.5)
    assert speed.factors(tmp_path, before)["svc", 0] == 1.5


def test_a_peer_that_fails_ends_the_run_with_its_reason():
    *steps, end = scripted_run(tasks.make_task("branin"), fails_at=3)
    assert len(steps) == 2
    assert end["ended"] == "failed"
    assert end["reason"] == "RuntimeError: not positive definite"


def test_recommendations_get_rarer():
    assert [step for step in range(1, 81) if run.recommends(step)] == [*range(1, 31), *range(32, 61, 2), 65, 70, 75, 80]


# Files ----------------------------------------------------------------------------------------------------------------------


def test_a_run_that_was_killed_is_not_taken_for_complete(tmp_path):
    out = tmp_path / "0.jsonl"
    assert not run.is_complete(out)

    def interrupted():
        yield {"step": 1}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.write(out, {"peer": "random"}, interrupted())
    assert not out.exists()
    out.write_text('{"peer": "random"}\n{"step": 1}\n')
    assert not run.is_complete(out)
    out.write_text('{"peer": "random"}\n{"step": 1}\n{"ended": "bud')
    assert not run.is_complete(out)
    (tmp_path / "0.jsonl.99.part").write_text("half")
    run.write(out, {"peer": "random"}, iter([{"step": 1}, {"ended": "budget"}]))
    assert run.is_complete(out)
    assert [path.name for path in tmp_path.iterdir()] == ["0.jsonl"]


def drive(tmp_path, *options):
    command = [sys.executable, "-m", "benchmarks.peers", "--tasks", "hartmann3", "--jobs", "1", "--out", str(tmp_path / "runs")]
    command += ["--environments", str(tmp_path / "environments"), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_driver_makes_what_is_missing_and_leaves_out_what_it_cannot(tmp_path):
    (tmp_path / "environments" / "farthing").mkdir(parents=True)
    (tmp_path / "environments" / "farthing" / "bin").symlink_to(Path(sys.executable).parent)
    half = tmp_path / "runs" / "hartmann3" / "random" / "0.jsonl"
    half.parent.mkdir(parents=True)
    half.write_text('{"peer": "random"}\n{"step": 1}\n')
    done = drive(tmp_path, "--peers", "random", "boca", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert "boca left out" in done.stdout
    assert "2 runs, of which 0 are complete" in done.stdout
    assert "[2/2]" in done.stdout
    assert run.is_complete(half)
    before = half.stat().st_mtime_ns
    assert "3 runs, of which 2 are complete" in drive(tmp_path, "--peers", "random", "--seeds", "3").stdout
    assert half.stat().st_mtime_ns == before


def test_slow_peers_get_fewer_seeds_and_a_limit_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(driver.environments, "interpreter", lambda peer, folder: tmp_path)
    arguments = argparse.Namespace(
        peers=["random", "smac-mf", "boca"], tasks=["branin"], seeds=4, medium_seeds=2, slow_seeds=1, wall=60.0, slow_wall=90.0
    )
    arguments.first_seed = 0
    arguments.out = arguments.environments = tmp_path
    jobs = driver.chosen(arguments, None)
    assert [(job.peer, job.seed, job.wall) for job in jobs] == [
        ("random", 0, 60.0),
        ("smac-mf", 0, 60.0),
        ("boca", 0, 90.0),
        ("random", 1, 60.0),
        ("smac-mf", 1, 60.0),
        ("random", 2, 60.0),
        ("random", 3, 60.0),
    ]
    arguments.first_seed = 1
    assert [(job.peer, job.seed) for job in driver.chosen(arguments, None)] == [
        ("random", 1),
        ("smac-mf", 1),
        ("random", 2),
        ("random", 3),
    ]


def test_time_left_is_told_by_the_peers_own_runs(capsys):
    jobs = [driver.Job(peer, "branin", seed, Path("x")) for seed in range(2) for peer in ("random", "boca")]
    progress = driver.Progress(jobs, workers=1)
    progress.show(jobs[0], 1.0, "done")
    progress.show(jobs[1], 59.0, "done")
    assert "[2/4] branin boca 0: done in 59 s, about 60 s left" in capsys.readouterr().out


# Summary --------------------------------------------------------------------------------------------------------------------


def made_up(folder, task, peer, seed, regrets, cost=10.0, thinking=1.0, ended="budget"):
    """A run of evaluations that cost so much, with so much overhead each, within a budget of 100."""
    path = driver.path_of(folder, task, peer, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"peer": peer, "task": task, "seed": seed, "budget": 100.0, "minimum": 0.0, "wall": 60.0}
    header |= {"versions": {"optuna": "5", "numpy": "2"}}
    steps = [
        {"step": i, "spent": cost * i, "thinking": thinking * i, "overhead": thinking, "regret": regret}
        for i, regret in enumerate(regrets, start=1)
    ]
    path.write_text("\n".join(json.dumps(record) for record in (header, *steps, {"ended": ended})))


@pytest.fixture
def runs(tmp_path):
    """farthing first on branin, alone at first and then with optuna-gp below the floor; random first on LCBench, and cut short."""
    for seed in range(10):
        wobble = 1.0 + 0.01 * seed
        made_up(tmp_path, "branin", "farthing", seed, [wobble * 4.0**-i if i < 8 else 1e-9 for i in range(12)])
        made_up(tmp_path, "branin", "random", seed, [wobble] * 12, thinking=0.0)
        made_up(tmp_path, "lcbench-3945", "farthing", seed, [wobble] * 12)
        made_up(tmp_path, "lcbench-3945", "random", seed, [wobble / 2] * 3, ended="wall")
    for seed in range(3):
        made_up(tmp_path, "branin", "optuna-gp", seed, [2.0] * 6 + [1e-8] * 6)
        made_up(tmp_path, "lcbench-3945", "optuna-gp", seed, [2.0] * 12)
    made_up(tmp_path, "branin", "a peer that is gone", 0, [1.0])
    return summary.read_runs(tmp_path)


@pytest.fixture
def found(runs):
    """The summary, as it is read from its file."""
    return json.loads(json.dumps(summary.summarize(runs), allow_nan=False))


def test_regret_counts_what_was_recommended_by_then_on_either_clock(runs):
    first = next(r for r in runs if (r.task, r.peer, r.seed) == ("branin", "farthing", 0))
    assert first.regret_at(0.05, "evaluations") == np.inf
    assert first.regret_at(0.1, "evaluations") == 1.0
    assert first.regret_at(0.1, "total") == np.inf  # with overhead the first took 11
    assert first.regret_at(0.5, "evaluations") == 4.0**-4
    assert first.regret_at(0.5, "total") == 4.0**-3
    limited = next(r for r in runs if (r.task, r.peer, r.seed) == ("lcbench-3945", "random", 0))
    assert limited.regret_at(1.0, "total") == 0.5  # what it had when it was stopped
    assert [limited.was_cut(share, "total") for share in (0.25, 0.5)] == [False, True]


def test_the_summary_holds_seeds_steps_overhead_and_ends(found):
    assert set(found["versions"]) == {"farthing", "random", "optuna-gp"}
    cell = found["tasks"]["lcbench-3945"]["peers"]["random"]
    assert (cell["seeds"], cell["steps"], cell["overhead"], cell["wall"]) == (10, 3.0, 1.0, [60.0])
    assert (cell["stopped"], cell["failed"], cell["cut"]["total"]) == (10, 0, [0, 0, 10, 10])
    assert found["tasks"]["branin"]["peers"]["optuna-gp"]["seeds"] == 3
    ours = found["tasks"]["branin"]["peers"]["farthing"]
    assert ours["total"][0] == [None, None, None]
    assert ours["total"][2] == pytest.approx([1.02 * 4.0**-3, 1.045 * 4.0**-3, 1.07 * 4.0**-3], rel=1e-3)
    assert ours["curve"][9] == ours["total"][2][1]


def test_a_median_beyond_the_first_recommendation_is_none():
    class Told:
        def __init__(self, regret):
            self.regret = regret

        def regret_at(self, share, clock):
            return self.regret

    assert summary.quartiles([Told(1.0), Told(2.0)], 1.0, "total")[1] == 1.5
    assert summary.quartiles([Told(1.0), Told(np.inf)], 1.0, "total")[1] is None


def test_equal_values_share_their_rank():
    assert standings.ranks_of({"a": 1.0, "b": 0.5, "c": 1.0}) == {"a": 2.5, "b": 1.0, "c": 2.5}


def test_regrets_below_the_floor_are_the_same(found):
    assert standings.regrets(found["tasks"]["branin"], "total", 3) == {"farthing": 1e-6, "random": 1.045, "optuna-gp": 1e-6}
    assert standings.firsts(found, "total", 3) == {"farthing": 1, "random": 1, "optuna-gp": 1}
    assert (tasks.floor("svc"), tasks.floor("lcbench-7593"), tasks.floor("mlp"), tasks.floor("eight")) == (0.01, 0.01, 1e-4, 1e-6)


def test_ranks_are_means_over_a_group_of_tasks(found):
    groups = standings.groups(found)
    assert groups == {"all tasks": ["branin", "lcbench-3945"], "LCBench": ["lcbench-3945"], "other tasks": ["branin"]}
    assert standings.mean_ranks(found, groups["all tasks"], "total", 2) == {"farthing": 1.5, "random": 1.5, "optuna-gp": 3.0}
    assert standings.mean_ranks(found, groups["other tasks"], "total", 3) == {"farthing": 1.5, "random": 3.0, "optuna-gp": 1.5}
    del found["tasks"]["branin"]["peers"]["optuna-gp"]
    assert standings.mean_ranks(found, groups["all tasks"], "total", 2) == {"farthing": 1.5, "random": 1.5}


def test_firsts_count_those_near_the_lowest_where_asked(found):
    assert standings.firsts(found, "total", 2) == {"farthing": 1, "random": 1, "optuna-gp": 0}
    assert standings.firsts(found, "total", 2, factor=2.1) == {"farthing": 2, "random": 1, "optuna-gp": 0}


def test_losses_name_the_winner_and_both_regrets(found):
    losses = standings.losses(found, "total")
    assert [(loss.task, loss.share) for loss in losses] == [
        ("branin", 0.1),  # of random, the only one that has recommended by then
        *(("lcbench-3945", share) for share in (0.25, 0.5, 1.0)),
    ]
    assert (losses[0].winners, losses[0].ours) == (["random"], np.inf)
    assert (losses[-1].winners, losses[-1].ours, losses[-1].theirs) == (["random"], 1.045, 0.5225)


def test_wins_are_clear_where_quartiles_lie_apart(found):
    assert standings.against(found, "random") == {"lower": 1, "clearly_lower": 1, "same": 0, "higher": 1, "clearly_higher": 1}
    assert standings.against(found, "optuna-gp") == {"lower": 1, "clearly_lower": 1, "same": 1, "higher": 0, "clearly_higher": 0}
    cells = found["tasks"]["lcbench-3945"]["peers"]
    cells["random"]["total"][-1] = [0.4, 0.52, 1.03]  # overlaps with farthing's, from 1.02 to 1.07
    assert standings.against(found, "random")["clearly_higher"] == 0
    cells["random"]["total"][-1], cells["random"]["seeds"] = [0.52, 0.52, 0.52], 2
    assert standings.against(found, "random")["clearly_higher"] == 0
    cells["random"]["total"][-1] = [None, None, None]
    assert standings.against(found, "random") == {"lower": 2, "clearly_lower": 1, "same": 0, "higher": 0, "clearly_higher": 0}


def test_what_was_summarized_is_kept_where_there_are_no_runs(found, tmp_path):
    for seed in range(4):
        made_up(tmp_path / "later", "branin", "farthing", seed, [1e-3] * 12)
        made_up(tmp_path / "later", "hartmann3", "boca", seed, [0.1] * 12)
    later = summary.read_runs(tmp_path / "later")
    both = json.loads(json.dumps(summary.summarize(later, found)))
    assert list(both["tasks"]) == ["branin", "hartmann3", "lcbench-3945"]
    assert (
        both["tasks"]["branin"]["peers"]["farthing"]
        == json.loads(json.dumps(summary.summarize(later)))["tasks"]["branin"]["peers"]["farthing"]
    )
    assert both["tasks"]["branin"]["peers"]["random"] == found["tasks"]["branin"]["peers"]["random"]
    assert both["tasks"]["lcbench-3945"] == found["tasks"]["lcbench-3945"]
    assert list(both["tasks"]["hartmann3"]["peers"]) == ["boca"]
    assert list(both["versions"]) == ["farthing", "random", "optuna-gp", "boca"]
    assert json.loads(json.dumps(summary.summarize([], found))) == found


def test_a_recorded_run_tells_the_same_regrets_as_the_run_itself(runs):
    marks = [(share, clock) for share in summary.SHARES for clock in summary.CLOCKS]
    for run_ in runs:
        again = summary.Run.recorded(json.loads(json.dumps(run_.record(), allow_nan=False)))
        assert [again.regret_at(*mark) for mark in marks] == pytest.approx([run_.regret_at(*mark) for mark in marks], rel=1e-4)
        assert [again.was_cut(*mark) for mark in marks] == [run_.was_cut(*mark) for mark in marks]
        assert (again.steps, again.seconds, again.ended) == (run_.steps, run_.seconds, run_.ended)
        assert len(again.regrets) == len(set(run_.regrets))


def test_what_was_recommended_just_after_a_mark_is_recorded_as_after_it(tmp_path):
    made_up(tmp_path, "branin", "random", 0, [1.0] * 12)
    (made,) = summary.read_runs(tmp_path)
    mark = (0.5 + summary.SLACK) * made.budget
    for late, regret in ((-2e-6, 0.25), (2e-6, 0.5)):
        told = replace(
            made, spent=np.array([10.0, mark - 0.5]), thinking=np.array([0.0, 0.5 + late]), regrets=np.array([0.5, 0.25])
        )
        assert summary.Run.recorded(json.loads(json.dumps(told.record()))).regret_at(0.5, "total") == regret


def test_regrets_are_told_above_a_lower_minimum_found_after_the_run(tmp_path, monkeypatch):
    made_up(tmp_path, "mlp", "random", 0, [0.5, -0.1])
    made_up(tmp_path, "branin", "random", 0, [0.5, 0.1])
    monkeypatch.setattr(tasks, "reference_minima", lambda: {"mlp": -0.25})
    exact, trained = summary.above_known(summary.read_runs(tmp_path))
    assert (exact.task, exact.minimum, list(exact.regrets)) == ("branin", 0.0, [0.5, 0.1])
    assert (trained.task, trained.minimum, list(trained.regrets)) == ("mlp", -0.25, [0.75, 0.15])
    again = summary.Run.recorded(json.loads(json.dumps(trained.record())))
    assert (again.minimum, list(again.regrets)) == (-0.25, [0.75, 0.15])
    assert list(summary.above_known([again])[0].regrets) == [0.75, 0.15]  # once is enough


def test_reference_minima_take_what_runs_have_found_at_full_fidelity(tmp_path):
    full, cheap = training.DEFINITIONS["mlp"][1].full, training.DEFINITIONS["mlp"][1].cheap
    seen = [(0.4, full, 0.2), (0.1, cheap, 0.3), (0.35, full, 0.05)]
    header = {"task": "mlp", "peer": "random", "seed": 0, "minimum": 0.28}
    records = [
        {"step": i, "params": {"at": i}, "fidelity": f, "value": v, "regret": r, "recommended": {"told": i}}
        for i, (v, f, r) in enumerate(seen)
    ]
    out = tmp_path / "mlp" / "random" / "0.jsonl"
    run.write(out, header, iter([*records, {"ended": "budget"}]))
    assert references.lowest_of_runs(tmp_path, "mlp") == (pytest.approx(0.33), {"told": 2})
    run.write(out, header, iter([records[0] | {"value": 0.2}, *records[1:], {"ended": "budget"}]))
    assert references.lowest_of_runs(tmp_path, "mlp") == (0.2, {"at": 0})


def test_seeds_add_up_with_those_recorded_and_replace_the_same_and_other_versions(runs, tmp_path):
    made_up(tmp_path / "later", "branin", "optuna-gp", 2, [5.0] * 12)
    made_up(tmp_path / "later", "branin", "optuna-gp", 7, [6.0] * 12)
    later = summary.read_runs(tmp_path / "later")
    added = {
        run_.seed: run_.regrets[0] for run_ in summary.joined(runs, later) if (run_.task, run_.peer) == ("branin", "optuna-gp")
    }
    assert added == {0: 2.0, 1: 2.0, 2: 5.0, 7: 6.0}
    other = [replace(run_, versions={"optuna": "6"}) for run_ in later]
    replaced = summary.joined(runs, other)
    assert [run_.seed for run_ in replaced if (run_.task, run_.peer) == ("branin", "optuna-gp")] == [2, 7]
    assert len(replaced) == len(runs) - 3 + 2


def test_it_is_told_how_farthing_stands_with_its_own_ei_left_aside(runs, tmp_path):
    told = document.highlights(json.loads(json.dumps(summary.summarize(runs))), [])[0]
    assert "left aside" not in told
    for seed in range(3):
        made_up(tmp_path, "branin", "farthing-ei", seed, [1e-9] * 12)
    told = document.highlights(json.loads(json.dumps(summary.summarize(summary.read_runs(tmp_path)))), [])[0]
    assert "on 0 at 25%, on 0 at 50%, on 1 at 100% of the budget (its own EI left aside on" in told
    assert "(its own EI left aside on 1 at 25%, on 1 at 50%, on 1 at 100%)" in told


def test_the_results_become_a_section_of_the_documentation(found):
    seconds = [{"peer": p, "d": 2, "n": 20, "mean": s, "steps": 5} for p, s in (("farthing", 0.1), ("random", 1e-6), ("boca", 2.0))]
    text = document.section(found, seconds)
    assert "| boca | 2 (20×) |  |" in text
    assert "| random | 1e-06 (<0.01×) |" in text
    assert "| random | uniformly random points | no | 10 | 20 | 10 | 0 | 60 |" in text
    assert "0.01 (LCBench)" in text
    assert "| lcbench-3945 | 100% | 1 | random | 0.52 | 2.0× |" in text
    assert "| branin | **≤1e-06** | 1 | **≤1e-06** |" in text
    assert "| lcbench-3945 | 1 | **0.52**\\* | 2 |" in text
    assert "10 × 3, 1 s (10 stopped)" in text
    assert all(len(line) <= 132 for line in text.splitlines() if not line.startswith(("|", "!")))
    assert text.count("<details>") == text.count("</details>") == 3
    assert "### Seconds per proposal" not in document.section(found, [])


def test_what_is_told_in_short_tells_losses_too(found):
    seconds = [{"peer": p, "d": 6, "n": 100, "mean": s, "steps": 5} for p, s in (("farthing", 0.1), ("boca", 2.0))]
    standing, rank, thinking = document.highlights(found, seconds)
    assert (
        "Of 2 tasks, farthing has the lowest median regret of all 3 optimizers on 1 at 25%, on 1 at 50%, on 1 at 100%" in standing
    )
    assert "(#where-farthing-is-not-first): 3 cases" in standing
    assert "(random " in rank
    assert "farthing 0.1, boca 2 (20×)" in thinking
    assert document.highlights(found, []) == [standing, rank]


def test_the_plot_has_a_panel_a_task_and_is_the_same_again(found, tmp_path):
    for name in ("one.svg", "two.svg"):
        plot.draw(found, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert all(word in text for word in ("branin", "lcbench-3945", "farthing", "optuna-gp", "random"))
    assert text == (tmp_path / "two.svg").read_text()


def test_overhead_is_measured_after_what_is_given(monkeypatch):
    monkeypatch.setattr(overhead, "STEPS", 3)
    row = overhead.cell("random", 4, 2, limit=1.0)
    assert (row["peer"], row["n"], row["d"], row["steps"]) == ("random", 4, 2, 3)
    assert 0.0 < row["mean"] < 0.1
