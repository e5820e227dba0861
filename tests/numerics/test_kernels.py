"""Kernels and their derivative covariances, against mpmath kernels differentiated numerically (`oracles`)."""

import numpy as np
import pytest
from oracles import central_difference, kernel_covariance, kernel_scale

from farthing.errors import KernelError
from farthing.numerics.kernels import BLOCK, Kernel, Probes, covariance, covariance_lengthscale_derivative, family

AXES = range(3)
VALUE_AND_GRADIENT = [(), *[(i,) for i in AXES]]
EVERYTHING = [*VALUE_AND_GRADIENT, *[(i, j) for i in AXES for j in AXES]]
PROBED = {"matern52": EVERYTHING, "squared_exponential": EVERYTHING, "matern32": VALUE_AND_GRADIENT}
FAMILIES = pytest.mark.parametrize("name", PROBED)

# Rounding: at most 10 terms of about 10 operations each, none larger than a few times the scale that errors are measured in.
ROUNDING = 300 * np.finfo(float).eps


def two_kernels(name: str) -> Kernel:
    lengthscales = np.array([[0.31, 0.83, 1.9], [0.57, 0.23, 0.71]])
    return Kernel(family(name), np.array([1.7, 0.4]), lengthscales, constant=0.6)


@FAMILIES
def test_every_derivative_covariance_matches_differences_of_the_kernel(name):
    """A wrong sign, factor, axis or matching in any of the orders 0..2 + 0..2."""
    kernel = two_kernels(name)
    a = Probes.of(np.array([[0.13, 0.82, 0.41], [0.71, 0.04, 0.55]]), PROBED[name])
    b = Probes.of(np.array([[0.37, 0.55, 0.93]]), PROBED[name])
    error = np.abs(covariance(kernel, a, b) - kernel_covariance(kernel, a, b))
    assert (error / kernel_scale(kernel, a, b)).max() < ROUNDING


@FAMILIES
def test_derivative_covariances_at_zero_distance_are_the_limits(name):
    """A division by zero distance, or a limit other than the moments of the spectral density."""
    kernel = two_kernels(name)
    second = {"squared_exponential": 1.0, "matern32": 3.0, "matern52": 5.0 / 3.0}[name]
    fourth = {"squared_exponential": 1.0, "matern32": np.nan, "matern52": 25.0 / 3.0}[name]
    probes = Probes.of(np.array([[0.31, 0.77, 0.52]]), PROBED[name])
    found = covariance(kernel, probes, probes)
    for k, (variance, ell) in enumerate(zip(kernel.variance, kernel.lengthscales, strict=True)):
        for row, first in enumerate(PROBED[name]):
            for column, other in enumerate(PROBED[name]):
                axes = (*first, *other)
                sign = (-1.0) ** ((len(first) - len(other)) // 2)
                moment = {0: 1.0, 2: second, 4: fourth}.get(len(axes), 0.0)
                expected = sign * variance * moment * pairings(axes) / np.prod(ell[list(axes)]) + 0.6 * (not axes)
                assert found[k, row, column] == pytest.approx(expected, rel=1e-14, abs=1e-14)


def pairings(axes: tuple[int, ...]) -> int:
    """In how many ways the axes fall into pairs of equals: for four of them 3, 1 or 0."""
    if not axes:
        return 1
    first, rest = axes[0], axes[1:]
    return sum(pairings(rest[:i] + rest[i + 1 :]) for i, axis in enumerate(rest) if axis == first)


@FAMILIES
@pytest.mark.parametrize("separation", [1e-15, 1e-13, 1e-11, 1e-8, 1e-4])
def test_derivative_covariances_stay_right_as_points_meet(name, separation):
    """Powers of 1/distance that overflow, cancel, or are cut off too early. The cut at q < 1e-12 may cost a few dozen q."""
    kernel = two_kernels(name)
    point = np.array([[0.31, 0.77, 0.52]])
    asked = [axes for axes in PROBED[name] if list(axes) == sorted(axes)]
    a = Probes.of(point, asked)
    b = Probes.of(point + separation * np.array([0.8, -0.5, 0.3]), asked)
    error = np.abs(covariance(kernel, a, b) - kernel_covariance(kernel, a, b)) / kernel_scale(kernel, a, b)
    assert error.max() < ROUNDING + 50 * min(separation / 0.2, 1e-12)


@FAMILIES
def test_joint_covariance_of_values_gradients_and_hessians_is_positive_semidefinite(name):
    """A block that belongs to no random function: eigenvalues of the correlations fall below rounding."""
    kernel = two_kernels(name)
    points = np.random.default_rng(2).random((5, 3))
    points = np.concatenate([points, points[:1], points[1:2] + 1e-7])
    probes = Probes.of(points, [axes for axes in PROBED[name] if list(axes) == sorted(axes)])
    joint = covariance(kernel, probes, probes)
    sd = np.sqrt(np.diagonal(joint, axis1=1, axis2=2))
    assert np.linalg.eigvalsh(joint / (sd[:, :, None] * sd[:, None, :])).min() > -len(probes) * ROUNDING


@FAMILIES
@pytest.mark.parametrize("axis", AXES)
def test_lengthscale_derivative_matches_differences(name, axis):
    """A missing slot count or sign in d covariance / d log l, zero distance included."""
    kernel = two_kernels(name)
    a = Probes.of(np.array([[0.13, 0.82, 0.41], [0.71, 0.04, 0.55]]), PROBED[name])
    b = Probes.of(np.array([[0.71, 0.04, 0.55], [0.37, 0.55, 0.93]]), PROBED[name])

    def stretched(log_factor):
        lengthscales = kernel.lengthscales * np.exp(log_factor[0] * (np.arange(3) == axis))
        return covariance(Kernel(kernel.family, kernel.variance, lengthscales, kernel.constant), a, b)

    expected = central_difference(stretched, np.zeros(1), 1e-3)[..., 0]
    error = np.abs(covariance_lengthscale_derivative(kernel, a, b, axis) - expected)
    # The differences leave out step^4 = 1e-12 times a fifth derivative, and magnify rounding by 1/step.
    assert (error / kernel_scale(kernel, a, b)).max() < 1e-9


@FAMILIES
def test_fast_values_and_slopes_agree_with_the_covariance_of_probes(name):
    """The matrix product for distances, or a slope that is not dk/du."""
    kernel = two_kernels(name)
    rng = np.random.default_rng(3)
    a, b = rng.random((6, 3)), rng.random((4, 3))
    b[0] = a[0]
    value, slope = kernel.values_and_slopes(a, b)
    w = (a[:, None, :] - b[None, :, :])[None] / kernel.lengthscales[:, None, None, :] ** 2
    gradient = covariance(kernel, Probes.gradients(a, 3), Probes.values(b)).reshape(2, 6, 3, 4).transpose(0, 1, 3, 2)
    np.testing.assert_allclose(value, covariance(kernel, Probes.values(a), Probes.values(b)), rtol=1e-13)
    np.testing.assert_allclose(2.0 * slope[..., None] * w, gradient, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(kernel.values(a, b), value)


@pytest.mark.parametrize("count", [1, BLOCK, 2 * BLOCK + 7])
def test_many_values_and_their_upper_triangle_are_those_of_one_point_after_another(count):
    """A draw taken for another, a block left out, shifted or mirrored, at sizes that end with a block and within one."""
    kernel, points = two_kernels("matern52"), np.random.default_rng(8).random((count, 3))
    one_by_one = np.concatenate([kernel.values(point[None], points) for point in points], axis=1)
    np.testing.assert_allclose(kernel.values(points, points), one_by_one, rtol=1e-12)
    np.testing.assert_allclose(np.triu(kernel.upper(points)), np.triu(one_by_one), rtol=1e-12)


@FAMILIES
def test_short_lengthscales_do_not_ruin_the_distances(name):
    """|a|^2 - 2ab + |b|^2 loses eps * |a/l|^2 of u, here 1e-11, and no more."""
    kernel = Kernel(family(name), np.array([1.0]), np.full((1, 3), 0.01))
    a = np.array([[0.97, 0.91, 0.99]])
    b = a + np.array([[0.0, 0.0, 0.0], [0.002, 0.0, -0.001], [0.01, 0.02, 0.0]])
    exact = covariance(kernel, Probes.values(a), Probes.values(b))
    np.testing.assert_allclose(kernel.values(a, b), exact, atol=1e-10, rtol=0)


def test_probes_keep_the_order_they_promise():
    points = np.array([[0.1, 0.2], [0.3, 0.4]])
    hessians = Probes.hessians(points, 2)
    assert hessians.axes.tolist() == [[0, 0], [1, 0], [1, 1]] * 2
    assert hessians.points.tolist() == [[0.1, 0.2]] * 3 + [[0.3, 0.4]] * 3
    joined = Probes.values(points).join(Probes.gradients(points[:1], 2))
    assert joined.orders.tolist() == [0, 0, 1, 1]
    assert Probes.values(points).only_values
    assert not joined.only_values


@pytest.mark.parametrize("swapped", [False, True])
def test_matern32_refuses_a_hessian(swapped):
    kernel = two_kernels("matern32")
    pair = [Probes.values(np.zeros((1, 3))), Probes.hessians(np.ones((1, 3)), 3)]
    with pytest.raises(KernelError, match="derivative 2 was asked for; use matern52"):
        covariance(kernel, *pair[:: -1 if swapped else 1])


def test_an_unknown_kernel_is_refused_with_the_names_there_are():
    with pytest.raises(KernelError, match="no kernel 'cubic'; choose one of matern52, matern32, squared_exponential"):
        family("cubic")
