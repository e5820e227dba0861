"""Between the user's units and the unit cube."""

import math

import numpy as np
import pytest

import farthing as ft
from farthing.space import Space

AXES = {
    "linear": ft.Real(-3.0, 7.0),
    "linear, far from zero": ft.Real(1e6, 1e6 + 1.0),
    "linear, wide": ft.Real(-1e300, 1e300),
    "log": ft.Real(1e-5, 10.0, log=True),
    "log, narrow": ft.Real(3.0, 3.1, log=True),
    "log, wide": ft.Real(1e-300, 1e300, log=True),
    "log, awkward ends": ft.Real(0.1, 0.7, log=True),  # exp(log(0.7)) is not 0.7
    "whole numbers given": ft.Real(1, 1000, log=True),
}
FIDELITIES = {
    "linear, full is larger": ft.Fidelity("s", cheap=10.0, full=250.0),
    "linear, full is smaller": ft.Fidelity("s", cheap=250.0, full=10.0),
    "log, full is larger": ft.Fidelity("s", cheap=100.0, full=6e4, log=True),
    "log, full is smaller (a tolerance)": ft.Fidelity("s", cheap=1e-1, full=1e-7, log=True),
    "from below zero to above": ft.Fidelity("s", cheap=-2.0, full=5.0),
    "up to zero": ft.Fidelity("s", cheap=-2.0, full=0.0),
    "from zero": ft.Fidelity("s", cheap=0.0, full=5.0),
    "below zero, full is larger": ft.Fidelity("s", cheap=-8.0, full=-2.0),
    "below zero, full is smaller": ft.Fidelity("s", cheap=-2.0, full=-8.0),
}
every_axis = pytest.mark.parametrize("axis", AXES.values(), ids=AXES.keys())
every_fidelity = pytest.mark.parametrize("fidelity", FIDELITIES.values(), ids=FIDELITIES.keys())
UNIT = np.concatenate([np.linspace(0.0, 1.0, 1001), [1e-300, 1e-17, 1e-9, 1.0 - 1e-9, np.nextafter(1.0, 0.0)]])


@every_axis
def test_an_axis_comes_back_from_the_users_units(axis):
    values = np.array(axis.from_unit(UNIT[:, None]))
    # Rounding moves a coordinate by eps times the size of the ends over the width; in logs, by at least eps over the width.
    low, high = (math.log(axis.low), math.log(axis.high)) if axis.log else (axis.low, axis.high)
    size = max(abs(low), abs(high), 1.0 if axis.log else 0.0)
    tolerance = 8.0 * np.finfo(float).eps * size / (high - low)
    np.testing.assert_allclose(axis.to_unit(values)[:, 0], UNIT, rtol=0.0, atol=tolerance)


@every_axis
def test_an_axis_is_never_left_and_its_ends_are_exact(axis):
    values = np.array(axis.from_unit(UNIT[:, None]))
    assert (values >= axis.low).all()
    assert (values <= axis.high).all()
    assert axis.from_unit(np.array([[0.0], [1.0]])) == [axis.low, axis.high]
    np.testing.assert_array_equal(axis.to_unit([axis.low, axis.high]), [[0.0], [1.0]])
    unit = axis.to_unit(values)
    assert (unit >= 0.0).all()
    assert (unit <= 1.0).all()


@every_axis
def test_an_axis_rises(axis):
    values = axis.from_unit(np.linspace(0.0, 1.0, 101)[:, None])
    assert (np.diff(values) > 0.0).all()


def test_scales_are_what_they_are_called():
    assert ft.Real(-3.0, 7.0).from_unit(np.array([[0.25]])) == pytest.approx([-0.5])
    assert ft.Real(1e-4, 1e4, log=True).from_unit(np.array([[0.25]])) == pytest.approx([1e-2])
    assert ft.Fidelity("n", cheap=10.0, full=90.0).from_unit(0.25) == pytest.approx(70.0)
    assert ft.Fidelity("n", cheap=1e1, full=1e5, log=True).from_unit(0.25) == pytest.approx(1e4)
    assert ft.Fidelity("tolerance", cheap=1e-1, full=1e-5, log=True).from_unit(0.25) == pytest.approx(1e-4)


@every_fidelity
def test_zero_is_full_fidelity_and_one_is_the_cheapest_exactly(fidelity):
    assert fidelity.from_unit(0.0) == fidelity.full
    assert fidelity.from_unit(1.0) == fidelity.cheap
    assert fidelity.to_unit(fidelity.full) == 0.0
    assert fidelity.to_unit(fidelity.cheap) == 1.0


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_zero_is_full_fidelity_exactly_wherever_that_is(log, factor):
    """The logarithms of NumPy and of the math module differ in the last bit, here and there: full fidelity must not feel it."""
    for full in np.concatenate([np.linspace(0.4, 3.0, 1041), 10.0 ** np.linspace(-8.0, 8.0, 401)]):
        fidelity = ft.Fidelity("s", cheap=float(full) * factor, full=float(full), log=log)
        assert fidelity.from_unit(0.0) == full
        assert fidelity.to_unit(full) == 0.0
        assert fidelity.to_unit(fidelity.cheap) == 1.0


@every_fidelity
def test_a_fidelity_comes_back_from_the_users_units_and_is_never_left(fidelity):
    values = fidelity.from_unit(UNIT)
    assert (values >= min(fidelity.cheap, fidelity.full)).all()
    assert (values <= max(fidelity.cheap, fidelity.full)).all()
    np.testing.assert_allclose(fidelity.to_unit(values), UNIT, rtol=0.0, atol=1e-14)
    assert (np.diff(values[:1001]) * np.sign(fidelity.cheap - fidelity.full) > 0.0).all()


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("cheap", "full"), [(3, 40), (40, 3), (1, 2)])
def test_whole_numbers_are_rounded_to_the_nearest_and_come_back(cheap, full, log):
    fidelity = ft.Fidelity("epochs", cheap, full, log=log, integer=True)
    exact = ft.Fidelity("epochs", cheap, full, log=log).from_unit(UNIT)
    values = fidelity.from_unit(UNIT)
    np.testing.assert_array_equal(values, np.round(values))
    assert np.abs(values - exact).max() <= 0.5
    assert set(values) == set(range(min(cheap, full), max(cheap, full) + 1))
    space = Space({"x": ft.Real(0.0, 1.0)}, fidelity)
    for value in sorted(set(values)):
        s = space.unit_fidelities([value])[0]
        back = space.fidelity_value(s)
        assert back == value
        assert isinstance(back, int)


@every_fidelity
def test_the_derivative_of_work_agrees_with_finite_differences(fidelity):
    s, h = np.array([0.03, 0.31, 0.5, 0.77, 0.96]), 1e-6
    work, slope = fidelity.work(s)
    difference = (fidelity.work(s + h)[0] - fidelity.work(s - h)[0]) / (2.0 * h)
    # Central differences: h^2 |f'''| / 6, at most rate^3 for the steepest of these, and rounding eps * |f| / h.
    rate = abs(math.log(fidelity.cheap / fidelity.full)) if fidelity.log else 30.0
    np.testing.assert_allclose(slope, difference, rtol=h**2 * rate**2, atol=1e-9 * max(1.0, np.abs(work).max()))


@every_fidelity
def test_work_is_one_at_full_fidelity_and_falls_towards_the_cheapest(fidelity):
    work, slope = fidelity.work(np.linspace(0.0, 1.0, 101))
    assert work[0] == 1.0
    assert (np.diff(work) < 0.0).all()
    assert (slope < 0.0).all()
    assert (work >= 0.0).all()


def test_work_is_the_amount_or_its_reciprocal_where_smaller_is_dearer():
    rows = ft.Fidelity("rows", cheap=100.0, full=1000.0)
    assert rows.work(np.array([1.0]))[0][0] == pytest.approx(0.1)
    assert rows.work(np.array([0.5]))[0][0] == pytest.approx(0.55)
    tolerance = ft.Fidelity("tolerance", cheap=1e-2, full=1e-4, log=True)
    assert tolerance.work(np.array([1.0]))[0][0] == pytest.approx(0.01)
    assert tolerance.work(np.array([0.5]))[0][0] == pytest.approx(0.1)
    assert ft.Fidelity("level", cheap=-1.0, full=1.0).work(np.array([0.25]))[0][0] == 0.75


def test_a_space_keeps_the_order_of_its_axes_whatever_the_order_of_the_parameters():
    space = Space({"b": ft.Real(0.0, 10.0), "a": ft.Real(1.0, 100.0, log=True)}, ft.Fidelity("n", 1, 5))
    assert space.dimensions == 2
    points = space.unit_points([{"a": 10.0, "b": 2.5}, {"b": 10.0, "a": 1.0}])
    np.testing.assert_allclose(points, [[0.25, 0.5], [1.0, 0.0]], atol=1e-15)
    params = space.params(np.array([0.25, 0.5]))
    assert list(params) == ["b", "a"]
    assert params == pytest.approx({"b": 2.5, "a": 10.0})
    assert all(type(value) is float for value in params.values())


def test_a_space_takes_none_for_full_fidelity():
    space = Space({"x": ft.Real(0.0, 1.0)}, ft.Fidelity("n", cheap=1, full=5))
    np.testing.assert_allclose(space.unit_fidelities([None, 5, 1, 3]), [0.0, 0.0, 1.0, 0.5])
    assert space.check_fidelity(None) == 5
    without = Space({"x": ft.Real(0.0, 1.0)})
    np.testing.assert_array_equal(without.unit_fidelities([None, None]), [0.0, 0.0])
    assert without.fidelity_value(0.0) is None
    assert without.check_fidelity(None) is None


def test_nothing_is_a_table_of_no_points():
    space = Space({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)})
    assert space.unit_points([]).shape == (0, 2)
    assert space.unit_fidelities([]).shape == (0,)


def test_a_space_is_not_changed_by_what_happens_to_the_dict_it_was_made_of():
    axes = {"x": ft.Real(0.0, 1.0)}
    space = Space(axes)
    axes["y"] = ft.Real(0.0, 1.0)
    assert list(space.axes) == ["x"]


def test_checked_parameters_are_floats_in_the_order_of_the_axes():
    space = Space({"x": ft.Real(0.0, 10.0), "y": ft.Real(0.0, 10.0)})
    checked = space.check_params({"y": np.int64(3), "x": np.float32(0.5)})
    assert list(checked.items()) == [("x", 0.5), ("y", 3.0)]
    assert all(type(value) is float for value in checked.values())
    assert space.check_params({"x": 0.0, "y": 10.0}) == {"x": 0.0, "y": 10.0}
