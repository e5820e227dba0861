"""The slice sampler against exact distributions, skewed, bounded, correlated and bimodal.

Two kinds of evidence. Chains that start from exact draws must still be exact draws after a few sweeps: independent, so that the
Kolmogorov-Smirnov test needs no correction and sees a slight bias. Chains that start far off must forget it: there the test
is taken at the effective sample size. Either fails by chance once in 1e4.
"""

import numpy as np
import pytest
from oracles import distribution_p_value
from scipy import stats

from farthing.numerics.slice_sampling import sweep

CHANCE = 1e-4


class Mixture:
    """0.3 N(-2, 1) + 0.7 N(2, 0.5^2)."""

    parts = ((0.3, stats.norm(-2.0, 1.0)), (0.7, stats.norm(2.0, 0.5)))

    def logpdf(self, x):
        return np.log(sum(weight * part.pdf(x) for weight, part in self.parts))

    def cdf(self, x):
        return sum(weight * part.cdf(x) for weight, part in self.parts)

    def rvs(self, size, random_state):
        draws = [part.rvs(size, random_state=random_state) for _, part in self.parts]
        return np.where(random_state.random(size) < 0.3, *draws)


TARGETS = {
    "exponential": stats.expon(),
    "gamma": stats.gamma(2.5),
    "uniform": stats.uniform(),
    "beta": stats.beta(0.8, 3.0),
    "truncated normal": stats.halfnorm(),
    "bimodal": Mixture(),
}


def log_density(target):
    def density(x):
        with np.errstate(divide="ignore"):
            return target.logpdf(x[:, 0])

    return density


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("width", "step_outs"), [(0.3, 0), (0.3, 3), (2.0, 1), (20.0, 8)])
def test_exact_draws_stay_exact(name, width, step_outs):
    """A biased allowance of steps, an interval not placed at random, a shrinkage towards the wrong side."""
    target, rng = TARGETS[name], np.random.default_rng(30)
    start = target.rvs(20_000, random_state=rng)[:, None]
    state = start
    for _ in range(4):
        state, _ = sweep(log_density(target), state, rng, directions=np.array([[width]]), step_outs=step_outs)
    assert stats.kstest(state[:, 0], target.cdf).pvalue > CHANCE
    assert (state != start).all()


@pytest.mark.parametrize("step_outs", [0, 1, 2, 5])
def test_moves_are_reversible(step_outs):
    """Detailed balance: (start, end) and (end, start) have one distribution, so E[x y^2] = E[x^2 y], here to 5 sd of the mean."""
    target, rng = TARGETS["gamma"], np.random.default_rng(31)
    x = target.rvs(200_000, random_state=rng)[:, None]
    y, _ = sweep(log_density(target), x, rng, directions=np.array([[0.7]]), step_outs=step_outs)
    asymmetry = (x * y * (x - y))[:, 0]
    assert abs(asymmetry.mean()) < 5.0 * asymmetry.std() / np.sqrt(len(asymmetry))


@pytest.mark.parametrize("name", TARGETS)
def test_chains_forget_a_poor_start(name):
    """Chains that stick, miss a mode or a tail. All start at one point far in a tail."""
    target, rng = TARGETS[name], np.random.default_rng(32)
    state = np.full((50, 1), float(target.ppf(0.9999)) if name != "bimodal" else 4.0)
    history = np.empty((450, 50))
    for step in range(len(history)):
        state, _ = sweep(log_density(target), state, rng, directions=np.array([[1.5]]))
        history[step] = state[:, 0]
    assert distribution_p_value(history[80:], target.cdf) > CHANCE


DIRECTIONS = pytest.mark.parametrize("directions", [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.5, -0.2], [0.0, 2.0]]])


@DIRECTIONS
def test_correlated_normal_along_axes_and_across(directions):
    """A direction applied to one coordinate only, or a density carried over from before the last direction."""
    rho, rng = 0.95, np.random.default_rng(33)
    precision = np.linalg.inv(np.array([[1.0, rho], [rho, 1.0]]))

    def density(x):
        return -0.5 * np.einsum("mi,ij,mj->m", x, precision, x)

    state = np.full((100, 2), [3.0, -3.0])
    history = np.empty((700, 100, 2))
    for step in range(len(history)):
        state, _ = sweep(density, state, rng, directions=np.array(directions))
        history[step] = state
    x, y = history[200:, :, 0], history[200:, :, 1]
    for projection in (x, y, (x + y) / np.sqrt(2 + 2 * rho), (x - y) / np.sqrt(2 - 2 * rho)):
        assert distribution_p_value(projection, stats.norm.cdf) > CHANCE


@DIRECTIONS
def test_uniform_on_a_triangle_along_axes_and_across(directions):
    """Bounded in two dimensions: x, y and 1 - x - y are all Beta(1, 2)."""
    rng = np.random.default_rng(34)

    def density(x):
        return np.where((x > 0.0).all(axis=1) & (x.sum(axis=1) < 1.0), 0.0, -np.inf)

    state = rng.dirichlet([1.0, 1.0, 1.0], 20_000)[:, :2]
    for _ in range(5):
        state, _ = sweep(density, state, rng, directions=np.array(directions), step_outs=2)
    for projection in (state[:, 0], state[:, 1], 1.0 - state.sum(axis=1)):
        assert stats.kstest(projection, stats.beta(1.0, 2.0).cdf).pvalue > CHANCE


def test_no_more_steps_out_than_allowed_and_every_evaluation_counted():
    """Under a flat density every step out is taken: exactly `step_outs` of them, then one draw, after the one at the start."""
    seen = []

    def flat(x):
        seen.append(len(x))
        return np.zeros(len(x))

    start = np.zeros((7, 2))
    moved, info = sweep(flat, start, np.random.default_rng(35), directions=np.eye(2), step_outs=3)
    assert info.evaluations == sum(seen) == 7 * (1 + 2 * (3 + 1))
    assert not start.any(), "the state passed in was modified"
    assert np.abs(moved).max() <= 4.0


def test_a_chain_with_nowhere_to_go_stays():
    """All mass in one point: the interval shrinks to nothing, and an endless loop or a jump to -inf would show."""
    start = np.array([[0.25], [0.5]])

    def spike(x):
        return np.where(np.isin(x[:, 0], start[:, 0]), 0.0, -np.inf)

    moved, _ = sweep(spike, start, np.random.default_rng(36), directions=np.array([[1.0]]))
    np.testing.assert_array_equal(moved, start)
