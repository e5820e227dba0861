"""A study as its user meets it: ask and tell in any order, the clock and the budget, the loop and how it ends."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from filled import filled

import farthing as ft
from farthing.trials import ABANDONED, COMPLETE, FAILED, PENDING

METHODS = ("envpes", "pes", "fabolas", "es", "ei", "pi", "lcb", "random")
CHOOSING = ("envpes", "fabolas")
"""Those that choose the fidelity."""

SMALL = ft.Settings(draws=2, support_points=40, starts=3, initial=3, overhead_price=0.0)
AXES = {"x": ft.Real(-1.0, 2.0), "y": ft.Real(1e-3, 10.0, log=True)}
ROWS = ft.Fidelity("rows", cheap=1, full=100, log=True)


class FakeClock:
    """Seconds that pass only when the clock is read (`tick` each time), or when the test says so."""

    def __init__(self, tick=0.0):
        self.now, self.tick = 0.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


def new_study(method="envpes", fidelity=ROWS, axes=AXES, **options):
    return ft.Study(axes, **{"method": method, "fidelity": fidelity, "seed": 3, "settings": SMALL, "clock": FakeClock(), **options})


def cost_of(rows):
    return 1.0 + 0.09 * rows


def bowl(x, y=1.0, rows=100.0):
    """Lowest at x = 0.4, y = 0.1; a fidelity below full adds to it, and costs less: 10 at full fidelity, 1.09 at the cheapest."""
    value = (x - 0.4) ** 2 + 0.1 * math.log(10.0 * y) ** 2 + 0.02 * math.log(100.0 / rows)
    return ft.Evaluation(value, cost=cost_of(rows))


def tell_bowl(study, trial):
    return study.tell(trial, bowl(**trial.kwargs))


def unit_points(study, trials):
    return np.column_stack(
        [study.space.unit_points([t.params for t in trials]), study.space.unit_fidelities([t.fidelity for t in trials])]
    )


def closest_pair(points):
    distances = np.abs(points[:, None] - points[None]).max(axis=2)
    return float(distances[~np.eye(len(points), dtype=bool)].min())


# Ask and tell --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", [None, ROWS], ids=["full", "rows"])
@pytest.mark.parametrize("method", METHODS)
def test_several_may_be_pending_and_none_is_proposed_twice(method, fidelity):
    study = new_study(method, fidelity)
    waiting = [study.ask() for _ in range(4)]  # the initial design, and one more before anything is known
    for told in (2, 0, 1):
        tell_bowl(study, waiting[told])
    waiting = [waiting[3]] + [study.ask() for _ in range(3)]
    tell_bowl(study, waiting[2])
    study.ask()
    assert [t.number for t in study.trials] == list(range(8))
    assert [t.state for t in study.trials] == [COMPLETE] * 3 + [PENDING] * 2 + [COMPLETE] + [PENDING] * 2
    assert closest_pair(unit_points(study, study.trials)) > 1e-6


def test_results_count_in_the_order_in_which_they_were_told():
    study = new_study()
    trials = [study.ask() for _ in range(3)]
    for number, value in ((1, 10.0), (2, 20.0), (0, 30.0)):
        study.tell(trials[number], value, cost=1.0)
    assert [t.order for t in study.trials] == [2, 0, 1]
    np.testing.assert_array_equal(study.history.values, [10.0, 20.0, 30.0])
    np.testing.assert_array_equal(study.history.points, unit_points(study, [trials[1], trials[2], trials[0]]))


def test_a_trial_may_be_told_by_its_number():
    study = new_study()
    trial = study.ask()
    assert study.tell(trial.number, 1.0, cost=1.0).state == COMPLETE


def test_a_trial_calls_the_objective_with_its_own_names():
    trial = new_study().ask()
    assert trial.kwargs == {**trial.params, "rows": trial.fidelity}
    trial = new_study(fidelity=None).ask()
    assert trial.kwargs == trial.params
    assert trial.fidelity is None


@pytest.mark.parametrize("fidelity", [None, ROWS], ids=["full", "rows"])
def test_what_a_user_does_to_the_arguments_does_not_reach_the_record(fidelity):
    study = new_study(fidelity=fidelity)
    trial = study.ask()
    before = dict(trial.params)
    arguments = trial.kwargs
    arguments["x"] = 99.0
    arguments["device"] = "cuda"
    assert study.trials[0].params == before


@pytest.mark.parametrize("method", METHODS)
def test_points_never_asked_for_inform_the_search_and_cost_nothing(method):
    study = new_study(method, budget=50.0)
    best = {"x": 0.4, "y": 0.1}
    for x, y in ((-0.8, 0.01), (1.7, 5.0), (0.1, 0.3)):
        study.add({"x": x, "y": y}, bowl(x, y).value, cost=7.0)
    added = study.add(best, bowl(**best).value)
    assert (added.state, added.proposal.kind, added.fidelity, added.cost) == (COMPLETE, "added", 100.0, None)
    assert study.history.spent == 0.0
    assert study.remaining == 50.0
    assert study.ask().proposal.kind == "acquisition"  # a warm start needs no initial design
    assert study.recommend().mean <= bowl(**best).value + 0.1


def test_without_a_warm_start_the_initial_design_comes_first():
    study = new_study()
    kinds = []
    for _ in range(5):
        trial = study.ask()
        kinds.append(trial.proposal.kind)
        tell_bowl(study, trial)
    assert kinds == ["initial"] * 3 + ["acquisition"] * 2


@pytest.mark.parametrize("method", METHODS)
def test_failed_points_are_not_proposed_again(method):
    study = new_study(method)
    for step in range(8):
        trial = study.ask()
        if step in (1, 4, 5, 6):
            failed = study.fail(trial, f"no luck at step {step}", cost=0.5)
            assert (failed.state, failed.reason, failed.cost, failed.value) == (FAILED, f"no luck at step {step}", 0.5, None)
        else:
            tell_bowl(study, trial)
    assert closest_pair(unit_points(study, study.trials)) > 1e-6
    assert len(study.history) == 4


# The clock -----------------------------------------------------------------------------------------------------------------------


def overhead_of_second(between, tick=1.0):
    """The overhead of the second trial after `between(study, first trial)`."""
    study = new_study(clock=FakeClock(tick))
    between(study, study.ask())
    return study.ask().overhead


def test_overhead_counts_the_time_in_ask_tell_and_recommend():
    def tell(study, trial):
        study.tell(trial, 1.0, cost=1.0)

    def tell_and_recommend(study, trial):
        study.tell(trial, 1.0, cost=1.0)
        study.recommend()

    def fail(study, trial):
        study.fail(trial, "no luck", cost=1.0)

    def add(study, trial):
        study.add(trial.params, 1.0)

    asking = overhead_of_second(lambda study, trial: None)
    assert asking >= 1.0
    for more in (tell, fail, add):
        assert overhead_of_second(more) >= asking + 1.0
    assert overhead_of_second(tell_and_recommend) >= overhead_of_second(tell) + 1.0
    assert overhead_of_second(tell, tick=0.5) == 0.5 * overhead_of_second(tell)


def test_overhead_leaves_out_the_users_time():
    def evaluate_for(seconds):
        def evaluate(study, trial):
            study._clock.now += seconds
            study.tell(trial, 1.0, cost=1.0)
            study._clock.now += seconds

        return evaluate

    assert overhead_of_second(evaluate_for(1024.0)) == overhead_of_second(evaluate_for(0.0))


def test_all_time_is_either_the_users_or_overhead():
    clock = FakeClock(tick=0.25)
    study = new_study(clock=clock)
    users = 0.0
    for _ in range(6):
        trial = study.ask()
        clock.now += 64.0
        users += 64.0
        study.tell(trial, 1.0, cost=1.0)
        study.recommend()
    study.ask()
    unaccounted = clock.now - users - study.history.overhead_seconds
    # Between two calls the clock is read twice for nothing; the last call may not have been charged to a trial yet.
    assert 0.0 <= unaccounted <= 0.25 * (3 * 19)
    assert study.history.overhead_seconds > 0.25 * 18


def test_cost_defaults_to_the_seconds_since_the_trial_was_asked_for():
    study = new_study(clock=FakeClock())
    first, second = study.ask(), study.ask()
    study._clock.now += 3.5
    told = study.tell(second, 1.0)
    study._clock.now += 2.0
    failed = study.fail(first, "no luck")
    assert (told.cost, failed.cost) == (3.5, 5.5)
    assert not told.stated_cost


def test_a_run_times_its_objective():
    clock = FakeClock()

    def objective(x, y, rows):
        clock.now += 2.5
        if len(calls) == 1:
            calls.append(None)
            raise OSError("no luck")
        calls.append(None)
        return x

    calls = []
    result = new_study(clock=clock).run(objective, evaluations=4)
    assert [t.cost for t in result.study.trials] == [2.5] * 4
    assert result.cost == 10.0
    assert result.overhead == 0.0


def test_a_clock_that_goes_back_makes_no_negative_cost():
    study = new_study(clock=FakeClock())
    trial = study.ask()
    study._clock.now -= 5.0
    assert study.tell(trial, 1.0).cost == 0.0
    assert study.ask().overhead >= 0.0


UNPRICED = replace(SMALL, overhead_price=None)


def test_stated_costs_without_a_price_of_overhead_warn_and_leave_overhead_out():
    study = new_study(settings=UNPRICED, budget=100.0, clock=FakeClock(tick=1.0))
    trial = study.ask()
    assert study.remaining == 100.0 - trial.overhead  # costs are seconds until one is stated
    with pytest.warns(UserWarning, match=r"leaves it out; set Settings\(overhead_price=\.\.\.\)"):
        study.tell(trial, 1.0, cost=4.0)
    assert study.history.overhead_seconds > 0.0
    assert study.remaining == 96.0


def test_a_run_warns_of_stated_costs_too():
    study = new_study(settings=UNPRICED)
    with pytest.warns(UserWarning, match="overhead_price"):
        study.run(bowl, evaluations=2)


@pytest.mark.parametrize("price", [0.0, 1.0, 8.0])
def test_a_stated_price_of_overhead_counts_and_does_not_warn(price):
    study = new_study(settings=replace(SMALL, overhead_price=price), budget=100.0, clock=FakeClock(tick=0.25))
    study.tell(study.ask(), 1.0, cost=4.0)
    study.tell(study.ask(), 1.0, cost=4.0)
    assert study.history.overhead_seconds > 0.0
    assert study.remaining == 100.0 - 8.0 - price * study.history.overhead_seconds


def test_measured_costs_and_overhead_are_both_seconds():
    clock = FakeClock(tick=0.25)
    study = new_study(settings=UNPRICED, budget=100.0, clock=clock)
    trial = study.ask()
    clock.now += 4.0
    told = study.tell(trial, 1.0)
    assert 4.0 < told.cost <= 5.0  # and a few readings of the clock
    assert study.remaining == 100.0 - told.cost - trial.overhead


def test_what_pending_trials_will_cost_is_set_aside():
    study = new_study(budget=100.0)
    for _ in range(4):
        tell_bowl(study, study.ask())
    before = study.remaining
    trial = study.ask()
    assert trial.proposal.predicted_cost > 0.0
    assert study.remaining == pytest.approx(before - trial.proposal.predicted_cost, rel=1e-12)


# Budgets -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "amount"),
    [
        (None, None),
        (3, 3.0),
        (2.5, 2.5),
        ("500 ms", 0.5),
        ("90 s", 90.0),
        ("90s", 90.0),
        (" 90  s ", 90.0),
        ("90 sec", 90.0),
        ("30 min", 1800.0),
        ("1.5 h", 5400.0),
        ("8 h", 28800.0),
        ("2 d", 172800.0),
        ("1e2 s", 100.0),
    ],
)
def test_budgets_may_be_numbers_or_times(budget, amount):
    assert new_study(budget=budget).budget == amount


@pytest.mark.parametrize(
    ("method", "fidelity", "budget"),
    [(m, f, 35.0) for m in METHODS for f in (None, ROWS)] + [("envpes", ROWS, 50.0), ("pes", None, 71.0), ("random", None, 60.0)],
    ids=lambda v: str(v) if isinstance(v, str | float) else "rows" if v else "full",
)
def test_a_run_stays_within_its_budget_and_ends_with_a_confirmation(method, fidelity, budget):
    study = new_study(method, fidelity, {"x": ft.Real(-1.0, 2.0)}, budget=budget, settings=replace(SMALL, draws=1))
    result = study.run(bowl)
    assert result.message == "budget spent"
    assert result.cost <= 1.01 * budget  # costs are foretold to a percent or so after these few
    assert result.cost == pytest.approx(sum(t.cost for t in study.trials))
    tried = [t for t in study.trials if t.fidelity in (None, 100.0)]
    assert result.x in [t.params for t in tried] or any(result.x == pytest.approx(t.params, rel=1e-6) for t in tried)
    last, kinds = study.trials[-1], [t.proposal.kind for t in study.trials]
    if "confirmation" in kinds:
        assert kinds.index("confirmation") == len(kinds) - 1
        assert last.fidelity == (100.0 if fidelity else None)
        assert last.params == pytest.approx(last.proposal.recommendation.params, rel=1e-9)
        # What is left could not have paid for one more.
        assert budget - result.cost < (10.0 if fidelity is None or method not in CHOOSING else 3.0)
    else:  # because the recommendation has been evaluated at full fidelity already
        assert budget - result.cost < 20.0


def test_overhead_at_its_price_stays_within_the_budget_too():
    """Each step takes the same time to think, so what is kept back for the confirmation can include its overhead."""
    for budget in (30.0, 40.0):
        study = new_study(
            axes={"x": ft.Real(-1.0, 2.0)}, budget=budget, clock=FakeClock(0.25), settings=replace(SMALL, overhead_price=1.0)
        )
        result = study.run(bowl)
        step = study.trials[-2].overhead
        assert step > 0.0
        assert study.trials[-1].proposal.kind == "confirmation"
        assert result.cost + result.overhead <= budget + 0.5 * step


def test_budget_is_kept_back_for_the_confirmation():
    """Cheap evaluations alone would use the budget up: a run that kept nothing back could not afford full fidelity at the end."""
    study = new_study(axes={"x": ft.Real(-1.0, 2.0)}, budget=25.0, settings=replace(SMALL, draws=1))
    study.run(bowl)
    before_last = 25.0 - sum(t.cost for t in study.trials[:-1])
    assert before_last >= 10.0
    assert study.trials[-1].cost == 10.0


@pytest.mark.parametrize("limit", [{"budget": 35.0}, {"evaluations": 7}], ids=["budget", "evaluations"])
def test_the_confirmation_can_be_turned_off(limit):
    study = new_study(axes={"x": ft.Real(-1.0, 2.0)}, settings=replace(SMALL, draws=1, confirm=False))
    result = study.run(bowl, **limit)
    assert "confirmation" not in {t.proposal.kind for t in study.trials}
    assert result.message == ("budget spent" if "budget" in limit else "all evaluations done")
    assert result.cost <= 35.0
    assert "evaluations" not in limit or result.nfev == 7


def misleading(x, rows):
    """At full fidelity lowest at x = 0.2, where it is -1; cheap evaluations promise -3 at x = 0.8, where the truth is 0."""
    cheapness = math.log(100.0 / rows) / math.log(100.0)
    value = -math.exp(-(((x - 0.2) / 0.1) ** 2)) - 3.0 * math.sqrt(cheapness) * math.exp(-(((x - 0.8) / 0.1) ** 2))
    return ft.Evaluation(value, cost=cost_of(rows))


@pytest.mark.parametrize("seed", [1, 6])  # with 6 the confirmation is of the place that cheap evaluations promised
def test_after_the_confirmation_the_recommendation_is_no_worse_than_the_best_point_tried(seed):
    study = new_study(axes={"x": ft.Real(0.0, 1.0)}, budget=28.0, seed=seed, settings=replace(SMALL, draws=1))
    study.add({"x": 0.2}, misleading(0.2, 100.0).value)
    result = study.run(misleading)
    assert study.trials[-1].proposal.kind == "confirmation"
    tried = [t for t in study.trials if t.fidelity == 100.0]
    assert result.x in [t.params for t in tried]
    surrogate = study._thinking._beliefs["normal"].surrogate
    means, _ = surrogate.mixture(study.space.unit_points([t.params for t in tried]))
    scale = surrogate.standardization
    assert result.fun <= means.min() * scale.scale + scale.location + 1e-12
    # The data are free of noise and the surrogate infers as much: by value it is no worse either.
    assert misleading(result.x["x"], 100.0).value <= min(t.value for t in tried) + 0.05


# The loop ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", [None, ROWS], ids=["full", "rows"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_through_the_same_loop(method, fidelity):
    calls = []

    def objective(x, y, rows=100.0):
        calls.append({"x": x, "y": y} if fidelity is None else {"x": x, "y": y, "rows": rows})
        return bowl(x, y, rows)

    study = new_study(method, fidelity)
    result = study.run(objective, evaluations=8)
    assert result.message == "all evaluations done"
    assert [t.kwargs for t in study.trials] == calls
    assert [t.proposal.kind for t in study.trials] == ["initial"] * 3 + ["acquisition"] * 4 + ["confirmation"]
    assert (result.nfev, result.study, result.overhead) == (8, study, 0.0)
    assert result.cost == pytest.approx(sum(t.cost for t in study.trials))
    assert set(result.x) == {"x", "y"}
    assert math.isfinite(result.fun)
    assert result.fun_std >= 0.0
    again = study.recommend()
    assert (again.params, again.mean, again.std) == (result.x, result.fun, result.fun_std)
    if method not in CHOOSING:
        assert {t.fidelity for t in study.trials} == {100.0 if fidelity else None}


@pytest.mark.parametrize("method", ["envpes", "pes"])
@pytest.mark.parametrize(("cheap", "full"), [(0.0105, 1.05), (91.7, 0.917)])
def test_full_fidelity_is_known_as_such_whatever_its_logarithm_rounds_to(method, cheap, full):
    """np.log and math.log of these differ in the last bit."""
    study = new_study(method, ft.Fidelity("share", cheap=cheap, full=full, log=True), {"x": ft.Real(0.0, 1.0)})
    result = study.run(lambda x, share: ft.Evaluation((x - 0.3) ** 2, cost=1.0), evaluations=6)
    assert study.trials[-1].fidelity == full
    assert result.nfev == 6
    assert study.history.with_fidelity == (method == "envpes")


@pytest.mark.parametrize("evaluations", [1, 2, 5, 9])
@pytest.mark.parametrize("shape", ["bowl", "slope", "flat"])
@pytest.mark.parametrize("method", ["envpes", "ei"])
def test_a_number_of_evaluations_is_kept_exactly(method, shape, evaluations):
    """Also where the recommendation lies on a face or among ties, and may have been evaluated already."""
    calls = []

    def objective(x):
        calls.append(x)
        return {"bowl": (x - 0.3) ** 2, "slope": x, "flat": 1.0}[shape]

    study = new_study(method, None, {"x": ft.Real(0.0, 1.0)}, settings=replace(SMALL, draws=1))
    result = study.run(objective, evaluations=evaluations)
    assert (len(calls), len(study.trials), result.nfev) == (evaluations,) * 3
    assert result.message == "all evaluations done"


def test_evaluations_count_from_where_a_run_begins_and_failures_count_too():
    calls = []

    def objective(x, y, rows):
        calls.append(x)
        if len(calls) == 2:
            raise OSError("no luck")
        return x * x

    study = new_study()
    assert study.run(objective, evaluations=4).nfev == 3
    assert study.run(objective, evaluations=3).nfev == 6
    assert len(calls) == 7


def test_the_message_says_which_limit_ended_the_run():
    result = new_study(budget=1e6).run(bowl, evaluations=5)
    assert result.message == "all evaluations done"
    result = new_study(axes={"x": ft.Real(0.0, 1.0)}, budget=15.0).run(bowl, evaluations=1000)
    assert result.message == "budget spent"


def test_a_later_run_goes_on_with_a_larger_budget():
    study = new_study(axes={"x": ft.Real(-1.0, 2.0)}, budget=20.0, settings=replace(SMALL, draws=1))
    first = study.run(bowl)
    again = study.run(bowl)
    assert again.nfev == first.nfev  # nothing is left, and nothing is done
    second = study.run(bowl, budget=40.0)
    assert second.nfev > first.nfev
    assert 20.0 < second.cost <= 40.0


def test_a_callback_sees_every_trial_and_may_end_the_run():
    seen = []

    def callback(study, trial):
        assert study.trials[trial.number] == trial
        seen.append((trial.number, trial.state))
        return len(seen) == 4

    def objective(x, y, rows):
        if len(seen) == 1:
            raise OSError("no luck")
        return x

    result = new_study().run(objective, evaluations=20, callback=callback)
    assert seen == [(0, COMPLETE), (1, FAILED), (2, COMPLETE), (3, COMPLETE)]
    assert result.message == "ended by the callback"
    assert result.nfev == 3


def test_a_callback_that_returns_nothing_ends_nothing():
    assert new_study().run(bowl, evaluations=4, callback=lambda study, trial: None).nfev == 4


def interrupting(at):
    """An objective during whose call number `at` the user presses Ctrl-C."""
    calls = []

    def objective(x, y, rows):
        calls.append(x)
        if len(calls) == at:
            raise KeyboardInterrupt
        return bowl(x, y, rows)

    return objective


def test_ctrl_c_abandons_the_trial_and_returns_what_is_known():
    study = new_study()
    result = study.run(interrupting(at=5), evaluations=10)
    assert [t.state for t in study.trials] == [COMPLETE] * 4 + [ABANDONED]
    assert result.message == "stopped by the keyboard; to go on, call result.study.run(...) again"
    assert result.nfev == 4
    assert (study.trials[4].value, study.trials[4].reason) == (None, "interrupted")
    on = study.run(bowl, evaluations=3)
    assert on.nfev == 7
    assert [t.state for t in study.trials] == [COMPLETE] * 4 + [ABANDONED] + [COMPLETE] * 3


def test_ctrl_c_before_anything_is_known_is_passed_on_and_a_later_run_goes_on():
    study = new_study()
    with pytest.raises(KeyboardInterrupt):
        study.run(interrupting(at=1), evaluations=10)
    assert [t.state for t in study.trials] == [ABANDONED]
    assert study.run(bowl, evaluations=3).nfev == 3


def test_an_abandoned_trial_is_neither_pending_nor_charged():
    study = new_study(budget=100.0)
    study.run(interrupting(at=5), evaluations=10)
    assert study.remaining == pytest.approx(100.0 - sum(t.cost for t in study.trials[:4]))
    # A result that comes after all is a result.
    assert study.tell(4, 1.0, cost=1.0).state == COMPLETE
    with pytest.raises(ft.TrialError, match="trial 4 is complete already"):
        study.tell(4, 1.0, cost=1.0)


# The record ----------------------------------------------------------------------------------------------------------------------


def test_trials_come_back_from_json_exactly():
    rows = ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True)
    study = new_study(fidelity=rows)
    calls = []

    def objective(x, y, rows):
        calls.append(x)
        if len(calls) == 2:
            raise ValueError("schiefgegangen: “ü” \n zweite Zeile")
        if len(calls) == 7:
            raise KeyboardInterrupt
        return ft.Evaluation([1e300, 0.1 + 0.2, -0.0, 5e-324, math.pi][len(calls) % 5], cost=1 / 3, noise=1e-17)

    study.run(objective, evaluations=10)
    study.ask()
    study.add({"x": 0.1 + 0.2, "y": 1 / 3}, 2 / 3, fidelity=77)
    states = {t.state for t in study.trials}
    assert states == {COMPLETE, FAILED, ABANDONED, PENDING}
    back = [ft.Trial.from_json(t.to_json()) for t in study.trials]
    assert tuple(back) == study.trials
    assert [repr(t) for t in back] == [repr(t) for t in study.trials]  # -0.0 is not 0.0, and 77 is not 77.0
    rebuilt = filled(new_study(fidelity=rows), back)
    np.testing.assert_array_equal(rebuilt.history.points, study.history.points)
    np.testing.assert_array_equal(rebuilt.history.values, study.history.values)


def test_a_seed_is_chosen_and_kept_where_none_is_given():
    first, second = new_study(seed=None), new_study(seed=None)
    assert first.seed != second.seed
    again = new_study(seed=first.seed)
    assert again.ask().params == first.ask().params


# From end to end -----------------------------------------------------------------------------------------------------------------


def test_minimize_finds_the_minimum_of_a_parabola_by_evaluations_mostly_below_full_fidelity():
    seen = []

    def objective(x, rows):
        seen.append(rows)
        return bowl(x, 0.1, rows)

    result = ft.minimize(
        objective,
        {"x": ft.Real(-1.0, 2.0)},
        fidelity=ROWS,
        budget=60.0,
        seed=5,
        settings=ft.Settings(draws=4, support_points=100, initial=6, overhead_price=0.0),
    )
    assert result.x["x"] == pytest.approx(0.4, abs=0.02)
    assert result.fun == pytest.approx(0.0, abs=5e-3)
    assert result.cost <= 60.0
    assert isinstance(result.study, ft.Study)
    assert result.nfev == len(seen) > 6  # six of full fidelity would be all that 60 buys
    assert sum(rows < 50.0 for rows in seen) > len(seen) / 2


def test_evaluations_become_better_informed():
    """The recommendation of later trials has a lower expected value, or a smaller uncertainty, than the first one."""
    study = new_study(axes={"x": ft.Real(-1.0, 2.0)}, settings=replace(SMALL, draws=4))
    study.run(bowl, evaluations=14)
    stds = [t.proposal.recommendation.std for t in study.trials if t.proposal.recommendation is not None]
    assert stds[-1] < 0.5 * stds[0]
    assert all(b.number == a.number + 1 for a, b in pairwise(study.trials))
