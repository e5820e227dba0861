"""Draws of the minimizer, and the Gaussian process conditioned on each (paper §2.3, §4).

For each hyperparameter draw k, r joint posterior draws over the support points give r minimizers x_kr = argmin. That x_kr is the
minimizer of f(., s=0) is then written as constraints on derivatives of f there:

    on an interior axis     df/dx_i = 0,  d2f/dx_i2 >= 0
    on the lower face       df/dx_i >= 0      (the paper forces it to vanish there, which a minimum on a face need not do)
    on the upper face       df/dx_i <= 0
    paper variant           d2f/dx_i dx_j = 0 for i != j, on interior axes
    without a fidelity      f(x_kr) <= the best value seen, softly by the noise

Equalities by exact conditioning, inequalities by expectation propagation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method.surrogate import Surrogate
from farthing.methods import PES
from farthing.numerics.expectation_propagation import constrain_above_zero
from farthing.numerics.gaussian_process import GaussianProcess, cholesky
from farthing.numerics.kernels import Array, Axes, Kernel, Probes, covariance
from farthing.space import ON_A_FACE

SCREENED = 200
"""A joint draw is made over this many support points, those lowest in mean - 1.5 sd: they hold the argmin almost always."""

SINGULAR = 1e-9
"""Added to the variance of every constraint, in units of its prior variance."""


def draw_minimizers(surrogate: Surrogate, support: Array, count: int, rng: np.random.Generator) -> Array:
    """`count` draws of the minimizer for each hyperparameter draw, among support points (m, d): (K, count, d)."""
    process = surrogate.process
    z = surrogate.at_full_fidelity(support)
    white = process.whiten(process.kernel.values(z, process.probes.points))
    mean = np.einsum("kmn,kn->km", white, process.whitened)
    sd = np.sqrt(np.maximum(process.kernel.prior_variance[:, None] - np.einsum("kmn,kmn->km", white, white), 0.0))
    kept = np.argsort(mean - 1.5 * sd, axis=1, kind="stable")[:, :SCREENED]
    normal = rng.standard_normal((len(mean), kept.shape[1], count))
    out = np.empty((len(mean), count, support.shape[1]))
    for k, indices in enumerate(kept):
        kernel = one_kernel(process.kernel, k)
        prior = kernel.values(z[indices], z[indices])[0]
        lower = cholesky(prior - white[k, indices] @ white[k, indices].T, np.full(len(indices), kernel.prior_variance[0]))
        paths = mean[k, indices, None] + lower @ normal[k]
        out[k] = support[indices[np.argmin(paths, axis=0)]]
    return out


def one_kernel(kernel: Kernel, k: int) -> Kernel:
    """The k-th of K kernels, alone."""
    return Kernel(kernel.family, kernel.variance[k : k + 1], kernel.lengthscales[k : k + 1], kernel.constant)


@dataclass(frozen=True)
class Constraints:
    """Which derivatives at a minimizer are constrained: all gradients and diagonal second derivatives, then perhaps more.

    The m entries are: d gradients; d second derivatives; d(d-1)/2 mixed ones if off_diagonal; the value if below_best.
    """

    dimensions: int
    off_diagonal: bool = False
    below_best: bool = False

    @property
    def pairs(self) -> tuple[Axes, Axes]:
        return np.tril_indices(self.dimensions, -1)

    def probes(self, z: Array) -> Probes:
        """The entries as probes at one point z (D,)."""
        d = self.dimensions
        axes: list[tuple[int, ...]] = [(i,) for i in range(d)] + [(i, i) for i in range(d)]
        if self.off_diagonal:
            axes += [(int(i), int(j)) for i, j in zip(*self.pairs, strict=True)]
        if self.below_best:
            axes.append(())
        return Probes.of(z[None], axes)

    def kinds(self, x: Array) -> tuple[Array, Array, Array]:
        """For minimizers x (K, r, d): which entries vanish, which are one-sided, and the sign that makes them >= 0. Each (K, r, m)."""
        lower, upper = x < ON_A_FACE, x > 1.0 - ON_A_FACE
        interior = ~(lower | upper)
        one = np.ones(x.shape)
        equal, one_sided, sign = [interior, ~one.astype(bool)], [~interior, interior], [np.where(upper, -1.0, 1.0), one]
        if self.off_diagonal:
            rows, columns = self.pairs
            both = interior[..., rows] & interior[..., columns]
            equal.append(both)
            one_sided.append(np.zeros(both.shape, dtype=bool))
            sign.append(np.ones(both.shape))
        if self.below_best:
            equal.append(np.zeros((*x.shape[:2], 1), dtype=bool))
            one_sided.append(np.ones((*x.shape[:2], 1), dtype=bool))
            sign.append(np.full((*x.shape[:2], 1), -1.0))
        return np.concatenate(equal, axis=2), np.concatenate(one_sided, axis=2), np.concatenate(sign, axis=2)


@dataclass(frozen=True)
class ConditionedProcess:
    """GP_k given that x_kr is its minimizer, for every k and r.

    With c the m constraint entries in units of their prior sd, and kappa(z) = cov(f(z), c | observations), the variance of f(z) is
    less by kappa^T B kappa. white: (K, r, n, m) L^-1 cov(observations, c); dual: (K, r, n, m) L^-T of that; reduction: B (K, r, m, m);
    units: (K, m) prior sds. unconverged, dropped: what expectation propagation reports.
    """

    process: GaussianProcess
    minimizers: Array
    constraints: Constraints
    units: Array
    white: Array
    dual: Array
    reduction: Array
    unconverged: int
    dropped: int


def condition_on_minimizers(surrogate: Surrogate, process: GaussianProcess, minimizers: Array, method: PES) -> ConditionedProcess:
    """Condition `process` (the surrogate's, perhaps with pending points) on each of the minimizers (K, r, d)."""
    draws, count, d = minimizers.shape
    constraints = Constraints(d, method.off_diagonal, method.below_best and not surrogate.with_fidelity)
    origin = constraints.probes(np.zeros(process.probes.points.shape[1]))
    prior = covariance(process.kernel, origin, origin)
    units = np.sqrt(np.diagonal(prior, axis1=1, axis2=2))
    z = surrogate.at_full_fidelity(minimizers.reshape(draws * count, d)).reshape(draws, count, -1)

    cross = constraint_covariance(process.kernel, constraints, units, z, process.probes.points)
    n, m = cross.shape[2:]
    rows = np.ascontiguousarray(cross.transpose(0, 1, 3, 2)).reshape(draws, count * m, n)
    white_rows = process.whiten(rows)
    dual_rows = process.unwhiten(white_rows)
    white = white_rows.reshape(draws, count, m, n).swapaxes(2, 3)
    dual = dual_rows.reshape(draws, count, m, n).swapaxes(2, 3)

    mean = np.einsum("krnm,kn->krm", white, process.whitened)
    scaled_prior = prior / (units[:, :, None] * units[:, None, :])
    cov = scaled_prior[:, None] - np.matmul(white.swapaxes(2, 3), white)
    cov[..., np.arange(m), np.arange(m)] += SINGULAR

    reduction, unconverged, dropped = _reduction(surrogate, constraints, minimizers, units, mean, cov)
    return ConditionedProcess(process, minimizers, constraints, units, white, dual, reduction, unconverged, dropped)


def _reduction(
    surrogate: Surrogate, constraints: Constraints, minimizers: Array, units: Array, mean: Array, cov: Array
) -> tuple[Array, int, int]:
    """B of each minimizer, with how many EP runs did not converge and how many sites were dropped.

    Equalities E: P = (cov_EE)^-1, padded with zeros. Then c | E has mean G mean and covariance S = G cov with G = I - cov P, and the
    sites' precisions T give  B = P + G^T T^1/2 (I + T^1/2 S T^1/2)^-1 T^1/2 G.
    """
    draws, count, m = mean.shape
    equal, one_sided, sign = (a.reshape(draws * count, m) for a in constraints.kinds(minimizers))
    mean, cov = mean.reshape(draws * count, m), cov.reshape(draws * count, m, m)
    eye = np.eye(m)
    padded = np.where(equal[:, :, None] & equal[:, None, :], cov, eye)
    inverse = np.where(equal[:, :, None] & equal[:, None, :], np.linalg.inv(padded), 0.0)
    project = eye - np.matmul(cov, inverse)
    given_mean = np.einsum("jab,jb->ja", project, mean)
    given_cov = np.matmul(project, cov)
    given_cov = 0.5 * (given_cov + given_cov.swapaxes(1, 2))

    bound, softness = np.zeros((draws * count, m)), np.zeros((draws * count, m))
    if constraints.below_best:
        bound[:, -1] = np.repeat(surrogate.best_value / units[:, -1], count)
        softness[:, -1] = np.repeat(surrogate.noise / units[:, -1] ** 2, count)
    flipped_cov = sign[:, :, None] * given_cov * sign[:, None, :]
    constrained = constrain_above_zero(sign * (given_mean - bound), flipped_cov, one_sided, softness)

    root = np.sqrt(constrained.precision)
    middle = eye + root[:, :, None] * flipped_cov * root[:, None, :]
    signed_project = (root * sign)[:, :, None] * project
    reduction = inverse + np.matmul(signed_project.swapaxes(1, 2), np.linalg.solve(middle, signed_project))
    reduction = 0.5 * (reduction + reduction.swapaxes(1, 2))
    return reduction.reshape(draws, count, m, m), int((~constrained.converged).sum()), constrained.dropped


def constraint_covariance(kernel: Kernel, constraints: Constraints, units: Array, x: Array, z: Array) -> Array:
    """Prior covariance of f(z) with the constraint entries at x, in their units.

    x: (K, r, D), z: (C, D) -> (K, r, C, m). With w = (z - x)/l^2:
        gradients -2 phi' w_i;  diagonal 4 phi'' w_i^2 + 2 phi'/l_i^2;  mixed 4 phi'' w_i w_j;  value phi;   times A.
    """
    d = constraints.dimensions
    inverse = (kernel.lengthscales**-2)[:, None, None, :]
    difference = z[None, None] - x[:, :, None, :]
    w = difference * inverse
    u = np.einsum("krci,krci->krc", difference, w)
    phi, first, second = (kernel.variance[:, None, None] * p for p in kernel.family.profile(u, 2))
    wx = w[..., :d]
    entries = [
        -2.0 * first[..., None] * wx,
        4.0 * second[..., None] * wx**2 + 2.0 * first[..., None] * inverse[..., :d],
    ]
    if constraints.off_diagonal:
        rows, columns = constraints.pairs
        entries.append(4.0 * second[..., None] * wx[..., rows] * wx[..., columns])
    if constraints.below_best:
        entries.append(phi[..., None] + kernel.constant)
    return np.concatenate(entries, axis=-1) / units[:, None, None, :]


def constraint_covariance_gradient(
    kernel: Kernel, constraints: Constraints, units: Array, x: Array, z: Array, weight: Array
) -> Array:
    """d/dz of sum_m weight_m * constraint_covariance_m, with weight (K, r, C, m) held fixed: (K, r, C, D)."""
    d = constraints.dimensions
    inverse = (kernel.lengthscales**-2)[:, None, None, :]
    difference = z[None, None] - x[:, :, None, :]
    w = difference * inverse
    u = np.einsum("krci,krci->krc", difference, w)
    _, first, second, third = (kernel.variance[:, None, None, None] * p[..., None] for p in kernel.family.profile(u, 3))
    wx, inverse_x = w[..., :d], inverse[..., :d]
    b = weight / units[:, None, None, :]
    slope, curve = b[..., :d], b[..., d : 2 * d]

    def dot(p: Array, q: Array) -> Array:
        return np.einsum("krci,krci->krc", p, np.broadcast_to(q, p.shape))[..., None]

    along_w = -4.0 * second * dot(slope, wx) + 8.0 * third * dot(curve, wx**2) + 4.0 * second * dot(curve, inverse_x)
    gradient = along_w * w
    gradient[..., :d] += -2.0 * first * slope * inverse_x + 8.0 * second * curve * wx * inverse_x
    position = 2 * d
    if constraints.off_diagonal:
        rows, columns = constraints.pairs
        mixed = b[..., position : position + len(rows)]
        position += len(rows)
        gradient += 8.0 * third * dot(mixed, wx[..., rows] * wx[..., columns]) * w
        for p, (i, j) in enumerate(zip(rows, columns, strict=True)):
            gradient[..., i] += 4.0 * second[..., 0] * mixed[..., p] * wx[..., j] * inverse_x[..., i]
            gradient[..., j] += 4.0 * second[..., 0] * mixed[..., p] * wx[..., i] * inverse_x[..., j]
    if constraints.below_best:
        gradient += 2.0 * first * b[..., position:] * w
    return gradient
