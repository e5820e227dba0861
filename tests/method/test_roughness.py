"""Roughness: seen in how the lowest values are foretold by the others, and what follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import history_of, known_surrogate

import farthing as ft
from farthing.method.beliefs import believe
from farthing.method.local_minima import find_local_minima
from farthing.method.recommend import best_by_mean, recommend
from farthing.method.roughness import APART, FEWEST, LOWEST, NOISELESS, is_rough, is_uneven
from farthing.method.situation import Situation
from farthing.trials import Proposal

CERTAIN = ft.Settings(repeatable=1.0)


def known(unevenness, count=24, s=0.0, lengthscale=0.4):
    """A surrogate that takes a bowl for smooth, and what it saw: places all over, each a little better or worse by luck."""
    rng = np.random.default_rng(3)
    x = rng.random((count, 2))
    values = 4.0 * ((x - 0.4) ** 2).sum(axis=1) + unevenness * rng.standard_normal(count)
    points = np.column_stack([x, np.full(count, s)])
    surrogate = known_surrogate(points, values, 2, [[lengthscale, lengthscale, 1.0]], noise=1e-6)
    return history_of(points, values, fidelity=True), surrogate


def by_hand(surrogate):
    """Mean square of what the lowest are off by, in standard deviations: each foretold by a dense solve without it."""
    process, points = surrogate.process, surrogate.process.probes.points
    cov = process.kernel.values(points, points)[0] + np.diag(process.noise[0])
    found = []
    for i in np.argsort(surrogate.values)[:LOWEST]:
        others = np.arange(len(points)) != i
        weights = np.linalg.solve(cov[np.ix_(others, others)], cov[others, i])
        found.append((surrogate.values[i] - weights @ surrogate.values[others]) ** 2 / (cov[i, i] - weights @ cov[others, i]))
    return np.mean(found)


@pytest.mark.parametrize(("unevenness", "rough"), [(0.0, False), (0.3, True)])
def test_an_objective_is_rough_where_the_lowest_values_are_off_by_more_than_is_expected_of_them(unevenness, rough):
    history, surrogate = known(unevenness)
    assert (by_hand(surrogate) >= 1.0) == rough
    assert is_rough(history, surrogate, CERTAIN) == rough


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_limit_is_what_is_expected(factor):
    """Values that are so many times as far off, all of them, as would be one standard deviation."""
    history, surrogate = known(0.3)
    share = factor / np.sqrt(by_hand(surrogate))
    scaled = known_surrogate(surrogate.process.probes.points, share * surrogate.values, 2, [[0.4, 0.4, 1.0]], noise=1e-6)
    assert by_hand(scaled) == pytest.approx(factor**2, rel=1e-3)
    assert is_rough(history, scaled, CERTAIN) == (factor > 1.0)


def test_noise_is_not_roughness_nor_what_may_be_noise():
    history, surrogate = known(0.3)
    assert not is_rough(history, surrogate, ft.Settings())  # as likely as not to be repeatable
    assert not is_rough(history, surrogate, ft.Settings(repeatable=1.0, noise=0.3))
    stated = replace(history, trials=tuple(replace(t, noise=0.3) for t in history.trials))
    assert not is_rough(stated, surrogate, CERTAIN)


def test_a_repeat_tells():
    history, surrogate = known(0.3)
    first = history.trials[0]
    for value, rough in [(first.value, True), (first.value + 0.3, False)]:
        repeat = replace(first, number=24, order=24, value=value, proposal=Proposal("repeat"))
        assert is_rough(replace(history, trials=(*history.trials, repeat)), surrogate, ft.Settings()) == rough


@pytest.mark.parametrize(("count", "rough"), [(2 * LOWEST - 1, False), (2 * LOWEST, True)])
def test_it_takes_twice_as_many_values_as_the_lowest_by_which_it_is_judged(count, rough):
    history, surrogate = known(0.3, count)
    assert by_hand(surrogate) >= 1.0
    assert is_rough(history, surrogate, CERTAIN) == rough


def test_nothing_is_rough_that_was_not_seen_at_full_fidelity():
    history, surrogate = known(0.3, s=0.3)
    assert not is_rough(history, surrogate, CERTAIN)


def test_a_smooth_objective_is_not_rough_for_surprises_far_from_its_minimum():
    """Few full evaluations: near a minimum that is known well, and of doubt, where it is not as the surrogate expected."""
    rng = np.random.default_rng(5)
    near, far = 0.4 + 0.02 * rng.standard_normal((5, 2)), rng.random((6, 2))
    x = np.concatenate([near, far])
    values = 4.0 * ((x - 0.4) ** 2).sum(axis=1) + np.r_[np.zeros(5), np.sin(9.0 * far).sum(axis=1)]
    points = np.column_stack([x, np.zeros(11)])
    surrogate = known_surrogate(points, values, 2, [[1.5, 1.5, 1.0]], noise=1e-6)
    assert by_hand(surrogate) >= 1.0
    assert not is_rough(history_of(points, values, fidelity=True), surrogate, CERTAIN)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_an_objective_is_uneven_where_noise_is_inferred_and_there_is_none(share):
    """By most draws: their geometric mean, since the noise may be anything by orders of magnitude."""
    points, values = np.random.default_rng(0).random((24, 3)), np.arange(24.0)
    points[:, 2] = 0.0
    surrogate = known_surrogate(points, values, 2, [[0.4, 0.4, 1.0]] * 2, weights=[0.75, 0.25])
    noise = share * NOISELESS * np.array([0.1, 1e3])
    surrogate = replace(surrogate, noise=noise)
    assert np.prod(noise**surrogate.weights) == pytest.approx(share * NOISELESS)
    history = history_of(points, values, fidelity=True)
    assert is_uneven(history, surrogate, CERTAIN) == (share > 1.0)
    assert not is_uneven(history, surrogate, ft.Settings())  # it may be noise
    stated = replace(history, trials=tuple(replace(t, noise=0.3) for t in history.trials))
    assert not is_uneven(stated, surrogate, CERTAIN)


@pytest.mark.parametrize(("count", "uneven"), [(FEWEST - 1, False), (FEWEST, True)])
def test_it_takes_a_few_values_at_full_fidelity_to_call_it_uneven(count, uneven):
    points, values = np.random.default_rng(0).random((24, 3)), np.arange(24.0)
    points[:count, 2] = 0.0
    surrogate = known_surrogate(points, values, 2, [[0.4, 0.4, 1.0]], noise=10.0 * NOISELESS)
    assert is_uneven(history_of(points, values, fidelity=True), surrogate, CERTAIN) == uneven


def counting(change=lambda points, values: None, s=0.0):
    """Of 24 places, all values apart, to a surrogate that has no doubt of them; but for what is changed."""
    points, values = np.random.default_rng(0).random((24, 3)), np.linspace(1.0, 2.0, 24)
    points[:, 2] = s
    change(points, values)
    return history_of(points, values, fidelity=True), known_surrogate(points, values, 2, [[0.4, 0.4, 1.0]], noise=1e-8)


def tie(first, second, apart=None):
    def change(points, values):
        values[second] = values[first]
        if apart is not None:
            points[second, :2] = points[first, :2] + [0.0, apart]

    return change


@pytest.mark.parametrize(
    ("change", "s", "counts"),
    [
        (lambda points, values: None, 0.0, False),
        (tie(0, LOWEST - 1), 0.0, True),
        (tie(0, 1), 0.5, False),
        (tie(LOWEST, LOWEST + 1), 0.0, False),
        (tie(0, 1, 2.0 * APART), 0.0, True),
        (tie(0, 1, 0.5 * APART), 0.0, False),
    ],
    ids=["all apart", "the very same", "cheap", "among the higher", "apart", "close"],
)
def test_an_objective_counts_if_two_of_its_lowest_values_are_the_very_same_at_places_apart(change, s, counts):
    history, surrogate = counting(change, s)
    assert is_uneven(history, surrogate, CERTAIN) == counts
    assert not is_uneven(history, surrogate, ft.Settings())  # it may be chance, of what is noisy


@pytest.mark.parametrize(("count", "known_to"), [(FEWEST - 1, False), (FEWEST, True)])
def test_it_takes_a_few_values_to_tell_that_an_objective_counts(count, known_to):
    """Too few to be rough for surprises. One that counts is rough."""

    def few(points, values):
        points[count:, 2] = 0.5
        values[1] = values[0]

    history, surrogate = counting(few)
    assert is_rough(history, surrogate, CERTAIN) == known_to
    assert is_uneven(history, surrogate, CERTAIN) == known_to


def test_where_it_is_rough_a_place_that_was_tried_is_recommended_though_the_mean_is_lower_elsewhere():
    history, surrogate = known(0.3)
    minima = find_local_minima(surrogate, None, np.random.default_rng(0))
    by_mean = best_by_mean(history, surrogate, minima)
    tried = history.points[np.argmin(history.values), :2]
    assert surrogate.mean(by_mean[None])[0] < history.values.min()
    found = recommend(history, surrogate, minima, CERTAIN).params
    assert [found["x0"], found["x1"]] == pytest.approx(tried)
    smooth, sure = known(0.0)
    minima = find_local_minima(sure, None, np.random.default_rng(0))
    found = recommend(smooth, sure, minima, CERTAIN).params
    assert [found["x0"], found["x1"]] == pytest.approx(best_by_mean(smooth, sure, minima), abs=1e-9)


def test_a_study_of_something_rough_comes_to_know_it():
    """Not by a surrogate that is given: hyperparameters are learned, and may take the unevenness for a short lengthscale."""

    def evaluated(unevenness):
        study = ft.Study(
            {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)},
            fidelity=ft.Fidelity("s", cheap=1.0, full=0.0),
            seed=0,
            settings=ft.Settings(overhead_price=0.0, repeatable=1.0),
        )
        rng = np.random.default_rng(1)
        for x, y in np.concatenate([rng.random((12, 2)), 0.4 + 0.1 * rng.standard_normal((28, 2))]):
            value = 4.0 * ((x - 0.4) ** 2 + (y - 0.4) ** 2) + unevenness * rng.standard_normal()
            study.add({"x": float(x), "y": float(y)}, value, fidelity=0.0, cost=1.0)
        situation = Situation(study.history, study.method, study.settings, 0, None, 0.0)
        return is_rough(study.history, believe(situation).surrogate, study.settings)

    assert evaluated(0.02)
    assert not evaluated(0.0)
