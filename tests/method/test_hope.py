"""What is still to be hoped for elsewhere bounds how exactly a minimum is worth knowing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import known_surrogate
from scipy.stats import norm

import farthing as ft
from farthing.method.acquisition_search import maximize
from farthing.method.acquisitions import hope
from farthing.method.beliefs import believe
from farthing.method.deliberation import KNOW, SEEK, deliberate
from farthing.method.minimizers import condition_on_minimizers
from farthing.method.predictive_entropy import InformationGain
from farthing.method.situation import Situation
from farthing.methods import PES
from farthing.numerics.kernels import Probes


def surrogate_with_a_gap(with_fidelity):
    """One axis: two hyperparameter draws, values known but for a gap from 0.55 to 0.95."""
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
    values = np.array([0.8, 0.3, -0.4, -1.2, -0.3, 0.4, 0.9])
    points = np.column_stack([x, np.full(len(x), 0.2)]) if with_fidelity else x[:, None]
    lengthscales = [[0.15, 0.9], [0.22, 0.7]] if with_fidelity else [[0.15], [0.22]]
    return known_surrogate(points, values, 1, lengthscales, variances=[1.0, 1.4], noise=1e-6, weights=[0.7, 0.3])


def largest_improvement(surrogate, best):
    """By a grid of 20,001 places and the textbook's formula, draw by draw."""
    grid = surrogate.at_full_fidelity(np.linspace(0.0, 1.0, 20_001)[:, None])
    total = np.zeros(len(grid))
    for part in np.array_split(np.arange(len(grid)), 40):
        mean, covariance = surrogate.process.predict(Probes.values(grid[part]))
        sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 1e-300))
        z = (best - mean) / sd
        total[part] = surrogate.weights @ ((best - mean) * norm.cdf(z) + sd * norm.pdf(z))
    return total.max()


@pytest.mark.parametrize("best", [-1.2, -1.6, -3.0])
@pytest.mark.parametrize("with_fidelity", [False, True], ids=["x", "x and s"])
def test_hope_is_the_largest_expected_improvement(with_fidelity, best):
    surrogate = surrogate_with_a_gap(with_fidelity)
    found = hope(surrogate, best, None, np.array([[0.3]]), 64, np.random.default_rng(0))
    truth = largest_improvement(surrogate, best)
    assert truth > 1e-6
    assert found == pytest.approx(truth, rel=1e-2)


def test_what_is_pending_is_known_with_noise_and_what_has_failed_exactly():
    """One more observation with noise variance r leaves v r / (v + r) of a variance v; nothing is left where there is no noise."""
    noise = np.array([0.05, 0.2])
    surrogate = replace(surrogate_with_a_gap(False), noise=noise)
    pending, failed, none = np.array([[0.72]]), np.array([[0.78]]), np.empty((0, 1))
    before = surrogate.process.marginals(pending)[1][:, 0]
    after = surrogate.pretending(pending, none).process.marginals(pending)[1][:, 0]
    assert (before > 0.01).all()
    np.testing.assert_allclose(after, before * noise / (before + noise), rtol=1e-6)
    assert surrogate.pretending(none, failed).process.marginals(failed)[1].max() < 1e-8


def test_what_is_pending_is_not_hoped_for():
    surrogate = surrogate_with_a_gap(False)
    pretended = surrogate.pretending(np.array([[0.65], [0.75], [0.85]]), np.empty((0, 1)))
    open_gap, closed = (hope(s, -1.2, None, np.array([[0.3]]), 64, np.random.default_rng(0)) for s in (surrogate, pretended))
    assert closed < 0.5 * open_gap


def test_information_below_hope_does_not_count():
    """With hope h the gain is that of observations with h^2 more noise: little is left where f is known better than h."""
    surrogate = surrogate_with_a_gap(False)
    minimizers = np.array([[[0.31], [0.75]], [[0.29], [0.8]]])
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, np.array([[0.3], [0.75]]), PES())
    sharp, blunt = (InformationGain.of(surrogate, conditioned, 0.0, h) for h in (0.0, 0.1))
    np.testing.assert_allclose(blunt.noise - sharp.noise, 0.01, rtol=1e-9)
    known, unknown = np.array([[0.305]]), np.array([[0.75]])  # with a standard deviation of 0.02, and of 0.9
    assert sharp(known)[0] > 0.5
    assert blunt(known)[0] < 0.02
    assert blunt(unknown)[0] > 0.9 * sharp(unknown)[0]


def test_polishing_ends_where_more_is_to_be_hoped_for_elsewhere():
    """All minimizers are drawn in a well that is known well; a gap that may be lower is explored only if polishing does not pay."""
    near = np.array([0.002, 0.006, 0.012, 0.02, 0.035, 0.06])
    x = np.concatenate([[0.0, 0.1, 0.18], 0.3 - near, 0.3 + near, [0.42, 0.5, 0.6, 1.0]])
    values = 1.5 - 2.5 * np.exp(-(((x - 0.3) / 0.12) ** 2))
    surrogate = known_surrogate(x[:, None], values, 1, [[0.12]], noise=1e-9)
    minimizers, rivals = np.array([[[0.2995], [0.3006]]]), np.array([[0.3], [0.75], [0.85]])
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, rivals, PES())
    hoped = hope(surrogate, -1.0, None, np.array([[0.3]]), 64, np.random.default_rng(0))
    grid = np.concatenate([np.linspace(0.0, 1.0, 501), np.linspace(0.29, 0.31, 401)])[:, None]
    polishing, exploring = (grid[np.argmax(InformationGain.of(surrogate, conditioned, 0.0, h)(grid)), 0] for h in (0.0, hoped))
    assert abs(polishing - 0.3) < 0.01
    assert 0.65 < exploring < 0.97


@pytest.mark.parametrize("enough", [1e-3, 0.05])
def test_a_search_for_enough_ends_where_there_is_enough(enough):
    """What it finds is on the same side of `enough` as the truth."""
    surrogate = surrogate_with_a_gap(False)
    for best in (-1.2, -1.6, -2.2, -3.0):
        truth = largest_improvement(surrogate, best)
        found = hope(surrogate, best, None, np.array([[0.3]]), 64, np.random.default_rng(0), enough)
        assert (found >= enough) == (truth >= enough)
        assert found <= truth * (1.0 + 1e-6)


def test_to_deliberate_without_polishing_leads_away_from_a_known_minimum():
    """The same history and beliefs: the best candidate is nearer to the known minimum with polishing than without."""

    def distance(aim, seed):
        settings = ft.Settings(confirm=False, noise=0.0, thinking_share=1.0, initial=1)
        study = ft.Study({"x": ft.Real(0.0, 1.0)}, method="pes", seed=seed, settings=settings)
        near = np.array([0.001, 0.004, 0.01, 0.02, 0.03, 0.05])
        for x in [0.0, 0.1, 0.18, *(0.3 - near), *(0.3 + near), 0.4, 0.5, 0.56, 0.62, 0.66, 0.94, 1.0]:
            value = -0.5 * np.exp(-(((x - 0.3) / 0.1) ** 2)) + 0.3 * np.sin(30.0 * x) * (x > 0.45)
            study.add({"x": float(x)}, float(value))
        situation = Situation(study.history, study.method, settings, seed, None, 0.0)
        thought = deliberate(situation, believe(situation), np.random.default_rng(seed), aim)
        points, _ = maximize(thought.acquisition, thought.domain, thought.candidates, settings.starts)
        return abs(points[0, 0] - 0.3)

    assert np.median([distance(KNOW, seed) for seed in range(5)]) < 2e-3
    assert np.median([distance(SEEK, seed) for seed in range(5)]) > 5e-3
