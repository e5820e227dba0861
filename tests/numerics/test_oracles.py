"""The references themselves, against closed forms they do not use."""

import mpmath as mp
import numpy as np
import pytest
from oracles import distribution_p_value, effective_size, kernel_derivative, kernel_value, orthant_moments, truncated_moments
from scipy import stats


@pytest.mark.parametrize(("name", "nu"), [("matern32", "1.5"), ("matern52", "2.5")])
def test_matern_oracle_is_the_bessel_form(name, nu):
    nu = mp.mpf(nu)
    scaled = mp.sqrt(2 * nu) * mp.sqrt((mp.mpf("0.3") / 2) ** 2 + (mp.mpf("0.8") / 3) ** 2)
    bessel = 2 ** (1 - nu) / mp.gamma(nu) * scaled**nu * mp.besselk(nu, scaled)
    ours = kernel_value(name, 1, (2, 3), (mp.mpf("0.3"), 0), (0, mp.mpf("0.8")))
    assert abs(ours - bessel) < mp.mpf("1e-14")


def test_nested_differences_find_a_known_fourth_derivative():
    """For exp(-r^2/2), d^4/dx^2 dy^2 = (r^4 - 6 r^2 + 3) exp(-r^2/2)."""
    r = 0.7
    found = kernel_derivative("squared_exponential", 1.0, (1.0,), (np.array([r]), (0, 0)), (np.array([0.0]), (0, 0)))
    assert found == pytest.approx((r**4 - 6 * r**2 + 3) * np.exp(-(r**2) / 2), rel=1e-14)


def test_truncation_quadrature_is_the_truncated_normal():
    expected = stats.truncnorm.stats(0.8, np.inf, loc=-1.2, scale=1.5)
    assert truncated_moments(-1.2, 1.5**2) == pytest.approx([float(moment) for moment in expected], rel=1e-12)


def test_orthant_quadrature_has_the_exact_mass():
    """P(both above zero) of a centred pair is 1/4 + asin(rho) / 2 pi."""
    mass, _, _ = orthant_moments(np.zeros(2), np.array([[1.0, -0.9], [-0.9, 1.0]]), (True, True))
    assert mass == pytest.approx(0.25 + np.arcsin(-0.9) / (2 * np.pi), abs=1e-12)


def test_effective_size_of_an_autoregression():
    """x' = 0.8 x + noise has 1 + 2 sum 0.8^t = 9 draws to one independent one; 2e5 draws put that within a few percent."""
    rng = np.random.default_rng(1)
    chains = np.empty((2000, 100))
    chains[0] = rng.standard_normal(100)
    for step in range(1, len(chains)):
        chains[step] = 0.8 * chains[step - 1] + 0.6 * rng.standard_normal(100)
    assert effective_size(chains) == pytest.approx(chains.size / 9.0, rel=0.1)
    assert distribution_p_value(chains, stats.norm.cdf) > 1e-3
    assert distribution_p_value(chains, stats.norm(scale=1.1).cdf) < 1e-6
