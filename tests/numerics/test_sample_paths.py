"""Sample paths against the joint posterior they are drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from farthing.numerics import sample_paths
from farthing.numerics.gaussian_process import condition
from farthing.numerics.kernels import FAMILIES, Kernel, Probes
from farthing.numerics.sample_paths import SamplePaths


def two_processes(name="matern52", noise=1e-2, n=12):
    """Two kernels with unequal variances and lengthscales, and an unknown constant mean, after the same observations."""
    rng = np.random.default_rng(4)
    points = rng.random((n, 3))
    kernel = Kernel(FAMILIES[name], np.array([1.7, 0.6]), np.array([[0.4, 0.7, 1.3], [0.9, 0.3, 0.5]]), constant=0.8)
    values = np.sin(5.0 * points[:, 0]) - points[:, 1] ** 2 + 0.5
    return condition(kernel, Probes.values(points), values, np.full(n, noise))


@pytest.mark.parametrize("name", list(FAMILIES))
def test_mean_and_covariance_of_many_paths_are_those_of_the_posterior(name):
    """By z scores over 4,000 paths: a wrong spectrum, a missing noise draw or a missing mean would be tens of them off.

    The waves are drawn once for all paths of a process, and their own scatter is averaged out over batches.
    """
    process = two_processes(name)
    probes = np.random.default_rng(9).random((6, 3))
    mean, cov = process.predict(Probes.values(probes))
    batches, each = 40, 100
    rng = np.random.default_rng(1)
    drawn = np.stack([SamplePaths.draw(process, each, rng, waves=500).everywhere(probes) for _ in range(batches)])
    drawn = drawn.reshape(batches, 2, each, len(probes))
    error = np.sqrt(np.diagonal(cov, axis1=1, axis2=2) / (batches * each))
    assert np.abs((drawn.mean(axis=(0, 2)) - mean) / error).max() < 4.5
    off = drawn - mean[:, None]
    by_batch = np.einsum("bkri,bkrj->bkij", off, off) / each
    spread = by_batch.std(axis=0) / np.sqrt(batches)
    assert np.abs((by_batch.mean(axis=0) - cov) / spread).max() < 4.5


def test_without_noise_every_path_meets_every_observation():
    process = two_processes(noise=0.0)
    paths = SamplePaths.draw(process, 5, np.random.default_rng(2), waves=20)
    values = np.sin(5.0 * process.probes.points[:, 0]) - process.probes.points[:, 1] ** 2 + 0.5
    exactly = np.stack([paths.along(np.full(len(values), path), process.probes.points)[0] for path in range(10)])
    np.testing.assert_allclose(exactly, np.tile(values, (10, 1)), atol=1e-6)
    np.testing.assert_allclose(paths.everywhere(process.probes.points), exactly, atol=1e-5)


@pytest.mark.parametrize("apart", [1e-2, 1e-3])
def test_single_precision_does_not_show_between_crowded_observations(apart, monkeypatch):
    """Where a minimum is known to digits, rounding that differs between observations could bend the path between them."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((20, 3)), 0.5 + apart * rng.standard_normal((15, 3))])
    kernel = Kernel(FAMILIES["matern52"], np.ones(1), np.full((1, 3), 0.3), constant=1.0)
    process = condition(kernel, Probes.values(points), 3.0 * ((points - 0.5) ** 2).sum(axis=1), np.zeros(35))
    between = 0.5 + apart * rng.standard_normal((200, 3))

    def drawn():
        paths = SamplePaths.draw(process, 8, np.random.default_rng(1))
        return np.stack([paths.along(np.full(200, path), between)[0] for path in range(8)])

    def in_double(frequencies, cosines, sines, places):
        phases = np.matmul(frequencies, places.T)
        return np.matmul(cosines, np.cos(phases)) + np.matmul(sines, np.sin(phases))

    single = drawn()
    monkeypatch.setattr(sample_paths, "_waves", in_double)
    off = single - drawn()
    assert 0.0 < np.sqrt((off**2).mean()) < 0.1 * np.sqrt(process.marginals(between)[1].mean())


@pytest.mark.parametrize("name", list(FAMILIES))
def test_gradient_is_that_of_the_values(name):
    """Central differences, at asymmetric points on paths of both processes: a lengthscale of the wrong process would show."""
    paths = SamplePaths.draw(two_processes(name), 3, np.random.default_rng(3))
    points, which, step = np.random.default_rng(5).random((8, 3)), np.array([0, 5, 3, 2, 4, 1, 5, 0]), 1e-5
    value, gradient = paths.along(which, points)
    np.testing.assert_allclose(value, paths.everywhere(points)[which, np.arange(8)], atol=1e-5)  # single precision there
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        slope = (paths.along(which, points + shift)[0] - paths.along(which, points - shift)[0]) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, axis], slope, rtol=1e-6, atol=1e-6)
