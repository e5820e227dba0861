"""Axes of every kind, between the user's values and the unit cube: exactly there and back, on the grid, uniformly, or refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import farthing as ft
from farthing.space import Space

INTEGERS = {
    "linear": ft.Integer(1, 15),
    "two": ft.Integer(0, 1),
    "below zero": ft.Integer(-7, 4),
    "log": ft.Integer(1, 1000, log=True),
    "log, narrow": ft.Integer(990, 1010, log=True),
    "log, two": ft.Integer(1, 2, log=True),
    "far from zero": ft.Integer(10**12, 10**12 + 300),
}
every_integer = pytest.mark.parametrize("axis", INTEGERS.values(), ids=INTEGERS.keys())
OPTIONS = (True, "a", None, 3, 0.25, "", "3", False, -1e300)

LEVELS = {
    "rising": ft.Fidelity("n", levels=[64, 128, 256, 512]),
    "falling": ft.Fidelity("n", levels=[0.5, 0.1, 0.02]),
    "log": ft.Fidelity("n", levels=[1, 10, 60, 1000], log=True),
    "uneven": ft.Fidelity("n", levels=(0.0, 0.3, 0.35, 1.0)),
    "below zero": ft.Fidelity("n", levels=[-3, -1, 2]),
    "two": ft.Fidelity("n", levels=np.array([10, 20])),
}
every_levels = pytest.mark.parametrize("fidelity", [f.checked() for f in LEVELS.values()], ids=LEVELS.keys())


def values_of(axis):
    return list(range(axis.low, axis.high + 1))


def position(axis, value):
    """Where a whole number lies on its scale, by the schoolbook formula."""
    if axis.log:
        return math.log(value / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)


# There and back ------------------------------------------------------------------------------------------------------------------


@every_integer
def test_every_whole_number_comes_back_as_itself_and_as_an_int(axis):
    values = values_of(axis)
    unit = axis.to_unit(values)
    back = axis.from_unit(unit)
    assert back == values
    assert all(type(v) is int for v in back)
    np.testing.assert_allclose(unit[:, 0], [position(axis, v) for v in values], rtol=0.0, atol=1e-12)
    assert (np.diff(unit[:, 0]) > 0.0).all()
    assert unit[0, 0] == 0.0
    assert unit[-1, 0] == 1.0


def test_every_option_comes_back_as_itself_and_with_its_type():
    axis = ft.Choice(OPTIONS).checked("c")
    back = axis.from_unit(axis.to_unit(OPTIONS))
    assert all(b is o or (b == o and type(b) is type(o)) for b, o in zip(back, OPTIONS, strict=True))


def test_any_two_options_are_at_distance_one_and_none_is_nearer_to_another_than_the_rest():
    unit = ft.Choice(OPTIONS).to_unit(OPTIONS)
    distances = np.sqrt(((unit[:, None] - unit[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, 1.0 - np.eye(len(OPTIONS)), atol=1e-15)
    assert ((unit > 0.0).sum(axis=1) == 1).all()


@every_levels
def test_every_level_comes_back_exactly(fidelity):
    space = Space({"x": ft.Real(0.0, 1.0)}, fidelity)
    back = [space.fidelity_value(s) for s in space.unit_fidelities(fidelity.levels)]
    assert back == list(fidelity.levels)
    assert all(type(v) is (int if fidelity.integer else float) for v in back)
    assert space.unit_fidelities(fidelity.levels)[0] == 1.0  # the first is the cheapest
    assert space.unit_fidelities(fidelity.levels)[-1] == 0.0
    assert space.fidelity_value(0.0) == fidelity.levels[-1]


def test_levels_are_whole_numbers_where_all_of_them_are():
    assert ft.Fidelity("n", levels=[1, 2]).checked().integer
    assert ft.Fidelity("n", levels=[np.int32(1), 2]).checked().integer
    assert not ft.Fidelity("n", levels=[1, 2.5]).checked().integer
    assert not ft.Fidelity("n", levels=[1.0, 2.0]).checked().integer


@every_levels
def test_a_checked_fidelity_can_be_checked_again(fidelity):
    """A study that is opened again hands over what was checked before, ends and levels side by side."""
    assert fidelity.checked() == fidelity


# Onto the grid -------------------------------------------------------------------------------------------------------------------


@every_integer
def test_snapping_goes_to_the_nearest_whole_number(axis):
    unit = np.linspace(0.0, 1.0, 2001)
    exact = axis.low * (axis.high / axis.low) ** unit if axis.log else axis.low + unit * (axis.high - axis.low)
    snapped = np.array(axis.from_unit(axis.snap(unit[:, None])), dtype=float)
    assert np.abs(snapped - exact).max() <= 0.5 + 1e-9 * axis.high
    assert set(snapped) <= set(values_of(axis))


@every_integer
def test_snapping_leaves_what_is_on_the_grid_to_the_bit(axis):
    """A point that moved by rounding would be taken for another one, and evaluated twice."""
    unit = axis.to_unit(values_of(axis))
    np.testing.assert_array_equal(axis.snap(unit), unit)
    anywhere = axis.snap(np.random.default_rng(0).random((500, 1)))
    np.testing.assert_array_equal(axis.snap(anywhere), anywhere)
    assert set(anywhere[:, 0]) <= set(unit[:, 0])


def test_snapping_a_choice_takes_the_option_whose_column_is_largest():
    axis = ft.Choice(["a", "b", "c"])
    unit = np.array([[0.1, 0.3, 0.2], [0.9, 0.0, 0.89], [0.0, 0.0, 1e-9]])
    assert axis.from_unit(unit) == ["b", "a", "c"]
    np.testing.assert_array_equal(axis.snap(unit), axis.to_unit(["b", "a", "c"]))


@every_levels
def test_snapping_goes_to_the_nearest_level_on_the_scale(fidelity):
    s = np.linspace(0.0, 1.0, 997)
    full, cheap = fidelity.levels[-1], fidelity.levels[0]

    def place(level):
        if fidelity.log:
            return math.log(level / full) / math.log(cheap / full)
        return (level - full) / (cheap - full)

    places = np.array([place(level) for level in fidelity.levels])
    nearest = np.abs(s[:, None] - places).min(axis=1)
    snapped = fidelity.snap(s)
    np.testing.assert_allclose(np.abs(snapped - s), nearest, atol=1e-12)
    np.testing.assert_array_equal(fidelity.snap(snapped), snapped)
    assert set(fidelity.from_unit(s)) == set(fidelity.levels)


def test_a_real_axis_and_a_continuous_fidelity_are_not_snapped():
    unit = np.random.default_rng(0).random((50, 1))
    np.testing.assert_array_equal(ft.Real(0.1, 5.0, log=True).snap(unit), unit)
    np.testing.assert_array_equal(ft.Real(0.1, 5.0, log=True).scatter(unit), unit)
    np.testing.assert_array_equal(ft.Fidelity("n", 1.0, 9.0).snap(unit[:, 0]), unit[:, 0])


# Uniformly -----------------------------------------------------------------------------------------------------------------------

UNLIKELY = 1e-4
"""p value below which a distribution is taken to be another one. A chi-square test is wrong once in so many seeds, and this one is
fixed; an end with half its share gives p < 1e-50."""


def p_value(counts, shares):
    counts = np.array(counts, dtype=float)
    return stats.chisquare(counts, np.array(shares) * counts.sum()).pvalue


@pytest.mark.parametrize("axis", [ft.Integer(1, 15), ft.Integer(-3, 3), ft.Integer(0, 1)], ids=str)
def test_scattered_whole_numbers_are_equally_likely_at_the_ends_as_in_the_middle(axis):
    unit = np.random.default_rng(1).random((20_000, 1))
    drawn = axis.from_unit(axis.scatter(unit))
    values = values_of(axis)
    counts = [drawn.count(v) for v in values]
    assert p_value(counts, np.full(len(values), 1.0 / len(values))) > UNLIKELY
    # What rounding the cube itself would do, to show that the test can tell.
    rounded = axis.from_unit(unit)
    if len(values) > 2:
        assert p_value([rounded.count(v) for v in values], np.full(len(values), 1.0 / len(values))) < UNLIKELY**2


@pytest.mark.parametrize("axis", [ft.Integer(1, 12, log=True), ft.Integer(5, 9, log=True)], ids=str)
def test_scattered_whole_numbers_on_a_log_scale_have_the_share_of_their_interval(axis):
    drawn = axis.from_unit(axis.scatter(np.random.default_rng(2).random((20_000, 1))))
    values = values_of(axis)
    whole = math.log((axis.high + 0.5) / (axis.low - 0.5))
    shares = [math.log((v + 0.5) / (v - 0.5)) / whole for v in values]
    assert p_value([drawn.count(v) for v in values], shares) > UNLIKELY


@pytest.mark.parametrize("count", [2, 3, 7])
def test_scattered_options_are_equally_likely(count):
    axis = ft.Choice(list(range(count)))
    drawn = axis.from_unit(axis.scatter(np.random.default_rng(3).random((20_000, count))))
    assert p_value([drawn.count(v) for v in range(count)], np.full(count, 1.0 / count)) > UNLIKELY


def test_scattering_the_ends_of_the_cube_stays_on_the_axis():
    for axis in INTEGERS.values():
        ends = axis.scatter(np.array([[0.0], [np.nextafter(1.0, 0.0)], [1.0]]))
        assert axis.from_unit(ends) == [axis.low, axis.high, axis.high]


def test_a_scattered_space_is_uniform_over_all_combinations_and_leaves_real_columns_alone():
    """Each axis must take its own columns: one that took another's would be tied to it."""
    space = Space({"c": ft.Choice(["a", "b", "c"]), "k": ft.Integer(0, 3), "x": ft.Real(0.0, 1.0), "d": ft.Choice([True, False])})
    unit = np.random.default_rng(4).random((30_000, space.dimensions))
    points = space.scatter(unit)
    np.testing.assert_array_equal(points[:, 0], unit[:, 0])
    params = [space.params(p) for p in points]
    table = [(p["c"], p["k"], p["d"], p["x"] > 0.5) for p in params]
    cells = list(itertools.product(["a", "b", "c"], range(4), [True, False], [True, False]))
    assert p_value([table.count(cell) for cell in cells], np.full(len(cells), 1.0 / len(cells))) > UNLIKELY


# Neighbors and tables of points --------------------------------------------------------------------------------------------------

MIXED = {
    "c": ft.Choice(["a", "b", None]),
    "lr": ft.Real(1e-4, 1.0, log=True),
    "held": "fixed",
    "k": ft.Integer(1, 5),
    "d": ft.Choice([True, False]),
    "x": ft.Real(-1.0, 1.0),
    "n": ft.Integer(1, 100, log=True),
}


def test_columns_are_reals_then_integers_then_choices_each_in_the_users_order():
    space = Space(MIXED)
    assert list(space.columns) == ["lr", "x", "k", "n", "c", "d"]
    assert list(space.columns.values()) == [slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 4), slice(4, 7), slice(7, 9)]
    assert (space.dimensions, space.reals, space.numbers) == (9, 2, 4)
    assert space.groups.tolist() == [0, 1, 2, 3, 4, 4, 4, 5, 5]


def test_parameters_are_in_the_users_order_and_land_in_their_own_columns():
    space = Space(MIXED)
    params = {"c": None, "lr": 1e-2, "held": "fixed", "k": 4, "d": False, "x": 0.5, "n": 10}
    unit = space.unit_points([params])
    hot = math.sqrt(0.5)
    np.testing.assert_allclose(unit, [[0.5, 0.75, 0.75, 0.5, 0.0, 0.0, hot, 0.0, hot]], atol=1e-15)
    back = space.params(unit[0])
    assert list(back) == list(MIXED)
    assert back == pytest.approx(params)
    types = {"c": type(None), "lr": float, "held": str, "k": int, "d": bool, "x": float, "n": int}
    assert {name: type(v) for name, v in back.items()} == types


def test_a_space_counts_its_points_and_a_real_axis_makes_them_infinite():
    assert Space({"k": ft.Integer(-2, 5), "c": ft.Choice(["a", "b", "c"])}).count == 24
    assert Space({"k": ft.Integer(1, 1000, log=True), "held": 3}).count == 1000
    assert Space(MIXED).count == math.inf


def test_every_point_of_a_finite_space_is_listed_once():
    space = Space({"c": ft.Choice(["a", None, 2]), "k": ft.Integer(-1, 2), "d": ft.Choice([True, False])})
    points = space.every_point()
    assert points.shape == (24, space.dimensions)
    listed = [tuple(space.params(p).values()) for p in points]
    assert sorted(map(repr, listed)) == sorted(map(repr, itertools.product(["a", None, 2], range(-1, 3), [True, False])))
    np.testing.assert_array_equal(space.snap(points), points)


def test_steps_change_one_whole_number_by_one_and_exchanges_change_one_choice():
    space = Space(MIXED)
    start = {"c": "b", "lr": 1e-2, "held": "fixed", "k": 3, "d": True, "x": 0.5, "n": 100}
    point = space.unit_points([start])[0]

    def changes(points):
        found = []
        for p in points:
            params = space.params(p)
            np.testing.assert_array_equal(p[:2], point[:2])
            found += [{name: v for name, v in params.items() if v != pytest.approx(start[name])}]
        return found

    assert changes(space.stepped(point)) == [{"k": 2}, {"k": 4}, {"n": 99}]  # 100 is the end of its axis
    assert changes(space.exchanged(point)) == [{"c": "a"}, {"c": None}, {"d": False}]
    np.testing.assert_array_equal(space.snap(space.stepped(point)), space.stepped(point))
    assert Space({"x": ft.Real(0.0, 1.0)}).stepped(np.array([0.5])).shape == (0, 1)
    assert Space({"x": ft.Real(0.0, 1.0)}).exchanged(np.array([0.5])).shape == (0, 1)


@every_levels
def test_the_levels_beside_a_level_are_the_next_ones(fidelity):
    levels = list(fidelity.levels)
    assert fidelity.count == len(levels)
    for i, level in enumerate(levels):
        beside = fidelity.from_unit(fidelity.beside(float(fidelity.to_unit(level))))
        assert sorted(beside) == sorted(levels[j] for j in (i - 1, i + 1) if 0 <= j < len(levels))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("cheap", "full"), [(3, 9), (9, 3)])
def test_the_whole_numbers_beside_a_fidelity_are_one_below_and_one_above(cheap, full, log):
    fidelity = ft.Fidelity("epochs", cheap, full, log=log, integer=True).checked()
    assert fidelity.count == 7
    for value in range(3, 10):
        beside = fidelity.from_unit(fidelity.beside(float(fidelity.to_unit(value))))
        assert sorted(beside) == [v for v in (value - 1, value + 1) if 3 <= v <= 9]
    continuous = ft.Fidelity("epochs", cheap, full, log=log).checked()
    assert continuous.count == math.inf
    assert len(continuous.beside(0.5)) == 0


# Bad input -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "complaint"),
    [
        (ft.Choice("abc"), "axis 'a' has the options ['abc']; give a list of at least two"),
        (ft.Choice([]), "axis 'a' has the options []; give a list of at least two"),
        (ft.Choice(["one"]), "give a list of at least two"),
        (ft.Choice(3), "give a list of at least two"),
        (ft.Choice(None), "give a list of at least two"),
        (ft.Choice(["a", "b", "a"]), "axis 'a' has equal options among ['a', 'b', 'a']; give each once"),
        (ft.Choice([1, True]), "equal options"),
        (ft.Choice([1.0, 2, 1]), "equal options"),
        (ft.Choice([0, "0", False]), "equal options"),
        (ft.Choice([None, None]), "equal options"),
        (ft.Choice([1.0, math.nan]), "axis 'a' has the option nan; give text, finite numbers, booleans or None"),
        (ft.Choice(["a", math.inf]), "axis 'a' has the option inf"),
        (ft.Choice([[1, 2], [3, 4]]), "axis 'a' has the option [1, 2]; give text"),
        (ft.Choice(["a", {"b": 1}]), "axis 'a' has the option {'b': 1}"),
        (ft.Choice(["a", math.sin]), "axis 'a' has the option <built-in function sin>"),
        (ft.Choice({"a"}), "give text, finite numbers, booleans or None"),
        (ft.Integer(1.5, 3), "axis 'a' is of whole numbers but runs from 1.5 to 3.0; round its bounds"),
        (ft.Integer(1, 3.25), "round its bounds"),
        (ft.Integer(3, 3), "give a lower bound below the upper one"),
        (ft.Integer(3, 1), "give a lower bound below the upper one"),
        (ft.Integer("1", 3), "the lower bound of axis 'a' is '1'; give a number"),
        (ft.Integer(True, 3), "the lower bound of axis 'a' is True; give a number"),
        (ft.Integer(0, math.nan), "the upper bound of axis 'a' is nan; give a finite number"),
        (ft.Integer(0, 10, log=True), "axis 'a' is logarithmic but starts at 0; start it at 1 or above or drop log=True"),
        (ft.Integer(-5, 10, log=True), "axis 'a' is logarithmic but starts at -5"),
        (ft.Integer(0, 2**60), "is too long for whole numbers"),
        (ft.Integer(-(2**60), 0), "is too long for whole numbers"),
        (ft.Integer(0, 10**400), "the upper bound of axis 'a' is 1000"),
        ([1, 2, 3], "axis 'a' is [1, 2, 3]; give a farthing.Real(low, high), an Integer(low, high), a Choice([...])"),
        ((0.0, 1.0), "or a plain value to hold it fixed"),
        ({"low": 0}, "axis 'a' is {'low': 0}"),
        (math.nan, "axis 'a' is nan"),
        (1j, "axis 'a' is 1j"),
        (b"a", "axis 'a' is b'a'"),
        (np.array([1.0]), "axis 'a' is array([1.])"),
        (ft.Real, "axis 'a' is <class"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_an_axis_that_cannot_be_is_refused_with_what_to_do(axis, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        ft.Study({"x": ft.Real(0.0, 1.0), "a": axis})
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"levels": [1, 3, 2]}, "fidelity 'n' has the levels [1, 3, 2]; list them in order, from the cheapest to full"),
        ({"levels": [1, 2, 2]}, "list them in order"),
        ({"levels": [2, 2]}, "list them in order"),
        ({"levels": [1]}, "fidelity 'n' has the levels [1]; list at least two, from the cheapest to full"),
        ({"levels": []}, "list at least two"),
        ({"levels": 5}, "list at least two"),
        ({"levels": {1, 2}}, "list at least two"),
        ({"levels": "123"}, "fidelity 'n' has the levels '123'; list at least two"),
        ({"levels": ["1", "2"]}, "a level of 'n' is '1'; give a number"),
        ({"levels": [1, math.nan]}, "a level of 'n' is nan; give a finite number"),
        ({"levels": [1, math.inf]}, "a level of 'n' is inf; give a finite number"),
        ({"levels": [False, True]}, "a level of 'n' is False; give a number"),
        ({"levels": [1, None]}, "a level of 'n' is None; give a number"),
        ({"levels": np.array([[1, 2], [3, 4]])}, "list at least two, from the cheapest to full"),
        ({"levels": [1, 2], "cheap": 1}, "fidelity 'n' has levels, and cheap or full beside them; give one or the other"),
        ({"levels": [1, 2], "full": 2}, "give one or the other"),
        ({"levels": (1, 2), "cheap": 1, "full": 3}, "give one or the other"),
        ({"levels": [0, 1, 2], "log": True}, "fidelity 'n' is logarithmic but reaches 0.0; keep both ends above zero"),
        ({"levels": [1, 1.5, 2], "integer": True}, "fidelity 'n' is of whole numbers"),
        ({}, "cheap of 'n' is None; give a number"),
    ],
    ids=str,
)
def test_levels_that_cannot_be_are_refused_with_what_to_do(options, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("n", **options))
    assert complaint in str(refused.value)


def test_a_space_of_fixed_values_alone_is_refused():
    with pytest.raises(ft.SpaceError, match="has fixed values alone; give at least one axis"):
        ft.Study({"a": 1, "b": "two"})


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"k": 2.5}, "parameter 'k' is 2.5; give a whole number"),
        ({"k": "2"}, "parameter 'k' is '2'; give a number"),
        ({"k": True}, "parameter 'k' is True; give a number"),
        ({"k": None}, "parameter 'k' is None; give a number"),
        ({"k": math.nan}, "parameter 'k' is nan; give a finite number"),
        ({"k": 0}, "parameter 'k' is 0, outside its axis from 1 to 5"),
        ({"k": 10**400}, "parameter 'k' is 1000"),
        ({"c": "z"}, "parameter 'c' is 'z'; choose one of True, 'a', None, 2"),
        ({"c": 1}, "parameter 'c' is 1; choose one of True, 'a', None, 2"),  # not True
        ({"c": "2"}, "parameter 'c' is '2'; choose one of"),
        ({"c": ["a"]}, "parameter 'c' is ['a']; choose one of"),
        ({"c": math.nan}, "parameter 'c' is nan; choose one of"),
        ({"c": np.array(["a", "b"])}, "choose one of"),
        ({"held": 4}, "parameter 'held' is 4, but is held fixed at 3; leave it out"),
        ({"held": None}, "parameter 'held' is None, but is held fixed at 3"),
        ({"held": "3"}, "parameter 'held' is '3', but is held fixed at 3"),
    ],
    ids=str,
)
def test_parameters_off_their_axes_are_refused_with_what_to_do(wrong, complaint):
    space = {"x": ft.Real(0.0, 1.0), "k": ft.Integer(1, 5), "c": ft.Choice([True, "a", None, 2]), "held": 3}
    study = ft.Study(space)
    with pytest.raises(ft.SpaceError) as refused:
        study.add({"x": 0.5, "k": 2, "c": "a", **wrong}, 1.0)
    assert complaint in str(refused.value)
    assert study.trials == ()


def test_a_level_that_is_none_of_them_is_refused_with_those_there_are():
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("cells", levels=[64, 128, 256]))
    with pytest.raises(ft.SpaceError, match="fidelity 'cells' is 100; its levels are 64, 128, 256"):
        study.add({"x": 0.5}, 1.0, fidelity=100)
    assert study.add({"x": 0.5}, 1.0, fidelity=np.int64(128)).fidelity == 128
    assert study.add({"x": 0.5}, 1.0).fidelity == 256


# What is taken -------------------------------------------------------------------------------------------------------------------


def test_numpy_scalars_are_taken_and_become_pythons_own():
    space = Space(
        {
            "k": ft.Integer(np.int32(1), np.float64(4.0)),
            "c": ft.Choice([np.bool_(True), np.str_("a"), np.int8(3), np.float32(0.5)]),
            "held": np.float64(2.5),
            "flag": np.bool_(False),
        },
        ft.Fidelity("n", levels=np.array([1, 2, 4])),
    )
    axis = space.axes["c"]
    assert axis.options == (True, "a", 3, 0.5)
    assert [type(o) for o in axis.options] == [bool, str, int, float]
    assert (type(space.axes["k"].low), type(space.axes["k"].high)) == (int, int)
    assert space.fixed == {"held": 2.5, "flag": False}
    assert [type(v) for v in space.fixed.values()] == [float, bool]
    checked = space.check_params({"k": np.int64(2), "c": np.str_("a"), "held": np.float32(2.5)})
    assert checked == {"k": 2, "c": "a", "held": 2.5, "flag": False}
    assert [type(v) for v in checked.values()] == [int, str, float, bool]
    assert type(space.check_params({"k": 2.0, "c": np.bool_(True)})["c"]) is bool


def test_options_given_as_an_equal_number_are_the_option_itself():
    """An int stays an int though it is given as 2.0; a boolean is no number."""
    space = Space({"c": ft.Choice([2, True, None, 0.5])})
    for given, option in ((2.0, 2), (True, True), (None, None), (np.float64(0.5), 0.5)):
        found = space.check_params({"c": given})["c"]
        assert found == option
        assert type(found) is type(option)


@pytest.mark.parametrize("options", [["a", "b"], ("a", "b"), range(1, 4), [True, False], [None, 0], ["", " "]], ids=str)
def test_every_sequence_of_scalars_makes_a_choice(options):
    assert Space({"c": ft.Choice(options)}).axes["c"].options == tuple(options)


def test_what_an_objective_is_called_with_has_the_types_and_the_order_of_the_space():
    study = ft.Study(MIXED, fidelity=ft.Fidelity("cells", levels=[8, 16]), seed=0)
    for trial in (study.ask() for _ in range(12)):
        kwargs = trial.kwargs
        assert list(kwargs) == [*MIXED, "cells"]
        assert kwargs["held"] == "fixed"
        assert kwargs["c"] in ("a", "b", None)
        assert type(kwargs["d"]) is bool
        assert type(kwargs["k"]) is int
        assert type(kwargs["n"]) is int
        assert type(kwargs["x"]) is float
        assert type(kwargs["cells"]) is int
        assert kwargs["cells"] in (8, 16)


def test_fixed_values_may_be_left_out_or_repeated_as_they_are():
    space = Space({"x": ft.Real(0.0, 1.0), "held": None, "flag": True})
    for given in ({}, {"held": None}, {"held": None, "flag": np.bool_(True)}):
        assert space.check_params({"x": 0.5, **given}) == {"x": 0.5, "held": None, "flag": True}
    assert space.dimensions == 1


# Ends of what numbers can do -----------------------------------------------------------------------------------------------------


def test_a_bound_that_a_float_cannot_hold_is_refused():
    with pytest.raises(ft.SpaceError, match="rescale it"):
        Space({"k": ft.Integer(0, 2**53 + 1)})


@pytest.mark.parametrize("axis", [ft.Integer(1, 10**14, log=True), ft.Integer(-(10**13), 9 * 10**13)], ids=str)
def test_a_whole_number_that_is_taken_comes_back_however_large(axis):
    axis = Space({"k": axis}).axes["k"]
    values = [int(v) for v in np.random.default_rng(0).integers(10**13, 9 * 10**13, 1000)]
    assert axis.from_unit(axis.to_unit(values)) == values


def test_levels_that_are_an_array_of_no_dimension_are_refused():
    with pytest.raises(ft.SpaceError, match="list at least two"):
        Space({"x": ft.Real(0.0, 1.0)}, ft.Fidelity("n", levels=np.array(5.0)))


def test_an_array_in_place_of_a_fixed_value_is_refused():
    with pytest.raises(ft.SpaceError, match="held fixed"):
        Space({"x": ft.Real(0.0, 1.0), "held": 3}).check_params({"x": 0.5, "held": np.array([3, 3])})


@pytest.mark.parametrize("case", ["bytes", "array"])
def test_bytes_are_no_list_of_options_and_an_array_is(case):
    if case == "bytes":
        with pytest.raises(ft.SpaceError, match="give"):
            Space({"c": ft.Choice(b"ab")})
    else:
        assert Space({"c": ft.Choice(np.array(["a", "b"]))}).axes["c"].options == ("a", "b")
