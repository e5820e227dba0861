"""Observations added one by one, pretended ones, repeated ones, and none at all."""

import itertools

import numpy as np
import pytest
from oracles import dense_posterior

from farthing.numerics import gaussian_process
from farthing.numerics.gaussian_process import JITTER, GaussianProcess, condition
from farthing.numerics.kernels import Kernel, Probes, covariance, family

KERNEL = Kernel(family("matern52"), np.array([1.7, 0.4]), np.array([[0.31, 0.83], [0.57, 0.23]]), constant=0.6)
ASKED = Probes.of(np.array([[0.42, 0.66], [0.9, 0.05]]), [(), (0,), (1,), (0, 0), (1, 0), (1, 1)])


def observations(n: int = 6) -> tuple[Probes, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    probes = Probes.values(rng.random((n, 2))).join(Probes.of(rng.random((2, 2)), [(0,), (1, 0), (1, 1)]))
    return probes, rng.standard_normal((2, len(probes))), rng.uniform(0.01, 0.1, (2, len(probes)))


def part(probes: Probes, rows: slice) -> Probes:
    return Probes(probes.points[rows], probes.axes[rows])


def same_predictions(first: GaussianProcess, second: GaussianProcess, tolerance: float) -> None:
    for one, other in zip(first.predict(ASKED), second.predict(ASKED), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize("start", [0, 1, 5, 8])
def test_appending_equals_conditioning_from_scratch(start):
    """A row of L^-1, an innovation or a dual that belongs to fewer observations."""
    probes, values, noise = observations()
    scratch = condition(KERNEL, probes, values, noise)
    grown = condition(KERNEL, part(probes, slice(start)), values[:, :start], noise[:, :start])
    grown = grown.append(part(probes, slice(start, None)), values[:, start:], noise[:, start:])
    same_predictions(grown, scratch, 1e-9)
    np.testing.assert_allclose(grown.log_evidence(), scratch.log_evidence(), rtol=1e-9)
    np.testing.assert_allclose(grown.dual, scratch.dual, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(grown.log_evidence_gradient(), scratch.log_evidence_gradient(), rtol=1e-7, atol=1e-7)


def test_appending_across_the_change_of_product_path(monkeypatch):
    """A triangle read in the wrong order only once there are many observations."""
    probes, values, noise = observations()
    monkeypatch.setattr(gaussian_process, "SMALL", 8)
    grown = condition(KERNEL, part(probes, slice(5)), values[:, :5], noise[:, :5])
    grown = grown.append(part(probes, slice(5, None)), values[:, 5:], noise[:, 5:])
    same_predictions(grown, condition(KERNEL, probes, values, noise), 1e-9)


def test_appending_in_one_call_or_several_gives_the_same_bits():
    """A blocked update, whose rounding depends on how the observations arrived: a resumed study would drift."""
    probes, values, noise = observations()
    base = condition(KERNEL, part(probes, slice(4)), values[:, :4], noise[:, :4])
    at_once = base.append(part(probes, slice(4, None)), values[:, 4:], noise[:, 4:])
    for cuts in ([4, 7, 12], [4, 5, 6, 7, 8, 9, 10, 11, 12]):
        grown = base
        for low, high in itertools.pairwise(cuts):
            rows = slice(low, high)
            grown = grown.append(part(probes, rows), values[:, rows], noise[:, rows])
        for field in ("whitener", "whitened", "dual", "noise"):
            np.testing.assert_array_equal(getattr(grown, field), getattr(at_once, field))
    assert len(base) == 4, "append changed the process it was called on"


def test_values_and_noise_shared_by_all_draws_are_broadcast():
    probes, values, noise = observations()
    shared = condition(KERNEL, probes, values[0], noise[0])
    same_predictions(shared, condition(KERNEL, probes, values[[0, 0]], noise[[0, 0]]), 1e-14)
    same_predictions(
        shared.append(part(probes, slice(1)), values[0, :1], noise[0, :1]),
        shared.append(part(probes, slice(1)), values[[0, 0], :1], noise[[0, 0], :1]),
        1e-14,
    )


@pytest.mark.parametrize("pending_noise", [(0.0, 0.0), (0.3, 0.02)], ids=["exactly", "with noise"])
def test_pretending_leaves_means_and_lowers_variances_as_a_dense_solve_says(pending_noise):
    """A pretended value that is not the mean, has other noise, or is seen by one draw only."""
    probes, values, noise = observations()
    process = condition(KERNEL, probes, values, noise)
    pending = np.array([[0.4, 0.6], [0.88, 0.1], [0.41, 0.61]])
    pretended = process.pretend(pending, np.array(pending_noise))
    mean, cov = pretended.predict(ASKED)
    before_mean, before = process.predict(ASKED)
    np.testing.assert_allclose(mean, before_mean, rtol=1e-8, atol=1e-8 * np.abs(before_mean).max())
    every = probes.join(Probes.values(pending))
    prior = covariance(KERNEL, every, every)
    diagonal = np.diagonal(prior, axis1=1, axis2=2)
    total_noise = np.concatenate([noise, np.tile(np.array(pending_noise)[:, None], 3)], axis=1) + JITTER * diagonal
    for k in range(2):
        observed = prior[k] + np.diag(total_noise[k])
        cross, asked = covariance(KERNEL, ASKED, every)[k], covariance(KERNEL, ASKED, ASKED)[k]
        dense = dense_posterior(observed, cross, asked, np.zeros(len(every)))[1]
        sd = np.sqrt(np.diagonal(asked))
        np.testing.assert_allclose(cov[k] / np.outer(sd, sd), dense / np.outer(sd, sd), atol=1e-8)
    assert (np.diagonal(cov - before, axis1=1, axis2=2) < 0.0).all()
    assert (pretended.marginals(pending)[1].max() < 1e-8) == (not any(pending_noise))


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-7])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_noiseless_repeats_of_a_point_do_not_fail(apart, one_by_one):
    """A singular covariance: ten observations at one place, in agreement, must still be one value with almost no variance."""
    rng = np.random.default_rng(12)
    others = rng.random((4, 2))
    repeated = np.array([0.3, 0.7]) + apart * rng.uniform(-1.0, 1.0, (10, 2))
    points = np.concatenate([others, repeated])
    values = np.concatenate([rng.standard_normal(4), np.full(10, 0.8)])
    if one_by_one:
        nothing = condition(KERNEL, Probes.values(points[:0]), values[:0], values[:0])
        process = nothing.append(Probes.values(points), values, np.zeros(14))
    else:
        process = condition(KERNEL, Probes.values(points), values, np.zeros(14))
    mean, variance = process.marginals(np.array([[0.3, 0.7]]))
    # Jitter of 1e-10 in the prior variance is a noise of sd 1e-5, magnified by how far the other values pull.
    np.testing.assert_allclose(mean[:, 0], 0.8, atol=1e-4)
    assert variance.max() < 1e-8
    assert np.isfinite(process.predict(ASKED)[1]).all()
    assert np.isfinite(process.log_evidence()).all()


def test_repeats_that_disagree_are_averaged():
    points = np.array([[0.3, 0.7], [0.3, 0.7], [0.9, 0.1]])
    process = condition(KERNEL, Probes.values(points), np.array([1.0, 0.0, 0.5]), np.zeros(3))
    np.testing.assert_allclose(process.marginals(points[:1])[0][:, 0], 0.5, atol=1e-5)


def test_no_observations_give_the_prior():
    """An empty factorization: the initial design starts from here."""
    nothing = condition(KERNEL, Probes.values(np.empty((0, 2))), np.empty(0), np.empty(0))
    mean, cov = nothing.predict(ASKED)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_array_equal(cov, covariance(KERNEL, ASKED, ASKED))
    np.testing.assert_array_equal(nothing.log_evidence(), 0.0)
    np.testing.assert_array_equal(nothing.log_evidence_gradient(), np.zeros((2, 4)))
    value, gradient = nothing.mean_and_gradient(np.array([[0.2, 0.3]]))
    assert not value.any()
    assert not gradient.any()
    np.testing.assert_allclose(nothing.marginals(np.array([[0.2, 0.3]]))[1][:, 0], [2.3, 1.0])
