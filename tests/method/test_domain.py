"""What can be decided, and the search among it: against exhaustive search over whole numbers and choices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from oracles import central_difference

import farthing as ft
from farthing.axes import HOT
from farthing.method.acquisition_search import Acquisition, maximize
from farthing.method.domain import Domain
from farthing.numerics.box_search import minimize_in_box
from farthing.space import Space

LEVELS = ft.Fidelity("cells", levels=[8, 16, 64], log=True)
EPOCHS = ft.Fidelity("epochs", cheap=1, full=5, integer=True)
TOLERANCE = ft.Fidelity("tolerance", cheap=0.1, full=0.001, log=True)
MIXED = Space(
    {
        "c": ft.Choice(["a", "b", "c", "d"]),
        "x": ft.Real(0.0, 1.0),
        "k": ft.Integer(1, 9),
        "d": ft.Choice([True, False]),
        "y": ft.Real(1.0, 2.0),
        "n": ft.Integer(1, 16, log=True),
    }
)
SMALL = {"k": ft.Integer(-1, 2), "c": ft.Choice(["a", None, 2])}


def on_the_grid(domain, points):
    """Whether each point is, to the bit, the unit point of the parameters and the fidelity that it stands for."""
    space = domain.space
    exact = space.unit_points([space.params(p) for p in points[:, : space.dimensions]])
    discrete = slice(space.reals, space.dimensions)
    same = (exact[:, discrete] == points[:, discrete]).all(axis=1)
    if domain.with_fidelity and math.isfinite(space.fidelity.count):
        s = space.unit_fidelities([space.fidelity_value(float(v)) for v in points[:, -1]])
        same &= s == points[:, -1]
    return bool(same.all() and (points >= 0.0).all() and (points <= 1.0).all())


class Mixed:
    """A random function of MIXED: a parabola in the reals around a place that the choices set, rough in the whole numbers.

    With u and v the unit columns of k and n, and a base for every pair of choices:
        a (x - X_c)^2 + a (y - Y_d)^2 + e (x - X_c) (u - T_d) + b (u - T_d)^2 + ripple cos(w u + c) + b (v - V_c)^2 + base_cd
    """

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.a, self.b, self.e = rng.uniform(1.0, 4.0), rng.uniform(0.5, 2.0), rng.uniform(-1.0, 1.0)
        self.ripple, self.w = rng.uniform(0.02, 0.1), rng.uniform(5.0, 15.0)
        self.x, self.v = rng.uniform(-0.1, 1.1, 4), rng.random(4)
        self.y, self.t = rng.uniform(-0.1, 1.1, 2), rng.random(2)
        self.base = rng.uniform(0.0, 0.4, (4, 2))

    def of(self, x, y, u, v, c, d):
        dx, du = x - self.x[c], u - self.t[d]
        rough = self.ripple * np.cos(self.w * u + c)
        bowl = self.a * (dx**2 + (y - self.y[d]) ** 2) + self.e * dx * du + self.b * (du**2 + (v - self.v[c]) ** 2)
        return bowl + rough + self.base[c, d]

    def __call__(self, z):
        x, y, u, v = z[:, :4].T
        c, d = z[:, 4:8].argmax(axis=1), z[:, 8:10].argmax(axis=1)
        assert np.isclose(z[:, 4:8].sum(axis=1), HOT).all()  # choices are exchanged whole, never blended
        dx, du = x - self.x[c], u - self.t[d]
        gradient = np.full(z.shape, 17.0)  # nonsense along choices: it must not be followed
        gradient[:, 0] = 2.0 * self.a * dx + self.e * du
        gradient[:, 1] = 2.0 * self.a * (y - self.y[d])
        gradient[:, 2] = self.e * dx + 2.0 * self.b * du - self.ripple * self.w * np.sin(self.w * u + c)
        gradient[:, 3] = 2.0 * self.b * (v - self.v[c])
        return self.of(x, y, u, v, c, d), gradient

    def minima(self):
        """The lowest value for every pair of choices (4, 2), by exhaustion: a parabola in x and y for every k and n."""
        u = np.arange(9) / 8.0
        v = np.log(np.arange(1, 17)) / math.log(16.0)
        out = np.empty((4, 2))
        for c, d in itertools.product(range(4), range(2)):
            x = np.clip(self.x[c] - self.e * (u - self.t[d]) / (2.0 * self.a), 0.0, 1.0)
            y = np.clip(self.y[d], 0.0, 1.0)
            out[c, d] = self.of(x[:, None], y, u[:, None], v[None], c, d).min()
        return out


def starts_for(domain, count, seed):
    return domain.scatter(np.random.default_rng(seed).random((count, domain.columns)))


# The domain itself ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fidelity", "levels"), [(None, [None]), (LEVELS, [8, 16, 64]), (EPOCHS, [1, 2, 3, 4, 5])], ids=["none", "levels", "epochs"]
)
def test_every_decision_of_a_finite_domain_is_listed_once_and_lies_on_the_grid(fidelity, levels):
    space = Space(SMALL, fidelity)
    domain = Domain(space, with_fidelity=fidelity is not None)
    points = domain.every()
    expected = list(itertools.product(range(-1, 3), ["a", None, 2], levels))
    assert domain.count == len(expected)
    assert points.shape == (len(expected), domain.columns)
    found = [(*space.params(p[:4]).values(), space.fidelity_value(float(p[-1])) if fidelity else None) for p in points]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert on_the_grid(domain, points)


def test_a_domain_has_the_fidelity_only_where_it_is_chosen_and_counts_what_is_infinite_as_such():
    space = Space(SMALL, LEVELS)
    assert Domain(space, False).columns == 4
    assert Domain(space, False).count == 12
    assert Domain(space, True).columns == 5
    assert Domain(Space(SMALL, TOLERANCE), True).count == math.inf
    assert Domain(MIXED, False).count == math.inf


def test_gaps_and_choices_are_known_column_by_column():
    assert Domain(Space(MIXED.axes, TOLERANCE), True).discrete.tolist() == [0, 0] + [1] * 8 + [0]
    assert Domain(Space(MIXED.axes, LEVELS), True).discrete.tolist() == [0, 0] + [1] * 9
    assert Domain(Space(MIXED.axes, LEVELS), True).exchanged.tolist() == [0] * 4 + [1] * 6 + [0]


@pytest.mark.parametrize("fidelity", [LEVELS, EPOCHS, TOLERANCE], ids=["levels", "epochs", "tolerance"])
def test_snapped_and_scattered_points_lie_on_the_grid_and_real_columns_stay(fidelity):
    domain = Domain(Space(MIXED.axes, fidelity), True)
    unit = np.random.default_rng(0).random((300, domain.columns))
    for points in (domain.snap(unit), domain.scatter(unit)):
        assert on_the_grid(domain, points)
        np.testing.assert_array_equal(points[:, :2], unit[:, :2])
        np.testing.assert_array_equal(domain.snap(points), points)
    if fidelity is TOLERANCE:
        np.testing.assert_array_equal(domain.snap(unit)[:, -1], unit[:, -1])


def test_beside_a_decision_are_those_one_step_away_and_with_an_exchange_the_other_choices():
    domain = Domain(Space(SMALL, LEVELS), True)
    point = np.append(domain.space.unit_points([{"k": -1, "c": None}])[0], LEVELS.checked().to_unit(16))

    def changes(exchange):
        out = []
        for p in domain.beside(point, exchange):
            params = domain.space.params(p[:-1])
            out.append((params["k"], params["c"], domain.space.fidelity_value(float(p[-1]))))
        return sorted(map(repr, out))

    steps = [(0, None, 16), (-1, None, 8), (-1, None, 64)]
    assert changes(False) == sorted(map(repr, steps))
    assert changes(True) == sorted(map(repr, [*steps, (-1, "a", 16), (-1, 2, 16)]))


# The search ----------------------------------------------------------------------------------------------------------------------


def test_the_test_function_has_the_gradient_it_says():
    """What follows is judged by it."""
    function = Mixed(0)
    z = starts_for(Domain(MIXED, False), 3, 1)
    for point in z:
        shift = lambda t, point=point: function((point + np.append(t, np.zeros(6)))[None])[0][0]  # noqa: E731
        np.testing.assert_allclose(function(point[None])[1][0, :4], central_difference(shift, np.zeros(4), 1e-3), atol=1e-7)


def test_the_lowest_of_all_choices_and_whole_numbers_is_found_in_most_problems():
    """60 problems of 8 combinations of choices times 144 of whole numbers, 20 random starts each; exhaustion is the judge."""
    domain = Domain(MIXED, False)
    found = []
    for seed in range(60):
        function = Mixed(seed)
        points, values = domain.minimize(function, starts_for(domain, 20, 1000 + seed), evaluations=40)
        best, exact = values.min(), function.minima().min()
        assert best >= exact - 1e-9  # nothing is below what exhaustion finds: results lie on the grid
        assert on_the_grid(domain, points)
        found.append(best < exact + 1e-5)
    assert np.mean(found) >= 0.75  # 0.87, with a standard deviation of 0.04


def test_a_search_ends_where_no_exchange_of_a_choice_and_hardly_a_step_is_better():
    """From four starts, all of which may move: a fifth of them would end beside a better choice if none was ever tried."""
    domain = Domain(MIXED, False)
    settled = {True: [], False: []}
    for seed in range(40):
        function = Mixed(seed)
        for point, value in zip(*domain.minimize(function, starts_for(domain, 4, 1000 + seed), evaluations=40), strict=True):
            beside = domain.beside(point, exchange=True)
            exchanged = (beside[:, 4:] != point[4:]).any(axis=1)
            for kind in settled:
                settled[kind].append(function(beside[exchanged == kind])[0].min() >= value)
    assert np.mean(settled[True]) >= 0.97
    assert np.mean(settled[False]) >= 0.85


def test_without_an_exchange_each_search_keeps_its_choices_and_finds_their_minimum():
    domain = Domain(MIXED, False)
    near = []
    for seed in range(20):
        function = Mixed(seed)
        starts = starts_for(domain, 64, 2000 + seed)
        # Four at a time, all of which may be moved.
        searched = [domain.minimize(function, part, evaluations=40, exchange=False) for part in np.split(starts, 16)]
        points, values = (np.concatenate(found) for found in zip(*searched, strict=True))
        np.testing.assert_array_equal(points[:, 4:], starts[:, 4:])
        exact = function.minima()
        c, d = points[:, 4:8].argmax(axis=1), points[:, 8:].argmax(axis=1)
        assert (values >= exact[c, d] - 1e-9).all()
        pairs = set(zip(c.tolist(), d.tolist(), strict=True))
        near += [values[(c == i) & (d == j)].min() < exact[i, j] + 1e-5 for i, j in pairs]
    assert np.mean(near) >= 0.8


def test_what_is_returned_is_the_function_at_the_points_and_no_worse_than_the_snapped_start():
    domain = Domain(MIXED, False)
    function = Mixed(3)
    starts = starts_for(domain, 20, 5)
    before = starts.copy()
    points, values = domain.minimize(function, starts, evaluations=40)
    np.testing.assert_array_equal(starts, before)
    np.testing.assert_allclose(values, function(points)[0], rtol=1e-12)
    assert np.median(values) < np.median(function(starts)[0])
    # A fine search ends where the gradient along the real columns vanishes, or presses against a face.
    gradient = function(points)[1][:, :2]
    inside = (points[:, :2] > 0.0) & (points[:, :2] < 1.0)
    assert np.abs(np.where(inside, gradient, 0.0)).max() < 1e-4


def test_whole_numbers_are_searched_as_such_and_not_rounded_from_a_relaxed_minimum():
    """Between 3 and 4 the relaxed function has a deep and narrow minimum; whole numbers fall from 4 to 7, three steps away."""
    space = Space({"k": ft.Integer(0, 10)})
    domain = Domain(space, False)

    def function(z):
        u = z[:, 0]
        dip, at = np.exp(-(((u - 0.35) / 0.015) ** 2)), (u - 0.7)
        return at**2 - 3.0 * dip, (2.0 * at + 6.0 * dip * (u - 0.35) / 0.015**2)[:, None]

    points, values = domain.minimize(function, np.array([[0.36]]), evaluations=40)
    assert space.params(points[0]) == {"k": 7}
    assert values[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("fidelity", [LEVELS, EPOCHS], ids=["levels", "epochs"])
def test_a_finite_domain_is_searched_without_any_gradient(fidelity):
    """Steps and exchanges are all there is; a table at random has no gradient, nor does it need one."""
    domain = Domain(Space(SMALL, fidelity), True)
    every = domain.every()
    for seed in range(10):
        table = dict(zip(map(bytes, every), np.random.default_rng(seed).random(len(every)), strict=True))

        def function(z, table=table):
            return np.array([table[bytes(p)] for p in z]), np.zeros(z.shape)

        points, values = domain.minimize(function, every, evaluations=10)
        assert values.min() == min(table.values())
        assert all(table[bytes(p)] == v for p, v in zip(points, values, strict=True))
        assert (values <= function(every)[0]).all()
        one, value = domain.minimize(function, every[:1], evaluations=10)
        lower = function(domain.beside(every[0], exchange=True))[0].min()
        assert value[0] <= min(lower, table[bytes(every[0])])
        assert on_the_grid(domain, one)


def test_a_domain_of_real_columns_alone_is_searched_as_a_box():
    domain = Domain(Space({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}, TOLERANCE), True)

    def function(z):
        product = np.column_stack([z[:, 1], z[:, 0], np.zeros(len(z))])
        return ((z - 0.3) ** 4).sum(axis=1) + z[:, 0] * z[:, 1], 4.0 * (z - 0.3) ** 3 + product

    starts = np.random.default_rng(0).random((5, 3))
    points, values = domain.minimize(function, starts, evaluations=30, tolerance=1e-5)
    plain = minimize_in_box(function, starts, np.zeros(3), np.ones(3), evaluations=30, tolerance=1e-5)
    np.testing.assert_array_equal(points, plain.points)
    np.testing.assert_array_equal(values, plain.values)


def test_the_acquisition_search_returns_decisions_on_the_grid_best_first():
    domain = Domain(Space(MIXED.axes, LEVELS), True)
    function = Mixed(7)

    def with_gradient(z):
        value, gradient = function(z[:, :-1])
        return -value - (z[:, -1] - 0.4) ** 2, -np.column_stack([gradient, 2.0 * (z[:, -1] - 0.4)])

    acquisition = Acquisition(lambda z: with_gradient(z)[0], with_gradient)
    candidates = starts_for(domain, 60, 0)
    points, values = maximize(acquisition, domain, candidates, starts=6)
    assert on_the_grid(domain, points)
    assert (np.diff(values) <= 0.0).all()
    np.testing.assert_allclose(values, acquisition.value(points), rtol=1e-9)
    s = LEVELS.checked().to_unit([8, 16, 64])
    exact = -function.minima().min() - ((s - 0.4) ** 2).min()
    assert values[0] <= exact + 1e-9
    assert values[0] > exact - 0.05
    assert values[0] > acquisition.value(candidates).max()
