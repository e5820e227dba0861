"""Minimizers of sample paths against the argmin of dense joint draws."""

from __future__ import annotations

import numpy as np
import pytest
from method.problems import known_surrogate
from method.test_support import bowl, dense_argmins, energy_distance

from farthing.method.local_minima import find_local_minima
from farthing.method.path_minimizers import _starts, follow_paths
from farthing.method.support import SAMPLERS


@pytest.mark.parametrize("seed", range(3))
def test_they_follow_the_argmin_of_dense_joint_draws(seed):
    surrogate = bowl(seed)
    rng = np.random.default_rng(30 + seed)
    truth = dense_argmins(surrogate, rng)
    minima = find_local_minima(surrogate, None, rng)
    support = SAMPLERS["wlh"](surrogate, minima, 300, rng)
    draws = np.concatenate([follow_paths(surrogate, support, 50, rng)[0] for _ in range(8)])
    assert energy_distance(draws, truth) < 0.02


def test_they_leave_a_support_that_is_in_the_wrong_place():
    """Falls towards the corner (1, 1), where no support point is: draws bound to the support could not get there."""
    rng = np.random.default_rng(0)
    points = 0.6 * rng.random((30, 2))
    values = -2.0 * points[:, 0] - 3.0 * points[:, 1]
    surrogate = known_surrogate(points, values - values.mean(), 2, [[2.0, 2.0]], noise=1e-5)
    draws = follow_paths(surrogate, 0.5 * rng.random((50, 2)), 100, rng)[0]
    assert (draws == 1.0).all(axis=1).mean() > 0.9


def test_they_lie_in_the_box_and_every_one_is_a_minimum_along_the_axes_inside():
    surrogate = bowl(1)
    rng = np.random.default_rng(8)
    minima = find_local_minima(surrogate, None, rng)
    drawn = follow_paths(surrogate, SAMPLERS["wlh"](surrogate, minima, 200, rng), 40, np.random.default_rng(1))
    again = follow_paths(surrogate, SAMPLERS["wlh"](surrogate, minima, 200, np.random.default_rng(9)), 40, np.random.default_rng(1))
    assert drawn.shape == (1, 40, 2)
    assert ((drawn >= 0.0) & (drawn <= 1.0)).all()
    # The same paths from other support points: most searches end in the same minimum.
    assert (np.abs(drawn - again).max(axis=2) < 5e-3).mean() > 0.8


def test_searches_begin_in_every_combination_of_choices():
    """Many good places with one choice and few bad ones with others: by value alone every search would begin with the one."""
    rng = np.random.default_rng(3)
    choices = np.repeat(np.eye(4), [50, 3, 3, 3], axis=0)
    values = rng.random((5, 59)) + 10.0 * (choices[:, 0] == 0.0)
    starts = _starts(values, choices)
    assert starts.shape == (5, 4)
    for path in range(5):
        assert sorted(choices[starts[path]].argmax(axis=1)) == [0, 1, 2, 3]
        for place in starts[path]:
            same = (choices == choices[place]).all(axis=1)
            assert values[path, place] == values[path, same].min()
    assert (np.diff(np.take_along_axis(values, starts, axis=1), axis=1) >= 0.0).all()


def test_without_choices_searches_begin_at_the_lowest_places():
    values = np.random.default_rng(4).random((3, 20))
    np.testing.assert_array_equal(_starts(values, np.empty((20, 0))), np.argsort(values, axis=1)[:, :3])
