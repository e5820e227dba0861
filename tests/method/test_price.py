"""Cost, overhead, horizon: learned and extrapolated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import history_of
from oracles import central_difference

import farthing as ft
from farthing.method.beliefs import believe
from farthing.method.cost import Trend, fit_cost, last_scheduled
from farthing.method.deliberation import deliberate
from farthing.method.overhead import Overhead, Price, fit_overhead
from farthing.method.propose import propose
from farthing.method.situation import Situation
from farthing.methods import EnvPES
from farthing.trials import Proposal

PAPERS_DESIGN = {"initial_fidelities": (0.5, 0.75, 0.875), "initial_repeats": True}


def quadratic(s):
    return 120.0 + 1680.0 * (1.0 - s) ** 2


def initial_design(d=2, seed=0):
    study = ft.Study(
        {f"x{i}": ft.Real(0.0, 1.0) for i in range(d)},
        fidelity=ft.Fidelity("s", cheap=1.0, full=0.0),
        seed=seed,
        settings=ft.Settings(overhead_price=1.0, draws=2, initial=21, **PAPERS_DESIGN),
    )
    for _ in range(20):
        trial = study.ask()
        study.tell(trial, sum(trial.params.values()), cost=quadratic(trial.fidelity))
    return study


@pytest.mark.parametrize("d", [2, 6])
def test_full_cost_after_the_initial_design_is_within_a_quarter_and_better_after_two_full_evaluations(d):
    study = initial_design(d)
    assert min(t.fidelity for t in study.trials) == 0.5  # nothing near s = 0 was seen
    full = np.column_stack([np.random.default_rng(1).random((40, d)), np.zeros(40)])
    before = np.abs(fit_cost(study.history, 1.2)(full) / 1800.0 - 1.0).max()
    assert before < 0.25
    for place in (0.2, 0.7):
        study.add({f"x{i}": place for i in range(d)}, 0.0, fidelity=0.0, cost=1800.0)
    after = np.abs(fit_cost(study.history, 1.2)(full) / 1800.0 - 1.0).max()
    assert after <= max(before, 0.01)


def test_an_exponential_cost_is_corrected_by_two_full_evaluations():
    """exp(-3s) is not of the trend's form, so the first guess at s = 0 is off by a third; the process must take that up."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.random((20, 2)), np.tile([0.5, 0.75, 0.875], 7)[:20]])
    costs = 300.0 * np.exp(-3.0 * points[:, 2])
    full = np.column_stack([rng.random((20, 2)), np.zeros(20)])
    first = fit_cost(history_of(points, costs * 0, costs, fidelity=True), 1.2)(full) / 300.0
    assert np.abs(first - 1.0).max() < 0.5
    more, more_costs = np.concatenate([points, full[:2]]), np.concatenate([costs, [300.0, 300.0]])
    second = fit_cost(history_of(more, more_costs * 0, more_costs, fidelity=True), 1.2)(full) / 300.0
    assert np.abs(second - 1.0).max() < 0.1


def test_a_cost_that_depends_on_x_is_learned():
    def cost(z):
        return (0.2 + (1.0 - z[:, 2])) * 10.0 ** z[:, 0] * (1.0 + 0.5 * np.sin(6.0 * z[:, 1]))

    rng = np.random.default_rng(3)
    seen, unseen = rng.random((40, 3)), rng.random((100, 3))
    model = fit_cost(history_of(seen, np.zeros(40), cost(seen), fidelity=True), 1.2)
    error = np.abs(np.log(model(unseen) / cost(unseen)))
    assert np.median(error) < 0.1
    assert np.std(np.log(cost(unseen))) > 0.8  # what a model blind to x would be off by


@pytest.mark.parametrize("costs", [np.zeros(12), np.full(12, 3.0), 10.0 ** np.linspace(-9, 9, 12)], ids=["zero", "same", "1e18"])
def test_costs_below_the_clock_all_the_same_or_far_apart_give_finite_predictions(costs):
    points = np.random.default_rng(0).random((12, 3))
    model = fit_cost(history_of(points, np.zeros(12), costs, fidelity=True), 1.2)
    predicted = model(np.random.default_rng(1).random((50, 3)))
    assert np.isfinite(predicted).all()
    assert (predicted > 0.0).all()


def test_cost_model_is_the_same_whether_or_not_work_was_saved():
    study = initial_design()
    previous = None
    for n in range(1, 21):
        history = history_of(study.history.points[:n], study.history.values[:n], study.history.costs[1][:n], fidelity=True)
        previous = fit_cost(history, 1.2, previous)
    z = np.random.default_rng(0).random((10, 3))
    assert np.array_equal(previous(z), fit_cost(history, 1.2)(z))


def test_cost_gradient_by_finite_differences():
    study = initial_design()
    price = Price.of(fit_cost(study.history, 1.2), Overhead((0.5, 1e-3, 2.0, 0.1)), 20, 20_000.0, 1.0)
    z = np.random.default_rng(2).uniform(0.05, 0.95, (6, 3))
    value, gradient = price.with_gradient(z)
    np.testing.assert_allclose(value, price(z))
    for axis in range(3):
        shift = 1e-6 * np.eye(3)[axis]
        numeric = (price(z + shift) - price(z - shift)) / 2e-6
        np.testing.assert_allclose(gradient[:, axis], numeric, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("fidelity", [None, ft.Fidelity("s", 1.0, 0.0), ft.Fidelity("rows", 2.0, 52.0, log=True)])
def test_trend_of_log_cost_is_what_it_says_and_so_are_its_gradients_in_the_parameters(fidelity):
    """log(floor + work * w^power) + b . (x - 1/2), written out; its parameters are logarithms."""
    z = np.random.default_rng(4).uniform(0.05, 0.95, (6, 3))
    log_floor, log_work, log_power, slopes = -1.2, 0.4, 0.3, np.array([0.7, -1.1])
    w = 1.0 if fidelity is None else 1.0 - z[:, 2] if fidelity.name == "s" else 52.0 ** (1.0 - z[:, 2]) * 2.0 ** z[:, 2] / 52.0
    expected = np.log(np.exp(log_floor) + np.exp(log_work) * w ** np.exp(log_power)) + (z[:, :2] - 0.5) @ slopes
    parameters = np.array([log_floor, log_work, log_power, *slopes])
    value, _, in_parameters = Trend.of(parameters, 2, fidelity).with_gradients(z)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    numeric = central_difference(lambda p: Trend.of(p, 2, fidelity)(z), parameters, 1e-3)
    np.testing.assert_allclose(in_parameters, numeric, rtol=1e-8, atol=1e-9)


def uneven(z):
    """Costs that differ thirtyfold over x, and tenfold over s."""
    return 30.0 ** z[:, 0] * (0.1 + 0.9 * (1.0 - z[:, 2])) * (1.0 + 0.2 * np.sin(5.0 * z[:, 1]))


def known_costs(count=30):
    points = np.random.default_rng(5).random((count, 3))
    return fit_cost(history_of(points, np.zeros(count), uneven(points), fidelity=True), 1.2)


def trifling(trifle):
    """A price of which the overhead is a part that grows with the number of steps to come."""
    return replace(Price.of(known_costs(), Overhead((0.5, 1e-3, 1.5, 0.1)), 30, 2_000.0, 1.0), trifle=trifle)


def test_cheap_places_count_as_much_as_one_that_costs_a_trifle():
    """By the formula; and the ratio of fidelities at one place, overhead included, which is what a fidelity saves, stays."""
    paid, counted, z = trifling(0.0), trifling(6.0), np.random.default_rng(6).random((200, 3))
    full = np.column_stack([z[:, :2], np.zeros(200)])
    assert 0.2 < (paid(full) < 6.0).mean() < 0.8
    np.testing.assert_allclose(paid(z), paid.cost(z) + paid.mean_overhead(paid.cost(z)))
    np.testing.assert_allclose(counted(full), np.maximum(paid(full), 6.0))
    np.testing.assert_allclose(counted(z) / counted(full), paid(z) / paid(full))


def test_gradient_of_a_price_with_trifles_by_finite_differences():
    counted, z = trifling(6.0), np.random.default_rng(7).uniform(0.05, 0.95, (60, 3))
    value, gradient = counted.with_gradient(z)
    np.testing.assert_allclose(value, counted(z))
    numeric = np.stack([central_difference(lambda p: counted(p.reshape(1, 3)), point, 1e-5)[0] for point in z])
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)  # the overhead has kinks


@pytest.mark.parametrize(("budget", "trifle", "raised"), [(None, 1 / 60, False), (300.0, 1 / 60, True), (300.0, 0.0, False)])
def test_a_trifle_is_a_share_of_the_whole_budget(budget, trifle, raised):
    """300 of which 100 are spent: a sixtieth is 5, whatever is left."""
    points = np.random.default_rng(5).random((12, 3))
    costs = uneven(points) * 100.0 / uneven(points).sum()
    history = history_of(points, points.sum(axis=1), costs, fidelity=True)
    spent = float(sum(t.cost for t in history.trials))
    made = tuple(replace(t, proposal=Proposal("acquisition")) for t in history.trials)
    remaining = None if budget is None else budget - spent
    situation = Situation(replace(history, trials=made), EnvPES(trifle=trifle), ft.Settings(), 0, remaining, 0.0)
    beliefs = believe(situation)
    price = deliberate(situation, beliefs, np.random.default_rng(0)).price
    full = np.column_stack([np.random.default_rng(8).random((50, 2)), np.zeros(50)])
    cost = beliefs.cost(full)
    assert (cost < 5.0).any()
    np.testing.assert_allclose(price(full), np.maximum(cost, 5.0) if raised else cost)
    np.testing.assert_allclose(price.cost(full), cost)  # what is foretold to the user is the cost itself


@pytest.mark.parametrize("trifle", [-0.1, 1.0, None, "much", float("nan")])
def test_a_trifle_is_a_share(trifle):
    with pytest.raises(ft.SettingsError, match=r"trifle is .*; give a share of the budget from 0, below 1"):
        EnvPES(trifle=trifle)


def test_slopes_of_seven_axes_are_not_believed_after_ten_costs():
    """Costs that owe nothing to x but are uneven by a factor of two: of ten of them, slopes that explain it all can be made. The
    place that is predicted to be the cheapest of a thousand is really as dear as any, and is to be foretold as nearly that.
    """
    short = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = np.column_stack([rng.random((10, 7)), rng.uniform(0.5, 1.0, 10)])
        costs = quadratic(points[:, -1]) * np.exp(0.5 * rng.standard_normal(10))
        model = fit_cost(history_of(points, np.zeros(10), costs, fidelity=True), 1.2)
        anywhere = np.column_stack([rng.random((1000, 7)), np.full(1000, 0.75)])
        short.append(np.log(quadratic(0.75) / model(anywhere).min()))
    assert np.mean(short) < 1.0


def test_schedule_counts_every_small_number_and_then_grows():
    assert [last_scheduled(n, 1.2) for n in (0, 1, 2, 3, 5, 6)] == [0, 1, 2, 3, 5, 6]
    assert len({last_scheduled(n, 1.2) for n in range(100, 1001)}) < 16


@pytest.mark.parametrize("theta", [(0.05, 1e-5, 2.0), (0.01, 2e-6, 2.0), (2.0, 1e-3, 2.0)])
def test_quadratic_growth_is_extrapolated(theta):
    rng = np.random.default_rng(0)
    steps = np.arange(20.0, 121.0)
    seconds = (theta[0] + theta[1] * steps**2) * (1.0 + 0.05 * rng.standard_normal(len(steps)))
    ahead = np.array([200.0, 300.0])
    np.testing.assert_allclose(fit_overhead(steps, seconds)(ahead), theta[0] + theta[1] * ahead**2, rtol=0.2)


def test_fitted_overhead_is_the_most_probable():
    """Gamma log densities and the Gaussian likelihood written out; no perturbation of theta is more probable."""
    from scipy.stats import gamma, norm

    from farthing.method.overhead import RATES, SHAPES

    rng = np.random.default_rng(5)
    steps = np.arange(20.0, 60.0)
    seconds = 0.1 + 2e-5 * steps**2 + 0.01 * rng.standard_normal(40)

    def log_posterior(theta):
        prior = gamma.logpdf(theta, SHAPES, scale=1.0 / RATES).sum()
        return prior + norm.logpdf(seconds, theta[0] + theta[1] * steps ** theta[2], theta[3]).sum()

    best = np.array(fit_overhead(steps, seconds).theta)
    nearby = best * np.exp(0.02 * rng.standard_normal((300, 4)))
    assert log_posterior(best) >= max(log_posterior(t) for t in nearby) - 1e-2


def test_horizon_is_the_number_of_steps_that_fit_the_budget():
    overhead = Overhead((1.0, 0.1, 1.5, 0.1))
    model = fit_cost(initial_design().history, 1.2)
    price = Price.of(model, overhead, 7, 500.0, 2.0)
    for cost in (0.5, 3.0, 20.0, 90.0, 400.0):
        n, total = 0, 0.0
        while total + 2.0 * overhead(np.array(7 + n + 1)) + cost <= 500.0:
            n, total = n + 1, total + 2.0 * overhead(np.array(7 + n + 1)) + cost
        assert price.horizon(cost) == max(n, 1)
        mean = 2.0 * overhead(7 + np.arange(1, max(n, 1) + 1)).mean()
        assert price.mean_overhead(np.array([cost]))[0] == pytest.approx(mean, rel=0.15)


def test_a_spent_budget_leaves_a_horizon_of_one_step_and_no_budget_one_as_long_as_the_past():
    model = fit_cost(initial_design().history, 1.2)
    assert Price.of(model, Overhead((1.0, 0.1, 1.0, 0.1)), 20, 0.0, 1.0).horizon(10.0) == 1
    free = Price.of(model, Overhead((1.0, 0.1, 1.0, 0.1)), 20, None, 1.0)
    assert free.horizon(10.0) is None
    assert free.mean_overhead(np.array([10.0]))[0] == pytest.approx(1.0 + 0.1 * np.arange(21, 41).mean())


def test_larger_overhead_moves_the_choice_to_dearer_evaluations():
    """All else equal: the same results, seed and budget, with recorded overheads of a millisecond or of an hour a step."""

    def chosen_cost(seed, seconds):
        rng = np.random.default_rng(seed)
        points = rng.random((14, 3))
        values = np.sin(6.0 * points[:, 0] + 2.5 * points[:, 2]) + (points[:, 1] - 0.3 - 0.4 * points[:, 2]) ** 2
        history = history_of(points, values, quadratic(points[:, 2]), fidelity=True)
        asked = [replace(t, proposal=Proposal("acquisition"), overhead=seconds) for t in history.trials]
        situation = Situation(
            replace(history, trials=tuple(asked)), EnvPES(check=False), ft.Settings(repeatable=0.0), seed, 1e6, 1.0
        )
        _, proposal = propose(situation, believe(situation))
        return proposal.predicted_cost

    cheap_thinking = [chosen_cost(seed, 1e-3) for seed in range(6)]
    dear_thinking = [chosen_cost(seed, 3600.0) for seed in range(6)]
    assert all(dear >= 0.99 * cheap for dear, cheap in zip(dear_thinking, cheap_thinking, strict=True))
    assert np.mean(dear_thinking) > 1.5 * np.mean(cheap_thinking)
