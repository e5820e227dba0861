"""Predictive entropy: what an evaluation is expected to tell about the place of the minimum (paper §2.3, §3.1).

    Delta H(z) = sum_k w_k mean_r  1/2 log(v_k(z) + sigma_k^2) - 1/2 log(v_k(z | x_kr is the minimizer) + sigma_k^2)

the entropy of an observation at z = (x, s) now, less its entropy once the minimizer is known, averaged over minimizers.

In exact arithmetic that has no end: where a minimum is known to six digits, an evaluation beside it tells the seventh, and promises
as much information as the first did. Where that is not wanted, differences that are smaller than the largest improvement still
expected anywhere, `hope`, count as noise: sigma_k^2 + hope^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.minimizers import Apart, ConditionedProcess, entry_covariance, entry_covariance_gradient
from farthing.method.surrogate import Surrogate
from farthing.numerics.gaussian_process import JITTER
from farthing.numerics.kernels import Array


@dataclass(frozen=True)
class InformationGain:
    """Delta H in nats, with its gradient in closed form. `noise`: (K,) variance of one observation beyond that of f."""

    conditioned: ConditionedProcess
    weights: Array
    noise: Array

    @classmethod
    def of(cls, surrogate: Surrogate, conditioned: ConditionedProcess, tolerance: float, hope: float = 0.0) -> InformationGain:
        """The gain for observations with the surrogate's inferred noise; differences below `tolerance` (user's units), and below
        `hope` (standardized), count as noise.
        """
        indifference = surrogate.standardization.apply_noise(np.array(tolerance), np.array(surrogate.standardization.knee))
        prior = conditioned.process.kernel.variance_at_zero
        return cls(conditioned, surrogate.weights, surrogate.noise + indifference + hope**2 + JITTER * prior)

    def __call__(self, points: Array) -> Array:
        """Information gain at points (C, D): (C,), never negative."""
        c = self.conditioned
        kernel = c.process.kernel
        return self._gain(points, kernel.values(points, c.process.probes.points), Apart.of(kernel, c.places, points))[0]

    def with_gradient(self, points: Array) -> tuple[Array, Array]:
        """Information gain (C,) and its gradient (C, D).

        With beta = C^-1 k(X, z): dv = dk(z, z) - 2 beta . dk;  with b = B kappa: d(kappa^T B kappa) = 2 b . d kappa, where
        d kappa = d(prior covariance) - (C^-1 cov(X, e))^T dk. All that meets dk is gathered into one vector for each k and z.
        """
        c = self.conditioned
        kernel, x = c.process.kernel, c.process.probes.points
        cross, slope = kernel.values_and_slopes(points, x)
        apart = Apart.of(kernel, c.places, points, order=3)
        value, (white, variance, reduced, pulled) = self._gain(points, cross, apart)
        before, after = 1.0 / (variance + self.noise[:, None]), 1.0 / reduced
        share = 0.5 * self.weights[:, None, None] / c.places.shape[1]
        # d DeltaH = share * (before * dv - after * (dv - dreduction)), summed over k and r.
        on_variance = (share * (before[:, None] - after)).sum(axis=1)
        on_reduction = share * after
        weight = 2.0 * on_reduction[..., None] * pulled
        gathered = -2.0 * on_variance[:, :, None] * c.process.unwhiten(white)
        gathered -= np.matmul(
            weight.transpose(0, 2, 1, 3).reshape(len(weight), weight.shape[2], -1),
            c.dual.transpose(0, 1, 3, 2).reshape(len(weight), -1, len(x)),
        )
        gradient = kernel.gradient(points, x, slope, gathered).sum(axis=0)
        gradient += np.einsum("kc,kci->ci", on_variance, kernel.variance_gradient(points))
        gradient += entry_covariance_gradient(kernel, c.entries, c.units, apart, points, weight)
        return value, gradient

    def _gain(self, points: Array, cross: Array, apart: Apart) -> tuple[Array, tuple[Array, Array, Array, Array]]:
        """Gain from k(z, X), and what its gradient needs: L^-1 k, v (K, C), v given the minimizer plus noise (K, r, C), B kappa."""
        c = self.conditioned
        kernel = c.process.kernel
        white = c.process.whiten(cross)
        variance = np.maximum(kernel.variance_at(points) - np.einsum("kcn,kcn->kc", white, white), 0.0)
        kappa = entry_covariance(kernel, c.entries, c.units, apart, points)
        kappa -= np.matmul(white[:, None], c.white)
        pulled = np.matmul(kappa, c.reduction)
        reduction = np.maximum(np.einsum("krcp,krcp->krc", kappa, pulled), 0.0)
        noise = self.noise[:, None, None]
        reduced = np.maximum(variance[:, None] - reduction, 0.0) + noise
        gain = 0.5 * np.log((variance[:, None] + noise) / reduced)
        value = np.einsum("k,krc->c", self.weights, np.maximum(gain, 0.0)) / gain.shape[1]
        return value, (white, variance, reduced, pulled)
