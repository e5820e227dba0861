"""The recommendation: where the mean is lowest, or a place tried, for what was seen there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import history_of, known_surrogate
from scipy.stats import norm

import farthing as ft
from farthing.method.local_minima import find_local_minima
from farthing.method.recommend import best_by_mean, recommend
from farthing.trials import Proposal

GRID = np.linspace(0.0, 1.0, 21)


def rough(x):
    """A bowl whose floor is uneven: much lower at one place than the mean, which takes that for noise."""
    return (x - 0.5) ** 2 * 8.0 - 0.6 * (np.abs(x - 0.35) < 0.01)


def known(values, noise=0.1, fidelity=None):
    points = GRID[:, None] if fidelity is None else np.column_stack([GRID, fidelity])
    surrogate = known_surrogate(points, values, 1, [[0.4] * points.shape[1]], noise=noise)
    minima = find_local_minima(surrogate, None, np.random.default_rng(0))
    return history_of(points, values, fidelity=fidelity is not None), surrogate, minima


def place(history, surrogate, minima, **settings):
    return recommend(history, surrogate, minima, ft.Settings(**settings)).params["x0"]


def test_what_was_seen_counts_by_how_likely_it_would_be_seen_again():
    """By hand: the mean here is the textbook's, and halfway between it and the value seen is below the mean's minimum."""
    history, surrogate, minima = known(rough(GRID))
    cov = np.array([[matern52(abs(a - b) / 0.4) for b in GRID] for a in GRID])
    constant = surrogate.process.kernel.constant
    mean = (cov + constant) @ np.linalg.solve(cov + constant + 0.1 * np.eye(21), rough(GRID))
    lowest, at = mean.min(), int(np.argmin(rough(GRID)))
    assert GRID[at] == pytest.approx(0.35)
    chances = [(0.0, mean[at]), (0.5, 0.5 * (mean[at] + rough(GRID)[at])), (1.0, rough(GRID)[at])]
    for repeatable, expected in chances:
        found = place(history, surrogate, minima, repeatable=repeatable)
        assert (found == pytest.approx(0.35)) == (expected < lowest)
    assert mean[at] > lowest > 0.5 * (mean[at] + rough(GRID)[at])  # so that both answers were asked for


def matern52(r):
    return (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r)


def test_the_value_told_is_the_mean_at_the_place_all_the_same():
    history, surrogate, minima = known(rough(GRID))
    best = recommend(history, surrogate, minima, ft.Settings())
    mean, variance = surrogate.mixture(np.array([[best.params["x0"]]]))
    assert best.mean == pytest.approx(mean[0])
    assert best.std == pytest.approx(np.sqrt(variance[0]))


def test_stated_noise_is_noise():
    history, surrogate, minima = known(rough(GRID))
    by_mean = best_by_mean(history, surrogate, minima)[0]
    assert place(history, surrogate, minima, noise=0.3) == pytest.approx(by_mean)
    stated = replace(history, trials=tuple(replace(t, noise=0.3) for t in history.trials))
    assert place(stated, surrogate, minima) == pytest.approx(by_mean)
    assert place(history, surrogate, minima) != pytest.approx(by_mean)


def test_of_repeated_evaluations_the_average_counts():
    history, surrogate, minima = known(rough(GRID))
    lucky = next(t for t in history.trials if t.params["x0"] == pytest.approx(0.35))
    repeats = tuple(replace(lucky, number=21 + i, order=21 + i, value=0.18) for i in range(3))
    assert place(replace(history, trials=history.trials + repeats), surrogate, minima) != pytest.approx(0.35)


def test_only_places_tried_at_full_fidelity_count_for_what_was_seen():
    fidelity = np.where(np.arange(21) % 2 == 0, 0.0, 0.1)
    history, surrogate, minima = known(rough(GRID), fidelity=fidelity)
    assert place(history, surrogate, minima) != pytest.approx(0.35)  # its s is 0.1
    full = known(rough(GRID), fidelity=np.zeros(21))
    assert place(*full) == pytest.approx(0.35)


def test_without_noise_the_rule_changes_nothing():
    history, surrogate, minima = known((GRID - 0.37) ** 2 * 8.0, noise=1e-8)
    found = [place(history, surrogate, minima, repeatable=r) for r in (0.0, 0.5, 1.0)]
    assert found[0] == found[1] == found[2] == pytest.approx(0.37, abs=2e-3)


def sparse(lengthscale, checked):
    """A bowl tried at full fidelity at five places, of which one was a check, and its minimum at none of them."""
    x = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
    values, points = (x - 0.37) ** 2 * 8.0, np.column_stack([x, np.zeros(5)])
    surrogate = known_surrogate(points, values, 1, [[lengthscale, 1.0]], noise=1e-8)
    minima = find_local_minima(surrogate, None, np.random.default_rng(0))
    history = history_of(points, values, fidelity=True)
    trials = [replace(t, proposal=Proposal("check")) if i == checked else t for i, t in enumerate(history.trials)]
    return replace(history, trials=tuple(trials)), surrogate, minima


@pytest.mark.parametrize(("lengthscale", "likely"), [(0.2, False), (1.0, True)])
def test_after_a_check_that_disappointed_a_place_that_was_not_tried_must_be_likely_to_be_better(lengthscale, likely):
    disappointed = sparse(lengthscale, checked=4)  # at 1, after the lowest, at 0.5
    _, surrogate, minima = disappointed
    mean, variance = surrogate.mixture(minima.x[:1])
    chance = norm.cdf((8.0 * 0.13**2 - mean[0]) / np.sqrt(variance[0]))
    assert chance > 0.5
    assert (chance > 0.8) == likely
    untried = pytest.approx(minima.x[0, 0], abs=1e-6)
    assert place(*disappointed) == (untried if likely else pytest.approx(0.5))
    assert place(*sparse(lengthscale, checked=2)) == untried  # was the lowest so far
    assert place(*disappointed, noise=0.1) == untried


@pytest.mark.parametrize("chance", [-0.1, 1.1, "half", None, float("nan")])
def test_the_chance_is_a_share(chance):
    with pytest.raises(ft.SettingsError, match="repeatable"):
        ft.Settings(repeatable=chance)
