"""Bad values, bad settings and bad luck: each ends in a FarthingError that names the culprit, or in a finite proposal in the box.

pyproject turns every warning into an error, so a NumPy warning anywhere fails these tests too.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from filled import filled

import farthing as ft
from farthing.trials import COMPLETE, FAILED, PENDING

SMALL = ft.Settings(draws=2, support_points=40, starts=2, initial=3, overhead_price=1.0)
NO_CONFIRMATION = replace(SMALL, confirm=False)
AXES = {"x": ft.Real(-1.0, 2.0), "y": ft.Real(1e-3, 10.0, log=True)}
ROWS = ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True)

METHODS = ("envpes", "pes", "fabolas", "es", "ei", "pi", "lcb", "random")
everywhere = pytest.mark.parametrize(
    ("method", "fidelity"),
    [(method, fidelity) for method in METHODS for fidelity in (None, ROWS)],
    ids=lambda v: v if isinstance(v, str) else "rows" if v else "full",
)
each_kind = pytest.mark.parametrize(
    ("method", "fidelity"),
    [("envpes", ROWS), ("pes", None), ("ei", ROWS), ("random", None)],
    ids=lambda v: v if isinstance(v, str) else "rows" if v else "full",
)


def new_study(method="envpes", fidelity=None, **options):
    """A study whose clock ticks evenly, so that what is proposed does not depend on the machine."""
    ticks = itertools.count()
    clock = lambda: 2.0**-10 * next(ticks)  # noqa: E731
    return ft.Study(AXES, **{"method": method, "fidelity": fidelity, "seed": 1, "settings": SMALL, "clock": clock, **options})


def asked(study):
    """The next trial, checked to lie in the box."""
    trial = study.ask()
    for name, axis in study.space.axes.items():
        assert math.isfinite(trial.params[name])
        assert axis.low <= trial.params[name] <= axis.high
    if study.space.fidelity is None:
        assert trial.fidelity is None
    else:
        low, high = sorted((study.space.fidelity.cheap, study.space.fidelity.full))
        assert low <= trial.fidelity <= high
    for number in (trial.proposal.predicted_cost, trial.proposal.information_gain, trial.proposal.information_rate):
        assert number is None or (math.isfinite(number) and number >= 0.0)
    return trial


def recommended(study):
    """The recommendation, checked to be finite and in the box."""
    best = study.recommend()
    assert math.isfinite(best.mean)
    assert math.isfinite(best.std)
    assert best.std >= 0.0
    for name, axis in study.space.axes.items():
        assert axis.low <= best.params[name] <= axis.high
    return best


def goes_on(study, value=0.5, cost=1.0):
    """Two different trials pending at once, one told, a recommendation, and one more trial: all finite and in the box."""
    first = asked(study)
    second = asked(study)
    assert (first.params, first.fidelity) != (second.params, second.fidelity)
    study.tell(first, value, cost=cost)
    recommended(study)
    asked(study)


def scattered(n, seed=0):
    """n places in the box."""
    rng = np.random.default_rng(seed)
    return [{"x": float(rng.uniform(-1.0, 2.0)), "y": float(10.0 ** rng.uniform(-3.0, 1.0))} for _ in range(n)]


# Values that are not numbers -----------------------------------------------------------------------------------------------------

NOT_VALUES = [math.nan, math.inf, -math.inf, "0.5", None, True, np.bool_(False), 1j, [1.0], np.array([1.0]), {}, 10**400, object()]


@pytest.mark.parametrize("value", NOT_VALUES, ids=lambda v: f"{type(v).__name__}-{str(v)[:6]}")
def test_a_value_that_is_no_finite_number_is_refused_and_leaves_the_trial_pending(value):
    study = new_study()
    trial = study.ask()
    with pytest.raises(ft.ValueRefused, match=r"the value is .*give a"):
        study.tell(trial, value, cost=1.0)
    with pytest.raises(ft.ValueRefused, match=r"the value is .*give a"):
        study.add(trial.params, value)
    assert [t.state for t in study.trials] == [PENDING]
    assert study.tell(trial, 1.0, cost=1.0).state == COMPLETE


@pytest.mark.parametrize("value", NOT_VALUES, ids=lambda v: f"{type(v).__name__}-{str(v)[:6]}")
def test_an_objective_that_returns_no_finite_number_has_failed_and_the_run_goes_on(value):
    results = iter([1.0, value, 0.5, 0.7])
    result = new_study("random", settings=NO_CONFIRMATION).run(lambda x, y: next(results), evaluations=4)
    states = [t.state for t in result.study.trials]
    assert states == [COMPLETE, FAILED, COMPLETE, COMPLETE]
    failed = result.study.trials[1]
    assert "the value is" in failed.reason
    assert failed.value is None
    assert failed.cost >= 0.0
    assert result.nfev == 3


@pytest.mark.parametrize(
    "value", [1, 1.0, np.float32(1.0), np.float64(1.0), np.int64(1), np.array(1.0)], ids=lambda v: type(v).__name__
)
def test_every_kind_of_number_is_taken(value):
    study = new_study()
    told = study.tell(study.ask(), value, cost=value, noise=value)
    assert (told.value, told.cost, told.noise) == (1.0, 1.0, 1.0)
    assert type(told.value) is type(told.cost) is type(told.noise) is float


@pytest.mark.parametrize("field", ["cost", "noise"])
@pytest.mark.parametrize("amount", [-1.0, -1e-300, math.nan, math.inf, "1", True, [1.0]], ids=str)
def test_a_cost_or_noise_that_cannot_be_is_refused_by_name(field, amount):
    study = new_study()
    trial = study.ask()
    with pytest.raises(ft.ValueRefused, match=rf"the {field} is .*give a"):
        study.tell(trial, 1.0, **{field: amount})
    with pytest.raises(ft.ValueRefused, match=rf"the {field} is .*give a"):
        study.add(trial.params, 1.0, **{field: amount})
    with pytest.raises(ft.ValueRefused, match=rf"the {field} is .*give a"):
        study.tell(trial, ft.Evaluation(1.0, **{field: amount}))
    assert [t.state for t in study.trials] == [PENDING]


def test_a_cost_that_cannot_be_makes_an_evaluation_failed_with_that_reason():
    returned = iter([ft.Evaluation(1.0, cost=1.0), ft.Evaluation(1.0, cost=-2.0), ft.Evaluation(1.0, cost=1.0)])
    result = new_study("random", settings=NO_CONFIRMATION).run(lambda x, y: next(returned), evaluations=3)
    assert [t.state for t in result.study.trials] == [COMPLETE, FAILED, COMPLETE]
    assert "the cost is -2.0" in result.study.trials[1].reason


def test_a_cost_given_beside_an_evaluation_is_not_dropped_in_silence():
    study = new_study()
    trial = study.ask()
    try:
        told = study.tell(trial, ft.Evaluation(1.0), cost=5.0, noise=0.25)
    except ft.FarthingError:
        return
    assert (told.cost, told.noise) == (5.0, 0.25)


# Values that are numbers, but awkward --------------------------------------------------------------------------------------------

AWKWARD = {
    "huge": [1e300, -1e300, 5e299, 1e300, -2e299],
    "huge among ordinary": [1.0, 2.0, 1e300, -1e300, 0.5],
    "tiny": [1e-300, 2e-300, 3e-300, -1e-300, 5e-300],
    "tiny, then huge": [1e-300, 2e-300, 3e-300, 1e300, 1e-300],
    "huge, then tiny": [1e300, -1e300, 1e300, 1e-300, 0.0],
    "the largest floats": [1.7e308, -1.7e308, 1.7e308, -1.7e308, 1.0],
    "constant": [3.0] * 5,
}
AWKWARD_TOO = {
    "the smallest floats": [5e-324, 0.0, 1e-323, 5e-324, 0.0],
    "all zero": [0.0] * 5,
    "constant and huge": [-1e300] * 5,
    "equal up to rounding": [1.0, 1.0 + 2.3e-16, 1.0 + 4.5e-16, 1.0, 1.0],
}


@everywhere
@pytest.mark.parametrize("values", AWKWARD.values(), ids=AWKWARD.keys())
def test_awkward_values_lead_to_proposals_in_the_box(values, method, fidelity):
    propose_after(values, method, fidelity)


@each_kind
@pytest.mark.parametrize("values", AWKWARD_TOO.values(), ids=AWKWARD_TOO.keys())
def test_more_awkward_values_lead_to_proposals_in_the_box(values, method, fidelity):
    propose_after(values, method, fidelity)


def propose_after(values, method, fidelity):
    study = new_study(method, fidelity)
    for params, value in zip(scattered(3), values[:3], strict=True):
        study.add(params, value)
    # The first proposal carries draws in the scale of the first values; the later values may change the scale by 1e600.
    study.tell(asked(study), values[3], cost=1.0)
    goes_on(study, values[4])


@pytest.mark.parametrize("noise", [0.0, 1e-300, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("method", ["envpes", "ei"])
def test_noise_of_any_size_beside_values_of_any_size(noise, scale, method):
    study = new_study(method, ROWS)
    for i, params in enumerate(scattered(4)):
        study.add(params, scale * i, noise=noise)
    goes_on(study, scale)


@pytest.mark.parametrize("name", ["noise", "tolerance"])
def test_a_setting_in_the_values_units_may_dwarf_the_values(name):
    study = new_study("envpes", ROWS, settings=replace(SMALL, **{name: 1e200}))
    for i, params in enumerate(scattered(3)):
        study.add(params, 1e-300 * i)
    goes_on(study, 1e-300)


# Too many, too close, too few ----------------------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("noise", [None, 0.0], ids=["noise inferred", "noise-free"])
def test_the_same_point_fifty_times_over(noise, method, fidelity):
    rng = np.random.default_rng(0)
    study = new_study(method, fidelity, settings=replace(SMALL, noise=noise))
    for _ in range(50):
        study.add({"x": 0.3, "y": 0.1}, 1.0 if noise == 0.0 else float(rng.normal()))
    goes_on(study)


def test_the_same_point_fifty_times_with_different_values_though_the_noise_is_said_to_be_zero():
    rng = np.random.default_rng(0)
    study = new_study("envpes", ROWS, settings=replace(SMALL, noise=0.0))
    for _ in range(50):
        study.add({"x": 0.3, "y": 0.1}, float(rng.normal()), noise=0.0)
    goes_on(study)


@everywhere
def test_points_1e_12_apart_with_different_values(method, fidelity):
    study = new_study(method, fidelity)
    for i in range(4):
        study.add({"x": 0.3 + 1e-12 * i, "y": 0.1 + 1e-12 * i}, float(i % 2))
    goes_on(study)


@everywhere
def test_one_observation_is_enough_to_go_on(method, fidelity):
    settings = ft.Settings(draws=1, minimizers=1, support_points=10, starts=1, initial=1, overhead_price=1.0)
    study = new_study(method, fidelity, settings=settings)
    study.tell(asked(study), 1.0, cost=1.0)
    goes_on(study)


@everywhere
def test_no_observation_gives_a_design_and_nothing_to_report(method, fidelity):
    study = new_study(method, fidelity)
    with pytest.raises(ft.NothingToReport, match="nothing was evaluated yet; tell"):
        study.recommend()
    # However many are pending or failed, there is still nothing to report.
    for number in range(4):
        trial = asked(study)
        assert trial.proposal.kind == "initial"
        if number % 2:
            study.fail(trial, "no luck")
    with pytest.raises(ft.NothingToReport):
        study.recommend()


@pytest.mark.parametrize("method", METHODS)
def test_fewer_observations_than_dimensions(method):
    axes = {f"x{i}": ft.Real(0.0, 1.0) for i in range(10)}
    study = ft.Study(axes, method=method, fidelity=ROWS, seed=1, settings=SMALL)
    for i in range(2):
        study.add(dict.fromkeys(axes, 0.2 + 0.5 * i), float(i))
    goes_on(study)


# Costs ---------------------------------------------------------------------------------------------------------------------------

COSTS = {
    "zero": [0.0] * 5,
    "zero among others": [0.0, 1.0, 0.0, 2.0, 0.0],
    "spanning 1e16": [1e-8, 1e-4, 1.0, 1e4, 1e8],
    "spanning 1e600": [1e300, 1e-300, 1.0, 0.0, 1e300],
    "the largest floats": [1.7e308, 1e307, 1.7e308, 1.7e308, 1e306],
    "the smallest floats": [5e-324, 0.0, 5e-324, 1e-323, 5e-324],
}


@each_kind
@pytest.mark.parametrize("budget", [None, 100.0])
@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS.keys())
def test_awkward_costs_lead_to_proposals_in_the_box(costs, budget, method, fidelity):
    study = new_study(method, fidelity, budget=budget)
    for i, (params, cost) in enumerate(zip(scattered(3), costs[:3], strict=True)):
        study.add(params, float(i), cost=cost)
    study.tell(asked(study), 1.0, cost=costs[3])
    goes_on(study, cost=costs[4])


# Budgets -------------------------------------------------------------------------------------------------------------------------


@each_kind
def test_a_budget_spent_already_ends_a_run_at_once(method, fidelity):
    study = new_study(method, fidelity, budget=5.0)
    for _ in range(2):
        study.tell(study.ask(), 1.0, cost=10.0)

    def never(**_):
        raise AssertionError("the objective was called")

    result = study.run(never)
    assert result.message == "budget spent"
    assert result.nfev == 2
    assert len(study.trials) == 2


def test_a_budget_spent_on_failures_alone_is_a_failure_that_names_the_last():
    study = new_study(budget=5.0)
    study.fail(study.ask(), "no luck", cost=10.0)
    with pytest.raises(ft.ObjectiveFailed, match=r"budget spent, and every evaluation failed, last at \{'x'.*no luck"):
        study.run(lambda x, y: 1.0)


@everywhere
def test_asking_goes_on_after_the_budget_is_spent(method, fidelity):
    study = new_study(method, fidelity, budget=5.0)
    for i in range(4):
        study.tell(asked(study), float(i), cost=3.0)
    assert study.remaining < 0.0
    asked(study)
    trial = asked(study)
    assert trial.proposal.kind == "acquisition"


@pytest.mark.parametrize(
    "budget",
    [
        0,
        -1,
        -1e-9,
        math.nan,
        math.inf,
        True,
        [5],
        10**400,
        "",
        "5",
        "soon",
        "0 s",
        "-5 s",
        "5 parsecs",
        "1.2.3 s",
        "nan s",
        "1e999 s",
    ],
    ids=lambda v: str(v)[:10],
)
def test_a_budget_that_cannot_be_is_refused(budget):
    with pytest.raises(ft.SettingsError, match=r"budget .*; give a"):
        new_study(budget=budget)
    with pytest.raises(ft.SettingsError, match=r"budget .*; give a"):
        new_study().run(lambda x, y: 1.0, budget=budget)


@pytest.mark.parametrize("budget", [np.int64(5), np.float32(5.0), np.float64(5.0)], ids=lambda v: type(v).__name__)
def test_a_budget_may_be_a_numpy_number(budget):
    assert new_study(budget=budget).budget == 5.0


# The space -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "complaint"),
    [
        (ft.Real(1.0, 1.0), "axis 'lr' runs from 1.0 to 1.0; give a lower bound below"),
        (ft.Real(2.0, 1.0), "axis 'lr' runs from 2.0 to 1.0; give a lower bound below"),
        (ft.Real(0.0, 1.0, log=True), "axis 'lr' is logarithmic but starts at 0.0; give a lower bound above zero or drop log=True"),
        (ft.Real(-1.0, 1.0, log=True), "axis 'lr' is logarithmic but starts at -1.0"),
        (ft.Real(math.nan, 1.0), "the lower bound of axis 'lr' is nan; give a finite number"),
        (ft.Real(0.0, math.nan), "the upper bound of axis 'lr' is nan; give a finite number"),
        (ft.Real(-math.inf, 1.0), "the lower bound of axis 'lr' is -inf; give a finite number"),
        (ft.Real(0.0, math.inf), "the upper bound of axis 'lr' is inf; give a finite number"),
        (ft.Real(0.0, 10**400), "the upper bound of axis 'lr' is 1000"),
        (ft.Real("0", 1.0), "the lower bound of axis 'lr' is '0'; give a number"),
        (ft.Real(0.0, None), "the upper bound of axis 'lr' is None; give a number"),
        (ft.Real(False, True), "the lower bound of axis 'lr' is False; give a number"),
        (ft.Real(-1e308, 1e308), "axis 'lr' from -1e+308 to 1e+308 cannot be resolved in floating point; rescale it"),
        (ft.Real(1.0, 1.0 + 1e-12), "axis 'lr' from 1.0 to 1.000000000001 cannot be resolved in floating point; rescale it"),
        ((0.0, 1.0), "axis 'lr' is (0.0, 1.0); give a farthing.Real(low, high)"),
    ],
    ids=lambda v: str(v)[:50],
)
def test_an_axis_that_cannot_be_is_refused_by_name(axis, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        ft.Study({"fine": ft.Real(0.0, 1.0), "lr": axis})
    assert complaint in str(refused.value)
    with pytest.raises(ft.SpaceError):
        ft.minimize(lambda fine, lr: 0.0, {"fine": ft.Real(0.0, 1.0), "lr": axis}, evaluations=3)


@pytest.mark.parametrize("space", [{}, [], None, "x", ft.Real(0.0, 1.0)], ids=str)
def test_a_space_that_is_no_dict_of_axes_is_refused(space):
    with pytest.raises(ft.SpaceError, match=r"the space is .*; give a dict of axes"):
        ft.Study(space)


@pytest.mark.parametrize("name", [1, "", None])
def test_an_axis_needs_a_name(name):
    with pytest.raises(ft.SpaceError, match="an axis is named"):
        ft.Study({name: ft.Real(0.0, 1.0)})


@pytest.mark.parametrize(
    ("fidelity", "complaint"),
    [
        (ft.Fidelity("n", 10, 10), "fidelity 'n' has cheap = full = 10.0; give two levels or leave the fidelity out"),
        (ft.Fidelity("n", 0, 10, log=True), "fidelity 'n' is logarithmic but reaches 0.0; keep both ends above zero"),
        (ft.Fidelity("n", 10, 0, log=True), "fidelity 'n' is logarithmic but reaches 0.0"),
        (ft.Fidelity("n", -1, 10, log=True), "fidelity 'n' is logarithmic but reaches -1.0"),
        (ft.Fidelity("n", 0.5, 10, integer=True), "fidelity 'n' is of whole numbers but runs from 0.5 to 10.0; round its ends"),
        (ft.Fidelity("n", 1, 10.5, integer=True), "fidelity 'n' is of whole numbers but runs from 1.0 to 10.5"),
        (ft.Fidelity("n", math.nan, 10), "cheap of 'n' is nan; give a finite number"),
        (ft.Fidelity("n", 1, math.inf), "full of 'n' is inf; give a finite number"),
        (ft.Fidelity("n", 1, 10**400), "full of 'n' is 1000"),
        (ft.Fidelity("n", "1", 10), "cheap of 'n' is '1'; give a number"),
        (ft.Fidelity("n", None, 10), "cheap of 'n' is None; give a number"),
        (ft.Fidelity("n", -1e308, 1e308), "fidelity 'n' from -1e+308 to 1e+308 cannot be resolved; rescale it"),
        (ft.Fidelity("", 1, 10), "the fidelity's name is ''; give the name of the objective's argument"),
        (ft.Fidelity(None, 1, 10), "the fidelity's name is None"),
        (ft.Fidelity("x", 1, 10), "'x' is both an axis and the fidelity; drop one of them"),
        ("n", "the fidelity is 'n'; give a farthing.Fidelity(name, cheap=..., full=...)"),
    ],
    ids=lambda v: str(v)[:50],
)
def test_a_fidelity_that_cannot_be_is_refused_by_name(fidelity, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        new_study(fidelity=fidelity)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    "fidelity",
    [
        ft.Fidelity("n", 1e-300, 1e300, log=True),
        ft.Fidelity("n", 1e300, 1e-300, log=True),
        ft.Fidelity("n", 1e300, 1e-300),
        ft.Fidelity("n", 0, 10),
        ft.Fidelity("n", 10, 0),
        ft.Fidelity("n", -5, 10),
        ft.Fidelity("n", -1, -100),
        ft.Fidelity("n", 1, 2, integer=True),
        ft.Fidelity("n", np.int32(100), np.int32(60_000_000), log=True, integer=True),
        ft.Fidelity("n", np.uint8(10), np.uint8(200)),
        ft.Fidelity("n", np.float64(1e180), np.float64(1e200), log=True),
    ],
    ids=str,
)
def test_an_unusual_fidelity_works_or_is_refused_at_once(fidelity):
    try:
        study = new_study(fidelity=fidelity)
    except ft.SpaceError:
        return
    for i in range(3):
        study.tell(asked(study), float(i), cost=1.0)
    goes_on(study)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"x": 0.0}, "parameters have no ['y']; the axes are ['x', 'y']"),
        ({"x": 0.0, "y": 1.0, "z": 1.0}, "parameters have unknown names ['z']; the axes are ['x', 'y']"),
        ({}, "parameters have no ['x', 'y']"),
        ({"x": 3.0, "y": 1.0}, "parameter 'x' is 3.0, outside its axis from -1.0 to 2.0"),
        ({"x": 0.0, "y": 0.0}, "parameter 'y' is 0.0, outside its axis from 0.001 to 10.0"),
        ({"x": math.nan, "y": 1.0}, "parameter 'x' is nan; give a finite number"),
        ({"x": math.inf, "y": 1.0}, "parameter 'x' is inf; give a finite number"),
        ({"x": 10**400, "y": 1.0}, "parameter 'x' is 1000"),
        ({"x": "0", "y": 1.0}, "parameter 'x' is '0'; give a number"),
        ({"x": None, "y": 1.0}, "parameter 'x' is None; give a number"),
        ({"x": True, "y": 1.0}, "parameter 'x' is True; give a number"),
        ([0.0, 1.0], "parameters are [0.0, 1.0]; give a dict with the keys x, y"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_parameters_that_do_not_fit_the_space_are_refused_by_name(params, complaint):
    study = new_study()
    with pytest.raises(ft.SpaceError) as refused:
        study.add(params, 1.0)
    assert complaint in str(refused.value)
    assert study.trials == ()


@pytest.mark.parametrize(
    ("fidelity", "complaint"),
    [
        (5, "fidelity 'rows' is 5, outside its range from 10 to 1000"),
        (10.5, "fidelity 'rows' is 10.5; give a whole number"),
        (math.nan, "fidelity 'rows' is nan; give a finite number"),
        ("100", "fidelity 'rows' is '100'; give a number"),
    ],
)
def test_a_fidelity_value_that_cannot_be_is_refused_by_name(fidelity, complaint):
    study = new_study(fidelity=ROWS)
    with pytest.raises(ft.SpaceError) as refused:
        study.add({"x": 0.0, "y": 1.0}, 1.0, fidelity=fidelity)
    assert complaint in str(refused.value)
    with pytest.raises(ft.SpaceError, match="fidelity 100 was given, but the study has none; leave it out"):
        new_study().add({"x": 0.0, "y": 1.0}, 1.0, fidelity=100)


# Settings, methods and arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "matern12"),
        ("kernel", None),
        ("kernel", []),
        ("sampler", "nuts"),
        ("sampler", []),
        ("draws", 0),
        ("draws", 2.5),
        ("draws", True),
        ("growth", 1.0),
        ("growth", math.nan),
        ("growth", "fast"),
        ("support_points", 9),
        ("minimizers", 0),
        ("starts", -1),
        ("initial", 0),
        ("initial", 1.5),
        ("noise", -1.0),
        ("noise", math.inf),
        ("noise", 10**400),
        ("tolerance", -1e-9),
        ("tolerance", math.nan),
        ("tolerance", None),
        ("overhead_price", -1.0),
        ("overhead_price", math.inf),
        ("overhead_price", "1"),
        ("confirm", 1),
        ("confirm", None),
    ],
    ids=lambda v: str(v)[:20],
)
def test_a_setting_that_cannot_be_is_refused_by_name(name, value):
    with pytest.raises(ft.SettingsError, match=rf"setting {name} is .*; give "):
        ft.Settings(**{name: value})


def test_a_kernel_that_does_not_exist_is_refused_and_those_that_do_are_listed():
    with pytest.raises(ft.SettingsError, match="setting kernel is 'matern12'; give one of matern52, matern32, squared_exponential"):
        ft.Settings(kernel="matern12")


@pytest.mark.parametrize("method", ["envpes", "pes"])
def test_a_kernel_too_rough_for_the_method_is_refused_before_anything_is_evaluated(method):
    calls = []

    def objective(x, y):
        calls.append((x, y))
        return x

    settings = replace(SMALL, kernel="matern32")
    with pytest.raises(ft.KernelError, match=r"matern32.*use matern52 or squared_exponential"):
        ft.minimize(objective, AXES, method=method, evaluations=6, seed=1, settings=settings)
    assert calls == []


def test_support_from_hessians_needs_a_kernel_that_has_them():
    with pytest.raises(ft.KernelError, match=r"support='wlh' .* matern32 .*; use matern52 .*or another support"):
        new_study(ft.methods.ES(support="wlh"), settings=replace(SMALL, kernel="matern32"))


@pytest.mark.parametrize("method", ["fabolas", "es", "ei", "pi", "lcb", "random"])
@pytest.mark.parametrize("kernel", ["matern32", "squared_exponential"])
def test_a_rough_or_smooth_kernel_serves_the_methods_that_need_no_second_derivatives(method, kernel):
    study = new_study(method, ROWS, settings=replace(SMALL, kernel=kernel))
    for i, params in enumerate(scattered(4)):
        study.add(params, float(i))
    goes_on(study)
    assert np.isfinite(study.expected_regret())


@pytest.mark.parametrize("sampler", ["hmc", "whitened_slice", "slice", "map"])
def test_every_sampler_survives_a_constant_objective(sampler):
    study = new_study("envpes", ROWS, settings=replace(SMALL, sampler=sampler))
    for params in scattered(4):
        study.add(params, 1.0)
    goes_on(study, 1.0)


@pytest.mark.parametrize("support", ["wlh", "uniform", "ei_slice", "lcb_slice"])
@pytest.mark.parametrize("values", [[1.0] * 4, [1e300, -1e300, 1.0, 0.0]], ids=["constant", "huge"])
@pytest.mark.parametrize("method", [ft.methods.EnvPES, ft.methods.FABOLAS])
def test_every_support_sampler_survives_awkward_values(support, values, method):
    study = new_study(method(support=support), ROWS)
    for params, value in zip(scattered(4), values, strict=True):
        study.add(params, value)
    goes_on(study, 1.0)


@pytest.mark.parametrize("method", ["bayes", "EnvPES", "", None, 3, [], ft.methods.EI, ft.methods.Method()], ids=str)
def test_a_method_that_does_not_exist_is_refused_and_those_that_do_are_listed(method):
    with pytest.raises(
        ft.SettingsError, match=r"there is no method .*; choose one of envpes, pes, fabolas, es, ei, pi, lcb, random"
    ):
        new_study(method)


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: ft.methods.PES(support="sobol"), "sobol"),
        (lambda: ft.methods.PES(rivals=-1), "rivals"),
        (lambda: ft.methods.PES(rivals=1.5), "rivals"),
        (lambda: ft.methods.ES(support="sobol"), "sobol"),
        (lambda: ft.methods.ES(representers=4), "representers"),
        (lambda: ft.methods.ES(representers=20.5), "representers"),
        (lambda: ft.methods.FABOLAS(representers=1000), "representers"),
        (lambda: ft.methods.FABOLAS(kernel="matern52"), "kernel is 'matern52'; choose one of matern, original"),
        (lambda: ft.methods.FABOLAS(overhead=None), "overhead is None; choose one of last, horizon"),
        (lambda: ft.methods.LCB(kappa=-1.0), "kappa"),
        (lambda: ft.methods.LCB(kappa=math.nan), "kappa"),
        (lambda: ft.methods.LCB(kappa=math.inf), "kappa"),
        (lambda: ft.methods.LCB(kappa="2"), "kappa"),
        (lambda: ft.methods.LCB(kappa=None), "kappa"),
    ],
)
def test_a_method_configured_as_it_cannot_be_is_refused(make, culprit):
    with pytest.raises(ft.SettingsError, match=culprit):
        make()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, math.nan])
def test_a_seed_that_cannot_be_is_refused(seed):
    with pytest.raises(ft.SettingsError, match=r"seed is .*; give a whole number from zero up, or None"):
        new_study(seed=seed)


@pytest.mark.parametrize("settings", [{"draws": 3}, "fast", 3])
def test_settings_that_are_none_are_refused(settings):
    with pytest.raises(ft.SettingsError, match=r"settings are .*; give a farthing.Settings"):
        new_study(settings=settings)


@pytest.mark.parametrize("store", [3, [], object()])
def test_a_store_that_is_none_is_refused(store):
    with pytest.raises(ft.SettingsError, match="store"):
        new_study(store=store)


@pytest.mark.parametrize("workers", [0, -1, "1", 2.0, True])
def test_a_number_of_workers_that_cannot_be_is_refused(workers):
    with pytest.raises(ft.SettingsError, match=r"workers is .*; give a whole number from 1 up"):
        new_study().run(lambda x, y: 1.0, evaluations=2, workers=workers)


@pytest.mark.parametrize("objective", [None, 3, "f", {}])
def test_an_objective_that_cannot_be_called_is_refused(objective):
    with pytest.raises(ft.SettingsError, match=r"the objective is .*; give a function of x, y"):
        new_study().run(objective, evaluations=2)


def test_a_callback_that_cannot_be_called_is_refused_before_anything_is_evaluated():
    study = new_study()
    with pytest.raises(ft.SettingsError, match="callback"):
        study.run(lambda x, y: 1.0, evaluations=2, callback=3)
    assert study.trials == ()


@pytest.mark.parametrize("evaluations", [0, -1, 2.5, True, "5", math.inf])
def test_a_number_of_evaluations_that_cannot_be_is_refused(evaluations):
    with pytest.raises(ft.SettingsError, match=r"evaluations is .*; give a whole number from 1 up"):
        new_study().run(lambda x, y: 1.0, evaluations=evaluations)


def test_neither_a_budget_nor_a_number_of_evaluations_is_refused():
    with pytest.raises(ft.SettingsError, match="neither a budget nor a number of evaluations was given; pass budget="):
        new_study().run(lambda x, y: 1.0)
    with pytest.raises(ft.SettingsError, match="neither a budget nor a number of evaluations was given; pass budget="):
        ft.minimize(lambda x, y: 1.0, AXES)


# Trials told wrongly -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["tell", "fail"])
@pytest.mark.parametrize("second", ["tell", "fail"])
def test_a_trial_takes_one_result(first, second):
    study = new_study()
    trial = study.ask()
    report = {"tell": lambda: study.tell(trial, 1.0, cost=1.0), "fail": lambda: study.fail(trial, "no luck", cost=1.0)}
    done = report[first]()
    with pytest.raises(ft.TrialError, match=rf"trial 0 is {done.state} already; a trial takes one result, use add\(\) for another"):
        report[second]()
    assert study.trials == (done,)


@pytest.mark.parametrize("number", [1, -1, 7, True, "0", None, 0.0])
def test_a_trial_the_study_does_not_have_is_refused(number):
    study = new_study()
    study.ask()
    with pytest.raises(ft.TrialError, match=r"there is no trial .* in this study, which has 1; tell a trial that ask\(\) gave"):
        study.tell(number, 1.0, cost=1.0)
    with pytest.raises(ft.TrialError, match="there is no trial"):
        study.fail(number, "no luck")
    assert study.trials[0].state == PENDING


def test_a_trial_of_another_study_is_refused_though_its_number_fits():
    ours, other = new_study(), new_study(seed=2)
    ours.ask()
    with pytest.raises(ft.TrialError):
        ours.tell(other.ask(), 1.0, cost=1.0)
    assert ours.trials[0].state == PENDING


def test_a_trial_asked_for_elsewhere_costs_the_wall_time_since():
    study = new_study(wall_clock=lambda: 1000.0)
    study.ask()
    resumed = filled(new_study(wall_clock=lambda: 1007.5), study.trials)
    assert resumed.tell(0, 1.0).cost == 7.5


def test_a_clock_that_was_set_back_needs_the_cost_and_takes_it():
    study = new_study(wall_clock=lambda: 1000.0)
    trial = study.ask()
    resumed = filled(new_study(wall_clock=lambda: 400.0), study.trials)
    with pytest.raises(ft.TrialError, match="how long trial 0 took is not known: the clock was set back since; give cost="):
        resumed.tell(trial, 1.0)
    assert resumed.tell(trial, 1.0, cost=2.0).cost == 2.0


# Objectives that fail ------------------------------------------------------------------------------------------------------------


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("not even a message")


@each_kind
def test_an_objective_that_raises_is_recorded_and_the_run_goes_on(method, fidelity):
    calls = []

    def objective(x, y, rows=None):
        calls.append(x)
        if len(calls) % 2 == 0:
            raise ZeroDivisionError("no gradient today")
        return x**2 + y

    result = new_study(method, fidelity, settings=NO_CONFIRMATION).run(objective, evaluations=8)
    trials = result.study.trials
    assert [t.state for t in trials] == [COMPLETE, FAILED] * 4
    assert result.nfev == 4
    for trial in trials[1::2]:
        assert trial.reason == "ZeroDivisionError: no gradient today"
        assert "in objective" in trial.traceback
        assert trial.cost >= 0.0


def test_five_failures_in_a_row_end_a_run_with_their_cause():
    calls = []

    def objective(x, y):
        calls.append(x)
        if len(calls) != 4:
            raise OSError("disk full")
        return 1.0

    study = new_study()
    with pytest.raises(
        ft.ObjectiveFailed, match=r"the objective failed 5 times in a row; mend it .* at .*: OSError: disk full"
    ) as failed:
        study.run(objective, evaluations=20)
    assert "raise OSError" in str(failed.value)  # the traceback
    assert len(calls) == 9  # three, a success, and five in a row
    assert [t.state for t in study.trials] == [FAILED] * 3 + [COMPLETE] + [FAILED] * 5
    assert len({tuple(t.params.values()) for t in study.trials}) == 9


def test_five_bad_values_in_a_row_end_a_run_with_the_refusal_as_cause():
    with pytest.raises(ft.ObjectiveFailed, match="the value is nan"):
        new_study().run(lambda x, y: math.nan, evaluations=20)


def test_an_objective_with_other_argument_names_is_told_which_it_got():
    with pytest.raises(ft.ObjectiveFailed, match=r"The last failure, at \{'x'.*unexpected keyword argument"):
        new_study().run(lambda a, b: 1.0, evaluations=20)


def test_an_exception_without_a_message_is_recorded_all_the_same():
    def objective(x, y):
        raise UnspeakableError

    study = new_study()
    with pytest.raises(ft.ObjectiveFailed, match="UnspeakableError"):
        study.run(objective, evaluations=20)
    assert [t.state for t in study.trials] == [FAILED] * 5
