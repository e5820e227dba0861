"""Support points and minimizer draws against the argmin of dense joint draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import known_surrogate, sampled_surrogate

from farthing.method.local_minima import find_local_minima
from farthing.method.minimizers import draw_minimizers
from farthing.method.support import SAMPLERS
from farthing.numerics.kernels import Probes


def energy_distance(a, b):
    """2 E|a - b| - E|a - a'| - E|b - b'|: zero only for equal distributions."""

    def mean_distance(p, q):
        return np.sqrt(((p[:, None] - q[None]) ** 2).sum(axis=2)).mean()

    return 2.0 * mean_distance(a, b) - mean_distance(a, a) - mean_distance(b, b)


def dense_argmins(surrogate, rng, side=45, draws=1500):
    """The minimizer of joint posterior draws on a grid over the whole square."""
    axis = np.linspace(0.0, 1.0, side)
    grid = np.array([(a, b) for a in axis for b in axis])
    mean, cov = surrogate.process.predict(Probes.values(surrogate.at_full_fidelity(grid)))
    lower = np.linalg.cholesky(cov[0] + 1e-8 * np.eye(len(grid)))
    return grid[(mean[0][:, None] + lower @ rng.standard_normal((len(grid), draws))).argmin(axis=0)]


def bowl(seed):
    """A curved valley seen at 25 points: a posterior with a clear minimum and some doubt about where exactly."""
    rng = np.random.default_rng(seed)
    points = rng.random((25, 2))
    values = 6.0 * (points[:, 0] - 0.4) ** 2 + 9.0 * (points[:, 1] - 0.6 + 0.5 * (points[:, 0] - 0.4)) ** 2
    values = values + 0.3 * np.sin(9.0 * points[:, 0])
    return known_surrogate(points, (values - values.mean()) / values.std(), 2, [[0.45, 0.45]], noise=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_wlh_support_is_nearer_to_the_minimizers_distribution_than_uniform_or_slice_over_ei(seed):
    """Energy distance between 1000 support points and 1500 dense argmins, in units of the square."""
    surrogate = bowl(seed)
    rng = np.random.default_rng(50 + seed)
    truth = dense_argmins(surrogate, rng)
    minima = find_local_minima(surrogate, None, rng)
    distance = {
        name: energy_distance(SAMPLERS[name](surrogate, minima, 1000, rng), truth) for name in ("wlh", "uniform", "ei_slice")
    }
    assert distance["wlh"] < distance["ei_slice"]
    assert distance["wlh"] < 0.2 * distance["uniform"]
    assert distance["wlh"] < 0.06


def test_wlh_gives_the_lower_of_two_minima_the_greater_weight():
    """Two well-known basins, the right one lower by far more than their doubt: reversed weights would turn this over."""
    axis = np.linspace(0.0, 1.0, 17)[:, None]
    values = np.cos(4.0 * np.pi * axis[:, 0]) - 0.4 * axis[:, 0]  # minima near 0.25 and 0.75
    surrogate = known_surrogate(axis, values, 1, [[0.25]], noise=1e-6)
    rng = np.random.default_rng(0)
    minima = find_local_minima(surrogate, None, rng)
    assert len(minima.x) >= 2
    support = SAMPLERS["wlh"](surrogate, minima, 1000, rng)[:, 0]
    near_lower, near_higher = (np.abs(support - 0.76) < 0.05).mean(), (np.abs(support - 0.26) < 0.05).mean()
    assert near_lower > 0.75
    assert near_higher < 0.1


@pytest.mark.parametrize("name", ["wlh", "uniform"])
@pytest.mark.parametrize("seed", range(3))
def test_minimizer_draws_follow_the_argmin_of_dense_joint_draws(seed, name):
    """Whatever the support, the joint draw over it corrects the draws: nearer still, and far nearer than uniform points."""
    surrogate = bowl(seed)
    rng = np.random.default_rng(80 + seed)
    truth = dense_argmins(surrogate, rng)
    minima = find_local_minima(surrogate, None, rng)
    draws = np.concatenate([draw_minimizers(surrogate, SAMPLERS[name](surrogate, minima, 600, rng), 50, rng)[0] for _ in range(8)])
    assert energy_distance(draws, truth) < 0.02
    assert energy_distance(rng.random((400, 2)), truth) > 0.1


def test_minimum_on_a_face_keeps_its_draws_on_that_face():
    """Falls towards x0 = 0: the paper's local model, which wants a vanishing gradient there, would spread draws over the inside."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((30, 2)), np.column_stack([np.zeros(5), np.linspace(0.1, 0.9, 5)])])
    values = 3.0 * points[:, 0] + 4.0 * (points[:, 1] - 0.5) ** 2
    surrogate = known_surrogate(points, values - values.mean(), 2, [[0.6, 0.6]], noise=1e-5)
    minima = find_local_minima(surrogate, None, rng)
    support = SAMPLERS["wlh"](surrogate, minima, 1000, rng)
    assert (support[:, 0] == 0.0).mean() > 0.7
    draws = draw_minimizers(surrogate, support, 100, rng)[0]
    assert (draws[:, 0] == 0.0).mean() > 0.95
    assert np.abs(draws[:, 1] - 0.5).max() < 0.3


@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("axes", [1, 3])
def test_every_sampler_gives_as_many_points_inside_the_box_as_asked_for(name, axes):
    surrogate = sampled_surrogate(1, axes, axes, 6, [0.3] * axes)
    rng = np.random.default_rng(0)
    support = SAMPLERS[name](surrogate, find_local_minima(surrogate, None, rng), 130, rng)
    assert support.shape == (130, axes)
    assert ((support >= 0.0) & (support <= 1.0)).all()


def test_wlh_does_not_pile_points_on_faces_when_the_minimum_is_inside():
    """Clipping would: here a quarter of the local Gaussian lies beyond the face."""
    rng = np.random.default_rng(3)
    points = rng.random((12, 2))
    values = ((points - np.array([0.06, 0.5])) ** 2).sum(axis=1)
    surrogate = known_surrogate(points, (values - values.mean()) / values.std(), 2, [[0.5, 0.5]], noise=1e-2)
    minima = find_local_minima(surrogate, None, rng)
    inside = minima.x[(minima.x > 0.0).all(axis=1) & (minima.x < 1.0).all(axis=1)]
    assert len(inside)
    support = SAMPLERS["wlh"](surrogate, replace(minima, x=inside, mean=np.zeros(len(inside))), 1000, rng)
    assert not ((support == 0.0) | (support == 1.0)).any()


def test_local_minima_are_minima_of_the_mean():
    surrogate = sampled_surrogate(6, 2, 2, 15, [0.2, 0.2])
    minima = find_local_minima(surrogate, None, np.random.default_rng(0))
    dense = np.random.default_rng(1).random((20_000, 2))
    mean, _ = surrogate.mixture(dense)
    assert minima.mean[0] <= mean.min() + 1e-6
    for x, value in zip(minima.x, minima.mean, strict=True):
        near = np.clip(x + 1e-3 * np.random.default_rng(2).standard_normal((200, 2)), 0.0, 1.0)
        assert surrogate.mixture(near)[0].min() >= value - 1e-6
