"""Hyperparameter draws against the exact posterior on a grid; when they are moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from method.problems import history_of
from oracles import effective_size

import farthing as ft
from farthing.method.hyperparameters import Posterior, first_draws, laplace_whitening, most_probable, move_draws
from farthing.method.standardization import Standardization
from farthing.method.surrogate import fit_surrogate
from farthing.numerics.kernels import Kernel, family
from farthing.trials import Carried


@pytest.fixture(scope="module")
def problem():
    """One axis and known noise: two hyperparameters, so that a grid gives the exact posterior."""
    rng = np.random.default_rng(0)
    points = rng.random((9, 1))
    history = history_of(points, np.sin(6.0 * points[:, 0]) + 0.5 * points[:, 0])
    settings = ft.Settings(noise=0.05, draws=24)
    return Posterior.of(history, Standardization.of(history.values), settings), settings


def log_posterior_by_hand(posterior, vectors):
    """Textbook: multivariate normal density of the values, times Gaussian priors on the logs."""
    evidence = posterior.evidence
    out = []
    for v in vectors:
        kernel = Kernel(family("matern52"), np.exp(v[:1]), np.exp(v[None, 1:-1]), evidence.constant)
        n = len(evidence.values)
        cov = kernel.values(evidence.points, evidence.points)[0] + np.diag(np.exp(v[-1]) + evidence.noise)
        sign, logdet = np.linalg.slogdet(cov)
        assert sign > 0
        quadratic = evidence.values @ np.linalg.solve(cov, evidence.values)
        prior = (((v - posterior.prior_mean) / np.where(posterior.prior_sd > 0, posterior.prior_sd, 1.0)) ** 2).sum()
        out.append(-0.5 * (quadratic + logdet + n * np.log(2 * np.pi) + prior))
    return np.array(out)


def test_density_and_gradient(problem):
    posterior, _ = problem
    rng = np.random.default_rng(1)
    vectors = posterior.prior_mean + 0.7 * posterior.prior_sd * rng.standard_normal((5, 3))
    density, gradient = posterior.log_density_and_gradient(vectors)
    np.testing.assert_allclose(density, posterior.log_density(vectors), rtol=1e-10)
    np.testing.assert_allclose(density, log_posterior_by_hand(posterior, vectors), rtol=1e-6)
    for axis in range(2):
        shift = 1e-5 * np.eye(3)[axis]
        numeric = (posterior.log_density(vectors + shift) - posterior.log_density(vectors - shift)) / 2e-5
        np.testing.assert_allclose(gradient[:, axis], numeric, rtol=1e-4, atol=1e-5)
    assert (gradient[:, 2] == 0.0).all()  # the noise is known


@pytest.mark.parametrize(("axes", "median"), [(2, 0.5), (8, 1.0)])
def test_the_prior_of_lengthscales_grows_with_the_square_root_of_the_number_of_axes(axes, median):
    """0.35 sqrt(d): of two axes the 0.5 that was right for one or two, twice that for eight."""
    study = ft.Study({f"x{i}": ft.Real(0.0, 1.0) for i in range(axes)}, seed=0)
    study.add({f"x{i}": 0.5 for i in range(axes)}, 1.0)
    posterior = Posterior.of(study.history, Standardization.of(study.history.values), ft.Settings())
    np.testing.assert_allclose(np.exp(posterior.prior_mean[1 : 1 + axes]), median, rtol=0.02)


@pytest.mark.parametrize("sampler", ["hmc", "whitened_slice", "slice"])
def test_draws_follow_the_exact_posterior(problem, sampler):
    """Marginals of the chains against the grid's CDF, Kolmogorov-Smirnov with the chains' effective size; and never collapsed."""
    posterior, settings = problem
    settings = ft.Settings(noise=0.05, draws=24, sampler=sampler)
    axes = [np.linspace(m - 5 * s, m + 5 * s, 141) for m, s in zip(posterior.prior_mean[:2], posterior.prior_sd[:2], strict=True)]
    grid = np.array([(a, b, posterior.prior_mean[2]) for a in axes[0] for b in axes[1]])
    density = np.exp(log_posterior_by_hand(posterior, grid) - log_posterior_by_hand(posterior, grid).max()).reshape(141, 141)
    rng = np.random.default_rng(3)
    draws = first_draws(posterior, settings, rng)
    chain = []
    uniform = np.full(len(draws), 1.0 / len(draws))
    for _ in range(120):
        # Equal weights: resampling is then the identity, and only the chain moves.
        draws = move_draws(posterior, draws, uniform, settings, rng)
        chain.append(draws)
    chain = np.array(chain)  # (steps, chains, P)
    for axis in range(2):
        marginal = density.sum(axis=1 - axis)
        cdf = np.cumsum(marginal) / marginal.sum()
        flat = np.sort(chain[..., axis].ravel())
        empirical = np.arange(1, len(flat) + 1) / len(flat)
        step = axes[axis][1] - axes[axis][0]
        distance = np.abs(empirical - np.interp(flat, axes[axis] + 0.5 * step, cdf)).max()
        size = effective_size(chain[..., axis].T)
        assert size > 200
        assert distance < 1.95 / np.sqrt(size)  # one in a thousand


def test_laplace_whitening_is_the_inverse_hessian_at_the_mode(problem):
    posterior, _ = problem
    mode = most_probable(posterior, posterior.prior_mean[None])
    whitening = laplace_whitening(posterior, mode)
    step, hessian = 1e-3, np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            a, b = step * np.eye(3)[i], step * np.eye(3)[j]
            corners = np.array([mode + a + b, mode + a - b, mode - a + b, mode - a - b])
            value = posterior.log_density(corners)
            hessian[i, j] = -(value[0] - value[1] - value[2] + value[3]) / (4 * step**2)
    np.testing.assert_allclose((whitening @ whitening.T)[:2, :2], np.linalg.inv(hessian), rtol=0.05, atol=1e-3)
    assert (
        posterior.log_density(mode + 0.05 * np.random.default_rng(0).standard_normal((50, 3)) * posterior.free)
        <= posterior.log_density(mode[None]) + 1e-3
    ).all()


class Walled:
    """An evidence that is flat, or hollow, within 0.3 of the origin along the first of two entries, and falls steeply beyond."""

    def __init__(self, hollow):
        self.hollow = hollow

    def __call__(self, vectors):
        return self.with_gradient(vectors)[0]

    def with_gradient(self, vectors):
        beyond = np.maximum(np.abs(vectors[:, 0]) - 0.3, 0.0)
        slope = np.zeros(vectors.shape)
        slope[:, 0] = 2.0 * self.hollow * vectors[:, 0] - 2e6 * beyond * np.sign(vectors[:, 0])
        return self.hollow * vectors[:, 0] ** 2 - 1e6 * beyond**2, slope, None


def test_no_draw_is_left_where_the_laplace_approximation_is_wrong():
    """Its draws have a standard deviation of 1, and all but a third of them lie behind the wall, by up to a million nats."""
    posterior = Posterior(Walled(0.0), np.zeros(2), np.array([1.0, 3.0]))
    draws = first_draws(posterior, ft.Settings(draws=64), np.random.default_rng(0))
    assert (posterior.log_density(draws) > -20.0).all()
    assert np.abs(draws[:, 0]).max() < 0.31
    assert np.abs(draws[:, 0]).mean() > 0.1  # and they are not all at the mode


def test_laplace_whitening_is_no_wider_than_the_prior():
    """Where the density is lowest between two modes, its curvature has the wrong sign."""
    whitening = laplace_whitening(Posterior(Walled(5.0), np.zeros(2), np.array([1.0, 3.0])), np.zeros(2))
    np.testing.assert_allclose(np.sqrt(np.diag(whitening @ whitening.T)), [1.0, 3.0])


def test_map_sampler_gives_the_mode(problem):
    posterior, _ = problem
    draws = first_draws(posterior, ft.Settings(noise=0.05, sampler="map"), np.random.default_rng(0))
    assert draws.shape == (1, 3)
    np.testing.assert_allclose(draws[0], most_probable(posterior, posterior.prior_mean[None]))


def growing_study(n):
    rng = np.random.default_rng(4)
    points = rng.random((n, 2))
    return points, np.sin(5.0 * points[:, 0]) + points[:, 1] ** 2


def test_moves_are_rare_as_observations_grow():
    points, values = growing_study(60)
    study = ft.Study({"x0": ft.Real(0, 1), "x1": ft.Real(0, 1)}, seed=1, method="ei", settings=ft.Settings(starts=2, initial=1))
    moves: list[int] = []
    for i, (p, v) in enumerate(zip(points, values, strict=True)):
        trial = study.ask()  # carries the draws
        study.fail(trial, "only the carried draws matter here", cost=0.0)
        study.add({"x0": p[0], "x1": p[1]}, float(v))
        carried = study.history.carried
        if i > 0 and (not moves or carried.observations != moves[-1]):
            moves.append(carried.observations)
    assert len(moves) < 25
    assert len([m for m in moves if m > 30]) <= 8


def test_between_moves_draws_are_weighted_by_how_well_they_foresaw_what_came():
    """Bayes: the weight of a draw is p(later values | earlier ones), the ratio of two evidences, each computed from scratch."""
    points, values = growing_study(30)
    seen, settings = 24, ft.Settings(growth=10.0, draws=6)
    standardization = Standardization.of(values[:seen])
    evidence = {n: Posterior.of(history_of(points[:n], values[:n]), standardization, settings).evidence for n in (seen, 30)}
    mode = np.array([0.5, np.log(0.6), np.log(1.2), np.log(1e-4)])
    draws = mode + 0.03 * np.random.default_rng(0).standard_normal((6, 4))
    scale = standardization
    carried = Carried(tuple(map(tuple, draws.tolist())), seen, scale.location, scale.scale, scale.knee, scale.bend)
    history = history_of(points, values)
    trials = [replace(t, proposal=replace(t.proposal, carried=carried)) for t in history.trials]
    surrogate = fit_surrogate(replace(history, trials=tuple(trials)), settings, seed=0)
    assert surrogate.carried == carried  # not moved: the weights are what is tested
    log_weights = evidence[30](draws) - evidence[seen](draws)
    weights = np.exp(log_weights - log_weights.max())
    assert np.ptp(surrogate.weights) > 0.02
    np.testing.assert_allclose(surrogate.weights, weights / weights.sum(), rtol=1e-4, atol=1e-8)


def test_draws_left_behind_by_a_change_of_scale_find_back():
    """The first three values differ by 1e-6, the fourth by 100: chains that cannot follow would stay behind for good."""
    points = np.random.default_rng(0).random((12, 2))
    values = np.concatenate([[1.0, 1.0 + 1e-6, 1.0 - 1e-6], 100.0 * np.sin(7.0 * points[3:, 0]) + 100.0 * points[3:, 1]])
    study = ft.Study({"x0": ft.Real(0, 1), "x1": ft.Real(0, 1)}, seed=0, method="ei", settings=ft.Settings(starts=2, initial=1))
    for p, v in zip(points, values, strict=True):
        study.fail(study.ask(), "not needed", cost=0.0)
        study.add({"x0": p[0], "x1": p[1]}, float(v))
    surrogate = fit_surrogate(study.history, study.settings, study.seed)
    posterior = Posterior.of(study.history, surrogate.standardization, study.settings)
    draws = np.array(surrogate.carried.draws)
    mode = most_probable(posterior, np.concatenate([draws, posterior.prior_mean[None]]))
    assert (posterior.log_density(draws) > posterior.log_density(mode[None]) - 20.0).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_all_cheap_values_have_in_common_does_not_count_against_them(seed):
    """Cheap values are higher by the same 4 everywhere: without a trend in the mean, s would be taken to change everything."""
    rng = np.random.default_rng(seed)
    points = np.column_stack([np.repeat(rng.random((8, 2)), 2, axis=0), np.tile([0.0, 1.0], 8)])
    values = np.sin(6.0 * points[:, 0]) + points[:, 1]
    history = history_of(points, values + 4.0 * points[:, 2], fidelity=True)

    def median_lengthscale(trend):
        surrogate = fit_surrogate(history, ft.Settings(draws=16, trend=trend), seed=0)
        return np.median(surrogate.process.kernel.lengthscales[:, -1])

    assert median_lengthscale(True) > 1.5
    assert median_lengthscale(False) < 1.0  # the paper's
