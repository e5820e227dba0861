"""Minimization in a box, against exact bounded least squares, SciPy's L-BFGS-B and the known minima."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize, rosen, rosen_der

from farthing.numerics.box_search import minimize_in_box


class Quadratic:
    """|L (x - center)|^2 / 2 in random axes, with the given ratio of largest to smallest curvature."""

    def __init__(self, rng: np.random.Generator, axes: int, condition: float) -> None:
        basis = np.linalg.qr(rng.standard_normal((axes, axes)))[0]
        self.root = np.sqrt(np.geomspace(1.0, condition, axes))[:, None] * basis.T
        self.center = rng.uniform(-0.7, 1.7, axes)

    def __call__(self, x):
        residual = (x - self.center) @ self.root.T
        return 0.5 * (residual**2).sum(axis=1), residual @ self.root

    def minimum(self, lower, upper):
        """The exact minimizer, by bounded least squares with an active set."""
        return lsq_linear(self.root, self.root @ self.center, (lower, upper), method="bvls", tol=1e-15).x


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("axes", "condition"), [(1, 1.0), (3, 10.0), (6, 30.0)])
def test_convex_quadratics_with_active_faces_are_solved_from_every_start(seed, axes, condition):
    """A face never let go of, an axis projected that should be free, a start that stops another.

    The tolerance stops a search at a projected gradient of 1e-7, so at most (axes) 1e-7 / (smallest curvature, 1) from the minimum.
    """
    rng = np.random.default_rng(seed)
    quadratic = Quadratic(rng, axes, condition)
    starts = rng.random((6, axes))
    starts[0], starts[1] = 0.0, 1.0
    lower, upper = np.zeros(axes), np.ones(axes)
    found = minimize_in_box(quadratic, starts, lower, upper, evaluations=300, tolerance=1e-7)
    exact = quadratic.minimum(lower, upper)
    np.testing.assert_allclose(found.points, np.tile(exact, (6, 1)), atol=axes * 1e-6)
    np.testing.assert_allclose(found.values, quadratic(found.points)[0], rtol=1e-12, atol=1e-15)
    on_a_face = (exact == 0.0) | (exact == 1.0)
    assert (found.points[:, on_a_face] == exact[on_a_face]).all(), "a face was approached, not reached"


def test_the_quadratics_have_active_faces():
    """What the test above relies on."""
    lower, upper = np.zeros(6), np.ones(6)
    exact = [Quadratic(np.random.default_rng(seed), 6, 30.0).minimum(lower, upper) for seed in range(8)]
    assert sum(((x == 0.0) | (x == 1.0)).any() for x in exact) >= 6
    assert sum(((x > 0.0) & (x < 1.0)).any() for x in exact) >= 6


def rosenbrock(x):
    return rosen(x.T), rosen_der(x.T).T


@pytest.mark.parametrize(("lower", "upper"), [((-2.0, -2.0), (2.0, 2.0)), ((-2.0, -2.0), (0.6, 2.0))])
def test_rosenbrock_is_followed_to_its_constrained_minimum(lower, upper):
    """The valley's end lies inside, or beyond a face. L-BFGS-B, from each start, as the reference."""
    lower, upper = np.array(lower), np.array(upper)
    starts = np.random.default_rng(50).uniform(lower, upper, (8, 2))
    found = minimize_in_box(rosenbrock, starts, lower, upper, evaluations=2000, tolerance=1e-8)
    assert ((found.points >= lower) & (found.points <= upper)).all()
    for start, point, value in zip(starts, found.points, found.values, strict=True):
        options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
        reference = minimize(rosen, start, jac=rosen_der, bounds=list(zip(lower, upper, strict=True)), options=options)
        np.testing.assert_allclose(point, reference.x, atol=1e-4)
        assert value <= reference.fun + 1e-9


def test_a_quadratic_search_that_comes_close_to_a_face_goes_on():
    """One start in a hundred, where curvatures differ much: 600 of them, to a projected gradient that leaves 1e-9 to gain."""
    rng = np.random.default_rng(2)
    for _ in range(15):
        quadratic = Quadratic(rng, 6, 1e5)
        found = minimize_in_box(quadratic, rng.random((40, 6)), np.zeros(6), np.ones(6), evaluations=1000)
        exact = quadratic(quadratic.minimum(np.zeros(6), np.ones(6))[None])[0]
        assert (found.values - exact).max() < 1e-6


def test_a_valley_that_leads_to_a_face_is_followed_along_it():
    """One start in forty stops as it reaches the face y = 1.2, at (1.091, 1.2), value 0.02; the minimum there is 0.0091."""
    lower, upper = np.array([0.0, 1.2]), np.array([2.0, 3.0])
    starts = np.random.default_rng(0).uniform(lower, upper, (1000, 2))
    found = minimize_in_box(rosenbrock, starts, lower, upper, evaluations=1000)
    x = min(np.roots([400.0, 0.0, 2.0 - 480.0, -2.0]), key=lambda root: rosen([root.real, 1.2])).real
    assert found.values.max() - rosen([x, 1.2]) < 1e-6


def wavy(x):
    """Many local minima: a sum of sines, in axes that are not the box's."""
    waves = np.array([[9.0, 4.0, -3.0], [-2.0, 7.0, 5.0], [6.0, -5.0, 8.0]])
    phase = x @ waves.T + np.array([0.3, 1.1, 2.0])
    return np.sin(phase).sum(axis=1), np.cos(phase) @ waves


def projected_gradient(x, gradient):
    return np.where(((x <= 0.0) & (gradient > 0.0)) | ((x >= 1.0) & (gradient < 0.0)), 0.0, gradient)


def test_every_start_descends_to_a_stationary_point_of_its_own():
    """Searches mixed up when one of them leaves the batch: values would rise, or belong to other points."""
    starts = np.random.default_rng(51).random((60, 3))
    found = minimize_in_box(wavy, starts, np.zeros(3), np.ones(3), evaluations=300)
    values, gradients = wavy(found.points)
    np.testing.assert_allclose(found.values, values, atol=1e-12)
    assert (found.values <= wavy(starts)[0]).all()
    assert np.abs(projected_gradient(found.points, gradients)).max() < 1e-4
    assert len(np.unique(found.values.round(6))) > 5, "this function should have many minima"
    # Alone or in company, but for the rounding of products over a batch of another size.
    for i in range(0, 60, 10):
        alone = minimize_in_box(wavy, starts[i : i + 1], np.zeros(3), np.ones(3), evaluations=300)
        np.testing.assert_allclose(alone.points[0], found.points[i], atol=1e-5)


def test_no_point_outside_the_box_is_ever_evaluated():
    """Starts outside are brought in; steps beyond a face are cut."""
    asked = []

    def watched(x):
        asked.append(x.copy())
        return wavy(x)

    lower, upper = np.array([0.2, 0.0, -1.0]), np.array([0.3, 1.0, 2.0])
    starts = np.random.default_rng(52).uniform(-3.0, 3.0, (30, 3))
    found = minimize_in_box(watched, starts, lower, upper)
    everything = np.concatenate([*asked, found.points])
    assert (everything >= lower).all()
    assert (everything <= upper).all()


@pytest.mark.parametrize(("value", "slope"), [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, 0.0), (-9.0, np.nan)])
def test_values_that_are_not_finite_count_as_too_far(value, slope):
    """A slope that leads over a cliff, beyond which f or its gradient is no number: the search must end at the edge, before it."""

    def cliff(x):
        beyond = x[:, 0] > 0.6
        f = -x[:, 0] + (x[:, 1] - 0.4) ** 2
        gradient = np.stack([-np.ones(len(x)), 2.0 * (x[:, 1] - 0.4)], axis=1)
        return np.where(beyond, value, f), np.where(beyond[:, None], slope, gradient)

    found = minimize_in_box(cliff, np.array([[0.1, 0.9], [0.5, 0.1]]), np.zeros(2), np.ones(2), evaluations=200)
    assert (found.points[:, 0] <= 0.6).all()
    np.testing.assert_allclose(found.points[:, 0], 0.6, atol=1e-3)
    np.testing.assert_array_equal(found.values, cliff(found.points)[0])


@pytest.mark.parametrize("evaluations", [1, 2, 7])
def test_no_more_batches_than_allowed(evaluations):
    calls = []

    def counted(x):
        calls.append(len(x))
        return rosenbrock(x)

    starts = np.array([[-1.2, 1.0], [0.0, 0.0]])
    found = minimize_in_box(counted, starts, np.full(2, -2.0), np.full(2, 2.0), evaluations=evaluations)
    assert len(calls) == found.evaluations == evaluations
    np.testing.assert_allclose(found.values, rosenbrock(found.points)[0])


def test_finished_searches_leave_the_batch():
    """One start at the minimum, one far off: later batches hold the second alone."""
    calls = []

    def counted(x):
        calls.append(len(x))
        return rosenbrock(x)

    minimize_in_box(counted, np.array([[1.0, 1.0], [-1.2, 1.0]]), np.full(2, -2.0), np.full(2, 2.0))
    assert calls[0] == 2
    assert calls[-1] == 1
