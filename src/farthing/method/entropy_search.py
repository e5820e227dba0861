"""Entropy search: how much less an evaluation is expected to leave unknown of the place of the minimum (Hennig and Schuler 2012).

The minimizer at full fidelity is taken to be one of m representer points. Their values are jointly Gaussian, N(mu, C), and each is
the lowest with a probability p_i (numerics/minimum_probability.py). An evaluation at z moves them by an innovation w ~ N(0, 1):

    mu -> mu + L w,   C -> C - L L^T,      L(z) = cov(f(representers), f(z)) / sqrt(var f(z) + noise)

By Bayes' rule p_i(w) is in proportion to p_i q_i(w), where q_i is the density of the innovation if i is the lowest. That is close
to a Gaussian, with moments from the EP that gave p_i: its mean is a_i = pull_i . L, its variance t_i = 1 - L^T tightness_i L.
(Hennig and Schuler's expansion of log p_i in the changes of mu and C is the first order of log q_i in 1 - t_i.) So

    gain(z) = H(E_w p(w)) - E_w H(p(w)),     w at the nodes of Gauss-Hermite quadrature

which is never negative. Relative to a measure u from which representers are drawn, entropies change by sum_i p_i(w) log u_i; that
is linear in p(w), and in expectation nothing of it is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.feasibility import Feasibility
from farthing.method.local_minima import LocalMinima
from farthing.method.support import draw_support
from farthing.method.surrogate import Surrogate
from farthing.methods import ES
from farthing.numerics.gaussian_process import JITTER, GaussianProcess
from farthing.numerics.kernels import Array, Probes
from farthing.numerics.minimum_probability import Lowest, lowest_of

NODES = 12
"""Innovations at which p(w) is reckoned."""

MINIMA = 3
"""Of the representer points, those that are the best local minima of the posterior mean."""

NARROWEST = 1e-6
"""Least t: an innovation is never taken to be known."""

BLOCK = 128
"""Points that are looked at together, for the sake of memory."""


def draw_representers(
    surrogate: Surrogate, minima: LocalMinima, feasibility: Feasibility | None, method: ES, rng: np.random.Generator
) -> Array:
    """At most so many distinct places (m, d): the best local minima, and draws from the support sampler."""
    best = minima.x[:MINIMA]
    drawn = draw_support(method.support, surrogate, minima, feasibility, max(method.representers - len(best), 2), rng)
    places = np.concatenate([best, drawn])
    _, first = np.unique(np.round(places, 9), axis=0, return_index=True)
    return places[np.sort(first)][: method.representers]


@dataclass(frozen=True)
class EntropyReduction:
    """The gain in nats, with its gradient in closed form.

    places: (m, D) the representers; white: (K, m, n) L^-1 cov(observations, f(representers)), dual: L^-T of that;
    weights: (K,) of the hyperparameter draws; noise: (K,) variance of one observation beyond that of f.
    """

    process: GaussianProcess
    places: Array
    white: Array
    dual: Array
    lowest: Lowest
    weights: Array
    noise: Array

    @classmethod
    def of(cls, surrogate: Surrogate, process: GaussianProcess, representers: Array, tolerance: float) -> EntropyReduction:
        """For observations with the surrogate's inferred noise, of `process`, the surrogate's, perhaps with pending points.

        representers: (m, d). Differences below `tolerance` (user's units) count as noise.
        """
        places = surrogate.at_full_fidelity(representers)
        white = process.whiten(process.kernel.values(places, process.probes.points))
        mean = np.einsum("kmn,kn->km", white, process.whitened)
        covariance = process.kernel_covariance(Probes.values(places)) - np.matmul(white, white.swapaxes(1, 2))
        indifference = surrogate.standardization.apply_noise(np.array(tolerance), np.array(surrogate.standardization.knee))
        noise = surrogate.noise + indifference + JITTER * process.kernel.variance_at_zero
        return cls(process, places, white, process.unwhiten(white), lowest_of(mean, covariance), surrogate.weights, noise)

    def likeliest(self, count: int) -> Array:
        """The representers that most probably are the minimizer, by the mean over draws: (count, D)."""
        chance = self.weights @ self.lowest.probability
        return self.places[np.argsort(-chance, kind="stable")[:count]]

    def __call__(self, points: Array) -> Array:
        """The gain at points (C, D): (C,), never negative."""
        blocks = [points[start : start + BLOCK] for start in range(0, len(points), BLOCK)]
        return np.concatenate([self._gain(block)[0] for block in blocks]) if blocks else np.empty(0)

    def with_gradient(self, points: Array) -> tuple[Array, Array]:
        """The gain (C,) and its gradient (C, D).

        With q = d gain / d L: d L = d cov / sd - L dv / (2 sd^2), d cov = d k(places, z) - dual . d k(X, z), and
        dv = d k(z, z) - 2 beta . d k(X, z), beta = C^-1 k(X, z).
        """
        value, (q, move, sd, white) = self._gain(points, gradient=True)
        kernel, x = self.process.kernel, self.process.probes.points
        on_covariance = q / sd[:, :, None]
        on_variance = -0.5 * np.einsum("kcm,kcm->kc", q, move) / sd**2
        _, to_places = kernel.values_and_slopes(points, self.places)
        _, to_seen = kernel.values_and_slopes(points, x)
        gathered = -np.matmul(on_covariance, self.dual) - 2.0 * on_variance[:, :, None] * self.process.unwhiten(white)
        gradient = kernel.gradient(points, self.places, to_places, on_covariance)
        gradient += kernel.gradient(points, x, to_seen, gathered)
        gradient += on_variance[:, :, None] * kernel.variance_gradient(points)
        return value, gradient.sum(axis=0)

    def _gain(self, points: Array, gradient: bool = False) -> tuple[Array, tuple[Array, Array, Array, Array]]:
        """The gain, and what its gradient needs: d gain / d L and L (K, C, m), sd (K, C), L^-1 k(X, z) (K, C, n)."""
        kernel = self.process.kernel
        white = self.process.whiten(kernel.values(points, self.process.probes.points))
        variance = np.maximum(kernel.variance_at(points) - np.einsum("kcn,kcn->kc", white, white), 0.0)
        sd = np.sqrt(variance + self.noise[:, None])
        move = (kernel.values(points, self.places) - np.matmul(white, self.white.swapaxes(1, 2))) / sd[:, :, None]
        draws, count, m = move.shape
        # tightness_i L for all i, in one product a draw: (K, C, m, m)
        turned = np.matmul(move, self.lowest.tightness.reshape(draws, m * m, m).swapaxes(1, 2)).reshape(draws, count, m, m)
        shift = np.matmul(move, self.lowest.pull.swapaxes(1, 2))
        spread = np.maximum(1.0 - np.einsum("kcil,kcl->kci", turned, move), NARROWEST)
        value, on_shift, on_spread = _information(self.lowest.log_probability, shift, spread)
        total = self.weights @ value
        if not gradient:
            return total, (move, move, sd, white)
        on_spread = np.where(spread > NARROWEST, on_spread, 0.0)
        q = np.matmul(on_shift, self.lowest.pull) - 2.0 * np.einsum("kci,kcil->kcl", on_spread, turned)
        return total, (q * self.weights[:, None, None], move, sd, white)


def _information(log_p: Array, shift: Array, spread: Array) -> tuple[Array, Array, Array]:
    """H(E p(w)) - E H(p(w)), (K, C), and its derivatives in the shifts a and spreads t, (K, C, m) each.

    With l_i = log q_i(w):  d gain = E_w sum_i p_i(w) (c_i - sum_j p_j(w) c_j) d l_i,   c_i = log p_i(w) - log E p_i.
    """
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(NODES)
    share = (node_weights / node_weights.sum())[:, None]
    off = (nodes[:, None] - shift[:, :, None, :]) / spread[:, :, None, :]  # (w - a) / t: (K, C, w, m)
    log_q = -0.5 * off**2 * spread[:, :, None, :] - 0.5 * np.log(spread)[:, :, None, :]
    log_q += log_p[:, None, None, :]
    log_q -= log_q.max(axis=3, keepdims=True)
    p = np.exp(log_q)
    total = p.sum(axis=3, keepdims=True)
    p /= total
    average = (share * p).sum(axis=2)
    c = log_q - np.log(total) - np.log(np.maximum(average, 1e-300))[:, :, None, :]
    relative = (p * c).sum(axis=3, keepdims=True)
    value = np.maximum((share * relative).sum(axis=(2, 3)), 0.0)
    pressed = share * p * (c - relative)
    on_shift = (pressed * off).sum(axis=2)
    on_spread = 0.5 * (pressed * off**2).sum(axis=2) - 0.5 * pressed.sum(axis=2) / spread
    return value, on_shift, on_spread
