"""How a run ends: a target that was reached, a regret that is small, evaluations, budget, failures; and what it then says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import farthing as ft
from farthing.evaluation import Outcome
from farthing.loop import Loop
from farthing.method.beliefs import believe
from farthing.method.recommend import REGRET_DRAWS, expected_regret
from farthing.method.situation import Situation
from farthing.numerics.kernels import Probes
from farthing.trials import Proposal

SPACE = {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}
LEVELS = ft.Fidelity("cells", levels=[4, 16, 64])
SMALL = ft.Settings(draws=3, support_points=60, starts=3, initial=5, overhead_price=0.0)


def truth(x, y):
    return 3.0 * (x - 0.3) ** 2 + 2.0 * (y - 0.6) ** 2 + 0.3 * math.sin(3.0 * x) * y


def lowest():
    x, y = np.meshgrid(np.linspace(0.0, 1.0, 801), np.linspace(0.0, 1.0, 801), indexing="ij")
    return float((3.0 * (x - 0.3) ** 2 + 2.0 * (y - 0.6) ** 2 + 0.3 * np.sin(3.0 * x) * y).min())


BEST = lowest()


def plain(x, y):
    return ft.Evaluation(truth(x, y), cost=1.0)


def too_good_when_cheap(x, y, cells):
    """Far below the truth at every fidelity but the full one."""
    return ft.Evaluation(truth(x, y) - 0.125 * math.log2(64 / cells) * (1.0 + 0.3 * x), cost=cells / 64)


def study_of(fidelity=None, seed=0, method="envpes", space=SPACE, settings=SMALL, **options):
    return ft.Study(space, fidelity=fidelity, seed=seed, method=method, settings=settings, **options)


def at_full(trial):
    return trial.fidelity in (None, 64)


# Target --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_run_ends_with_the_first_evaluation_at_or_below_the_target(seed):
    study = study_of(seed=seed)
    result = study.run(plain, evaluations=60, target=BEST + 0.01)
    last = study.trials[-1]
    assert result.message == f"target reached by trial {last.number}"
    assert last.value <= BEST + 0.01
    assert all(t.value > BEST + 0.01 for t in study.trials[:-1])
    assert len(study.trials) < 30


def test_a_value_equal_to_the_target_reaches_it():
    study = study_of(method="random")
    result = study.run(lambda x, y: ft.Evaluation(2.0, cost=1.0), evaluations=5, target=2.0)
    assert result.message == "target reached by trial 0"
    assert len(study.trials) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_target_is_reached_at_full_fidelity_only(seed):
    """Cheap values lie below the target from the start; the run must not end before a dear one does."""
    study = study_of(LEVELS, seed)
    target = BEST + 0.01
    result = study.run(too_good_when_cheap, evaluations=80, target=target)
    last = study.trials[-1]
    assert result.message == f"target reached by trial {last.number}"
    assert last.fidelity == 64
    assert last.value <= target
    assert not any(t.value <= target and at_full(t) for t in study.trials[:-1])
    assert any(t.value <= target for t in study.trials[:-1])  # so that it was tempted


def test_a_recommendation_that_promises_the_target_is_evaluated_at_full_fidelity_at_once():
    """After cheap evaluations that are the truth itself, the next trial is the confirmation, whatever is left of the budget."""
    study = study_of(LEVELS, settings=ft.Settings(draws=3, support_points=60, starts=3, initial=5, overhead_price=0.0, noise=0.0))
    for x in np.linspace(0.0, 1.0, 6):
        for y in np.linspace(0.0, 1.0, 6):
            study.add({"x": float(x), "y": float(y)}, truth(x, y), fidelity=4, cost=4 / 64)
            if (x + y) % 0.8 < 0.5:
                study.add({"x": float(x), "y": float(y)}, truth(x, y), fidelity=16, cost=16 / 64)
    study.add({"x": 0.9, "y": 0.1}, truth(0.9, 0.1), cost=1.0)
    known = len(study.trials)
    best = study.recommend()
    target = best.mean + 0.02
    result = study.run(lambda x, y, cells: ft.Evaluation(truth(x, y), cost=cells / 64), budget=1000.0, target=target)
    assert [t.proposal.kind for t in study.trials[known:]] == ["confirmation"]
    assert study.trials[known].fidelity == 64
    assert study.trials[known].params == best.params
    assert result.message == f"target reached by trial {known}"


def test_a_promise_that_is_not_kept_does_not_end_the_run_and_is_made_once_at_a_place():
    """The cheap values say that the target is there; at full fidelity it is not."""
    study = study_of(LEVELS, 1)

    def lying(x, y, cells):
        return ft.Evaluation(truth(x, y) - (0.0 if cells == 64 else 0.1), cost=cells / 64)

    result = study.run(lying, evaluations=25, target=BEST - 0.03)
    assert result.message == "all evaluations done"
    confirmed = [tuple(t.params.values()) for t in study.trials if t.proposal.kind == "confirmation"]
    assert len(set(confirmed)) == len(confirmed)


def test_a_target_that_is_known_to_be_reached_ends_a_run_before_it_begins():
    study = study_of()
    study.add({"x": 0.3, "y": 0.55}, truth(0.3, 0.55))
    result = study.run(plain, evaluations=10, target=1.0)
    assert result.message == "target reached by trial 0"
    assert len(study.trials) == 1
    again = study.run(plain, evaluations=4, target=BEST - 1.0)
    assert again.message == "all evaluations done"
    assert len(study.trials) == 5


def test_what_was_added_below_full_fidelity_does_not_reach_a_target():
    study = study_of(LEVELS)
    study.add({"x": 0.3, "y": 0.55}, -5.0, fidelity=4)
    result = study.run(too_good_when_cheap, evaluations=3, target=-4.0)
    assert not result.message.startswith("target")


def test_a_promise_is_not_trusted_before_the_initial_design_is_over():
    """After four points of a straight line its end is all but known, and below the target; the design goes on all the same."""
    study = study_of(seed=5, method="ei", space={"x": ft.Real(0.0, 1.0)})
    result = study.run(lambda x: ft.Evaluation(x, cost=1.0), evaluations=8, target=0.05)
    assert [t.proposal.kind for t in study.trials] == ["initial"] * 5 + ["confirmation"]
    assert result.message == "target reached by trial 5"


def test_the_result_of_a_run_that_reached_its_target_reaches_it():
    study = study_of(seed=1)
    target = BEST + 0.01
    result = study.run(plain, evaluations=60, target=target)
    assert result.message.startswith("target reached")
    assert truth(**result.x) <= target


def test_a_target_that_the_last_evaluation_reaches_is_reached():
    """The last by number, by budget, or the confirmation of a run that would end for its budget."""
    values = [3.0, 2.0, 2.5, 0.05]
    for end in ({"evaluations": 4}, {"budget": 4.0}, {"evaluations": 9, "budget": 4.0}):
        study, given = study_of(method="random"), iter(values)
        result = study.run(lambda x, y, given=given: ft.Evaluation(next(given), cost=1.0), target=0.1, **end)
        assert result.message == "target reached by trial 3"
        assert result.x == study.trials[3].params


def test_a_promised_target_is_not_looked_for_with_money_that_is_not_there():
    study = study_of(LEVELS, 3)
    for x in np.linspace(0.1, 0.9, 4):
        for y in np.linspace(0.1, 0.9, 4):
            study.add({"x": float(x), "y": float(y)}, truth(x, y), fidelity=64, cost=100.0)
            study.add({"x": float(x), "y": float(y)}, truth(x, y), fidelity=4, cost=0.25)
    known, target = len(study.trials), 0.5 * (study.recommend().mean + min(t.value for t in study.trials))
    costs = {4: 0.25, 16: 5.0, 64: 100.0}
    result = study.run(lambda x, y, cells: ft.Evaluation(truth(x, y), cost=costs[cells]), budget=3.0, target=target)
    assert result.message == "budget spent"
    assert study.trials[known:]
    assert all(t.fidelity == 4 for t in study.trials[known:])


# Regret --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", [None, LEVELS], ids=["full", "levels"])
def test_a_run_ends_when_little_is_expected_below_the_recommendation_and_confirms_it(fidelity):
    ends = []
    for seed in range(3):
        study = study_of(fidelity, seed)
        result = study.run(plain if fidelity is None else too_good_when_cheap, evaluations=60, regret=0.01)
        assert result.message == "expected regret below 0.01"
        last = study.trials[-1]
        if last.proposal.kind == "confirmation":
            assert at_full(last)
        assert any(t.params == result.x and at_full(t) for t in study.trials)  # the place was tried
        assert len(study.trials) < 40
        ends.append(truth(**result.x) - BEST)
    assert np.median(ends) < 0.01


def test_a_smaller_regret_takes_longer_and_finds_better():
    counts, regrets = [], []
    for regret in (0.05, 0.0005):
        study = study_of(seed=1)
        result = study.run(plain, evaluations=60, regret=regret)
        assert result.message == f"expected regret below {regret:g}"
        counts.append(len(study.trials))
        regrets.append(truth(**result.x) - BEST)
    assert counts[0] < counts[1]
    assert regrets[1] < 0.0005


def test_a_regret_is_not_believed_before_the_initial_design_is_over():
    """A constant promises nothing below it from the second value on."""
    study = study_of(method="random")
    result = study.run(lambda x, y: ft.Evaluation(1.0, cost=1.0), evaluations=30, regret=10.0)
    assert result.message == "expected regret below 10"
    assert len(study.trials) >= SMALL.initial


def test_without_a_confirmation_a_regret_ends_the_run_all_the_same():
    settings = ft.Settings(draws=3, support_points=60, starts=3, initial=5, overhead_price=0.0, confirm=False)
    study = study_of(settings=settings)
    result = study.run(plain, evaluations=60, regret=0.02)
    assert result.message == "expected regret below 0.02"
    assert all(t.proposal.kind != "confirmation" for t in study.trials)


def dense_regret(surrogate, recommended, places, draws, rng):
    """E f(recommended) - min f over the places and it, from joint draws of each process; and one draw's standard deviation."""
    z = surrogate.at_full_fidelity(np.concatenate([recommended, places]))
    mean, cov = surrogate.process.predict(Probes.values(z))
    total, variance = 0.0, 0.0
    for weight, m, c in zip(surrogate.weights, mean, cov, strict=True):
        lower = np.linalg.cholesky(c + 1e-9 * np.eye(len(m)))
        f = m + rng.standard_normal((draws, len(m))) @ lower.T
        shortfall = f[:, 0] - f.min(axis=1)
        total += weight * shortfall.mean()
        variance += weight**2 * shortfall.var()
    scale = surrogate.standardization.scale
    return total * scale, math.sqrt(variance) * scale


def surrogate_of(study):
    return believe(Situation(study.history, study.method, study.settings, study.seed, None, 0.0)).surrogate


def wavy(x):
    return math.sin(9.0 * x) + x


def choosy(k, c):
    return math.sin(k) + 0.3 * "abc".index(c) * math.cos(k)


@pytest.mark.parametrize("count", [6, 10])
@pytest.mark.parametrize("kind", ["real", "discrete", "discrete with levels"])
def test_expected_regret_is_that_of_dense_joint_draws(kind, count):
    """The surrogate's own posterior on a grid of 250 places, or on all 30 there are; within the error of so many draws."""
    settings = ft.Settings(draws=4, support_points=300, starts=2, initial=5, overhead_price=0.0)
    space = {"x": ft.Real(0.0, 1.0)} if kind == "real" else {"k": ft.Integer(0, 9), "c": ft.Choice(["a", "b", "c"])}
    fidelity = LEVELS if kind.endswith("levels") else None
    study = study_of(fidelity, 2, "envpes" if fidelity else "pes", space, settings)
    for _ in range(count):
        trial = study.ask()
        value = wavy(**trial.params) if kind == "real" else choosy(**trial.params)
        study.tell(trial, value + 0.05 * (64 - (trial.fidelity or 64)) / 64, cost=1.0)
    surrogate = surrogate_of(study)
    recommended = study.space.unit_points([study.recommend().params])
    places = np.linspace(0.0, 1.0, 250)[:, None] if kind == "real" else study.space.every_point()
    dense, sd = dense_regret(surrogate, recommended, places, 4000, np.random.default_rng(0))
    assert dense > 0.0
    error = 5.0 * sd / math.sqrt(REGRET_DRAWS)
    resolved = 1e-4  # by the grid, where the minimum is known better than its spacing, and by the jitter of the draws
    assert abs(study.expected_regret() - dense) < error + resolved
    # The function itself, often enough for an error of a fifth of that; the same scale, the same weights.
    often = [expected_regret(surrogate, recommended[0], places, np.random.default_rng(i)) for i in range(25)]
    assert abs(np.mean(often) - dense) < 0.2 * error + resolved
    assert study.expected_regret() == study.expected_regret()


def test_expected_regret_falls_as_more_is_known_and_needs_something_to_be_known():
    study = study_of()
    with pytest.raises(ft.NothingToReport):
        study.expected_regret()
    found = []
    for count in (5, 20):
        while len(study.trials) < count:
            trial = study.ask()
            study.tell(trial, truth(**trial.params), cost=1.0)
        found.append(study.expected_regret())
    assert 0.0 <= found[1] < 0.2 * found[0]


def test_expected_regret_is_in_the_users_units():
    """The same values a thousand times as large: a thousand times the regret."""
    found = []
    for factor in (1.0, 1000.0):
        study = study_of(method="ei")
        for x, y in np.random.default_rng(0).random((8, 2)):
            study.add({"x": float(x), "y": float(y)}, factor * truth(x, y))
        found.append(study.expected_regret())
    assert found[1] == pytest.approx(1000.0 * found[0], rel=1e-3)


# Evaluations, budget, and what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [{}, {"target": -100.0}, {"regret": 1e-12}], ids=["alone", "target", "regret"])
def test_evaluations_and_budget_end_a_run_that_no_rule_has_ended(rules):
    study = study_of(method="ei")
    result = study.run(plain, evaluations=7, **rules)
    assert (result.message, len(study.trials)) == ("all evaluations done", 7)
    study = study_of(method="ei")
    result = study.run(plain, budget=7.5, **rules)
    assert result.message == "budget spent"
    assert 6.0 <= result.cost <= 7.5
    study = study_of(method="ei")
    result = study.run(plain, budget=100.0, evaluations=6, **rules)
    assert (result.message, len(study.trials)) == ("all evaluations done", 6)


@pytest.mark.parametrize("rule", [{"target": BEST + 0.05}, {"regret": 0.05}], ids=["target", "regret"])
def test_a_rule_alone_is_limit_enough(rule):
    result = study_of(seed=2).run(plain, **rule)
    assert result.message.startswith(("target reached", "expected regret below"))


def test_without_any_limit_a_run_is_refused_and_told_which_there_are():
    with pytest.raises(ft.SettingsError, match=r"pass budget=.* evaluations=50, .*a target or regret"):
        study_of().run(plain)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.1", True, [0.1], 10**400], ids=lambda v: str(v)[:10])
@pytest.mark.parametrize("rule", ["target", "regret"])
def test_a_rule_that_is_no_finite_number_is_refused_by_name_before_anything_is_evaluated(rule, value):
    study = study_of()
    with pytest.raises(ft.SettingsError, match=rf"{rule} is .*; give a finite number"):
        study.run(plain, evaluations=5, **{rule: value})
    assert study.trials == ()


@pytest.mark.parametrize("regret", [0.0, -0.1])
def test_a_regret_that_is_not_above_zero_is_refused(regret):
    with pytest.raises(ft.SettingsError, match=r"regret is .*; give a finite number above zero, or None"):
        study_of().run(plain, evaluations=5, regret=regret)


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(1), 0, -3.5])
def test_a_target_may_be_any_number(number):
    study = study_of(method="random")
    result = study.run(lambda x, y: ft.Evaluation(-4.0, cost=1.0), evaluations=3, target=number)
    assert result.message == "target reached by trial 0"


def test_minimize_takes_the_same_rules():
    result = ft.minimize(plain, SPACE, evaluations=40, target=BEST + 0.05, seed=0, settings=SMALL, progress=False)
    assert result.message.startswith("target reached")
    result = ft.minimize(plain, SPACE, evaluations=40, regret=0.1, seed=0, settings=SMALL, progress=False)
    assert result.message == "expected regret below 0.1"


# Failures ------------------------------------------------------------------------------------------------------------------------


class Failing:
    """Fails at the calls with these numbers, from 0."""

    def __init__(self, *numbers):
        self.numbers, self.calls = numbers, 0

    def __call__(self, x, y):
        self.calls += 1
        if self.calls - 1 in self.numbers:
            raise ArithmeticError(f"call {self.calls - 1}")
        return plain(x, y)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_so_many_failures_in_a_row_end_a_run_and_one_fewer_do_not(most):
    study, objective = study_of(method="ei"), Failing(*range(2, 2 + most))
    with pytest.raises(ft.ObjectiveFailed, match=rf"(?s)the objective failed {most} times in a row.*ArithmeticError: call"):
        study.run(objective, evaluations=12, max_failures=most)
    assert objective.calls == 2 + most
    assert [t.state for t in study.trials] == ["complete"] * 2 + ["failed"] * most
    study = study_of(method="ei")
    result = study.run(Failing(*range(2, 2 + most)), evaluations=10, max_failures=most + 1)
    assert result.failures == most
    assert len(study.trials) == 10


def test_a_success_between_them_starts_the_count_anew():
    study = study_of(method="random")
    result = study.run(Failing(0, 1, 3, 4, 6, 7), evaluations=9, max_failures=3)
    assert result.failures == 6
    assert result.message == "all evaluations done"


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "5", None], ids=str)
def test_a_number_of_failures_that_cannot_be_is_refused(value):
    with pytest.raises(ft.SettingsError, match=r"max_failures is .*; give a whole number from 1 up"):
        study_of().run(plain, evaluations=3, max_failures=value)


def test_a_run_whose_confirmation_failed_ends_with_a_place_that_was_tried():
    for seed in range(3):
        study = study_of(seed=seed, method="ei")
        result = study.run(Failing(9), evaluations=10)
        last = study.trials[-1]
        assert (last.proposal.kind, last.state) == ("confirmation", "failed")
        assert any(t.params == result.x and t.state == "complete" for t in study.trials)


# Budgets that are small ----------------------------------------------------------------------------------------------------


def minutes(cells):
    """What an evaluation costs: an hour at full fidelity, two minutes at 3,162 cells, four seconds at a hundred."""
    return 60.0 * cells / 1e5


def rows(x, y, cells):
    return ft.Evaluation(truth(x, y) + 1.0 / cells, cost=minutes(cells))


HOURS = ft.Fidelity("cells", cheap=100, full=100_000, log=True)


def test_a_budget_below_the_price_of_a_full_evaluation_is_spent_on_cheap_ones():
    study = study_of(HOURS, settings=ft.Settings(draws=3, support_points=60, starts=3, overhead_price=0.0))
    result = study.run(rows, budget=45.0, evaluations=80)
    assert study.remaining < 5.0
    assert not any(t.fidelity == 100_000 for t in study.trials)
    assert truth(**result.x) < BEST + 0.05


@pytest.mark.parametrize("budget", [95.0, 125.0])
def test_a_design_point_that_is_too_dear_does_not_end_the_run(budget):
    """The tenth is at full fidelity, and beside the confirmation there is not enough for it."""
    study = study_of(HOURS, settings=ft.Settings(draws=3, support_points=60, starts=3, overhead_price=0.0))
    result = study.run(rows, budget=budget, evaluations=30)
    assert len(study.trials) > 12
    assert study.trials[-1].proposal.kind == "confirmation"
    assert result.cost <= 1.1 * budget


def test_a_run_with_results_of_unknown_cost_begins():
    """What an evaluation costs is not known at all; the prior's guess of it is above the budget."""
    study = study_of(LEVELS)
    for x in (0.2, 0.5, 0.8):
        study.add({"x": x, "y": x}, truth(x, x))
    study.run(lambda x, y, cells: ft.Evaluation(truth(x, y), cost=0.1 * cells / 64), budget=1.0)
    assert len(study.trials) > 8


# Several results at once ---------------------------------------------------------------------------------------------------


class AtOnce:
    """Workers whose evaluations all end together: by odd numbers a failure, by even ones a value."""

    def __init__(self, slots):
        self.slots, self.started = slots, []

    def start(self, number, kwargs):
        self.started.append(number)

    def wait(self, seconds):
        finished, self.started = self.started, []
        broken = Outcome(1.0, reason="broken")
        return [(n, broken if n % 2 == 0 else Outcome(1.0, ft.Evaluation(1.0))) for n in finished]

    def stop(self):
        pass


class Kept:
    """Steps that keep what they are told."""

    def __init__(self):
        self.begun, self.taken, self.abandoned = 0, [], []

    def begin(self, last, alone):
        self.begun += 1
        return ft.Trial(self.begun - 1, {}, None, Proposal("initial"))

    def take(self, trial, outcome):
        self.taken.append(trial.number)
        return trial

    def abandon(self, trial, reason):
        self.abandoned.append(trial.number)
        return trial

    def show(self, running):
        pass


def test_results_that_came_with_the_failure_that_ends_a_run_are_kept():
    steps = Kept()
    with pytest.raises(ft.ObjectiveFailed):
        Loop(steps, AtOnce(4), None, 1, None).run()
    assert (steps.taken, steps.abandoned) == ([0, 1, 2, 3], [])


def test_results_that_came_with_one_on_which_the_callback_raises_are_kept():
    def callback(trial):
        raise RuntimeError("mine")

    steps = Kept()
    with pytest.raises(RuntimeError, match="mine"):
        Loop(steps, AtOnce(4), None, 9, callback).run()
    assert (steps.taken, steps.abandoned) == ([0, 1, 2, 3], [])


# Failures everywhere -------------------------------------------------------------------------------------------------------


def test_a_place_that_has_failed_is_neither_confirmed_again_nor_recommended_while_there_is_another():
    """Cheap evaluations succeed, full ones never do."""

    def broken(kind, cells):
        if cells == 64:
            raise ArithmeticError("out of memory")
        return ft.Evaluation({"a": 1.0, "b": 2.0, "c": 3.0}[kind] + 1.0 / cells, cost=cells / 64)

    study = study_of(LEVELS, space={"kind": ft.Choice(["a", "b", "c"])})
    study.run(broken, evaluations=14, max_failures=20)
    full = [t.params["kind"] for t in study.trials if t.fidelity == 64]
    assert full
    assert len(set(full)) == len(full)
    if len(full) < 3:
        assert study.recommend().params["kind"] not in full
