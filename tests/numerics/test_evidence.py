"""Packed log evidence, against the Gaussian process that it must equal, and finite differences."""

import numpy as np
import pytest
from oracles import central_difference
from scipy import stats

from farthing.numerics.evidence import Evidence
from farthing.numerics.gaussian_process import JITTER, condition
from farthing.numerics.kernels import Kernel, Probes, family

HYPERPARAMETERS = np.log(np.array([[1.7, 0.31, 0.83, 0.02], [0.4, 0.57, 0.23, 0.3], [9.0, 2.5, 0.11, 1e-3]]))
FAMILIES = pytest.mark.parametrize("name", ["matern52", "matern32", "squared_exponential"])
# LAPACK packs odd and even sizes differently.
SIZES = pytest.mark.parametrize("n", [1, 2, 7, 8])


def evidence_of(name: str, n: int, known: float = 0.2) -> Evidence:
    """Evidence of n points, with known noise variances up to `known` that differ by observation."""
    rng = np.random.default_rng(20)
    return Evidence(family(name), rng.random((n, 2)), rng.standard_normal(n), known * rng.uniform(0.05, 1.0, n), constant=0.6)


def process_of(evidence: Evidence, vectors: np.ndarray):
    kernel = Kernel(evidence.family, np.exp(vectors[:, 0]), np.exp(vectors[:, 1:-1]), evidence.constant)
    noise = np.exp(vectors[:, -1:]) + evidence.noise
    return condition(kernel, Probes.values(evidence.points), evidence.values, noise)


@FAMILIES
@pytest.mark.parametrize(
    ("n", "known"),
    [(1, 0.2), (2, 0.0), (7, 0.0), (8, 0.0), (7, 0.2), (8, 0.2)],
)
def test_evidence_and_gradient_are_those_of_the_gaussian_process(name, n, known):
    """An entry packed in the wrong place, off-diagonal entries counted once, noise put on another observation."""
    evidence = evidence_of(name, n, known)
    process = process_of(evidence, HYPERPARAMETERS)
    value, gradient, dual = evidence.with_gradient(HYPERPARAMETERS)
    np.testing.assert_allclose(value, process.log_evidence(), rtol=1e-10)
    np.testing.assert_allclose(evidence(HYPERPARAMETERS), value, rtol=1e-13)
    np.testing.assert_allclose(gradient[:, :-1], process.log_evidence_gradient()[:, :-1], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(dual, process.dual, rtol=1e-8, atol=1e-8)


@FAMILIES
@SIZES
def test_gradient_matches_differences(name, n):
    """Above all the noise: only the inferred part of it moves, the known part stays."""
    evidence = evidence_of(name, n)
    _, gradient, _ = evidence.with_gradient(HYPERPARAMETERS)
    expected = central_difference(lambda shift: evidence(HYPERPARAMETERS + shift), np.zeros(4), 1e-3)
    # The jitter, 1e-10 A, is not differentiated; differences leave out about 1e-12.
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("known", [0.0, 0.2])
def test_evidence_is_the_density_of_the_values(known):
    evidence = evidence_of("matern52", 7, known)
    amplitude, ell, noise = 1.7, np.array([0.31, 0.83]), 0.02
    r = np.sqrt(((evidence.points[:, None] - evidence.points[None]) ** 2 / ell**2).sum(axis=2))
    prior = amplitude * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r) + 0.6
    observed = prior + np.diag(noise + evidence.noise + JITTER * (amplitude + 0.6))
    exact = stats.multivariate_normal(np.zeros(7), observed).logpdf(evidence.values)
    assert evidence(HYPERPARAMETERS[:1])[0] == pytest.approx(exact, abs=1e-10)


def test_values_given_at_the_call_replace_the_stored_ones_vector_by_vector():
    """What a warp inferred with the hyperparameters needs: its own values for each vector, and the gradient in them."""
    evidence = evidence_of("matern52", 7)
    values = np.random.default_rng(21).standard_normal((3, 7))
    _, _, dual = evidence.with_gradient(HYPERPARAMETERS, values)
    for k in range(3):
        vector = HYPERPARAMETERS[k : k + 1]
        alone = Evidence(evidence.family, evidence.points, values[k], evidence.noise, evidence.constant)
        assert evidence(HYPERPARAMETERS, values)[k] == alone(vector)[0]
        np.testing.assert_array_equal(evidence.with_gradient(HYPERPARAMETERS, values)[1][k], alone.with_gradient(vector)[1][0])
        slope = central_difference(lambda y, v=vector: evidence(v, y), values[k], 1e-3)[0]
        np.testing.assert_allclose(-dual[k], slope, rtol=1e-6, atol=1e-7)
    assert not np.allclose(evidence(HYPERPARAMETERS, values[0]), evidence(HYPERPARAMETERS))


NOTHING = [-800.0, 0.0, 0.0, -800.0]
HUGE_AMPLITUDE = [1000.0, 0.0, 0.0, 0.0]
HUGE_NOISE = [0.0, 0.0, 0.0, 800.0]
TINY_LENGTHSCALE = [0.0, -400.0, 0.0, 0.0]


@pytest.mark.parametrize("hopeless", [NOTHING, HUGE_AMPLITUDE, HUGE_NOISE, TINY_LENGTHSCALE])
def test_hopeless_hyperparameters_have_no_density_and_spoil_no_others(hopeless):
    """An exception, warning or NaN where a sampler's step went too far: -inf sends it back."""
    full = evidence_of("matern52", 7)
    evidence = Evidence(full.family, full.points, full.values, np.zeros(7))
    vectors = np.stack([HYPERPARAMETERS[0], np.array(hopeless), HYPERPARAMETERS[1]])
    value, gradient, dual = evidence.with_gradient(vectors)
    assert value[1] == -np.inf
    assert evidence(vectors)[1] == -np.inf
    assert np.isfinite(gradient).all()
    assert np.isfinite(dual).all()
    np.testing.assert_array_equal(value[[0, 2]], evidence(HYPERPARAMETERS[:2]))
