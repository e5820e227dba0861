"""Draws of the minimizer, and the Gaussian process conditioned on each (paper §2.3, §4).

For each hyperparameter draw k, r joint posterior draws over the support points give r minimizers x_kr = argmin. That x_kr is the
minimizer of f(., s=0) is then written as constraints on derivatives of f there:

    on an interior axis     df/dx_i = 0,  d2f/dx_i2 >= 0
    on the lower face       df/dx_i >= 0      (the paper forces it to vanish there, which a minimum on a face need not do)
    on the upper face       df/dx_i <= 0
    paper variant           d2f/dx_i dx_j = 0 for i != j, on interior axes
    without a fidelity      f(x_kr) <= the best value seen, softly by the noise
    beyond the paper        f(x_kr) <= f at each of a few rival places, at s = 0

Equalities by exact conditioning, inequalities by expectation propagation. Derivatives are along real axes alone: on whole numbers
and choices the rivals have to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.axes import ON_A_FACE
from farthing.errors import KernelError
from farthing.method.surrogate import Surrogate
from farthing.methods import PES
from farthing.numerics.expectation_propagation import Mask, constrain_above_zero
from farthing.numerics.gaussian_process import GaussianProcess, cholesky
from farthing.numerics.kernels import Array, Axes, Kernel, Probes, contract_slopes, covariance

SINGULAR = 1e-9
"""Added to the variance of every constraint, in units of its prior variance."""


def draw_minimizers(surrogate: Surrogate, support: Array, count: int, rng: np.random.Generator) -> Array:
    """`count` draws of the minimizer for each hyperparameter draw, among support points (m, d): (K, count, d)."""
    process = surrogate.process
    z = surrogate.at_full_fidelity(support)
    white = process.whiten(process.kernel.values(z, process.probes.points))
    mean = np.matmul(white, process.whitened[:, :, None])[:, :, 0]
    normal = rng.standard_normal((len(mean), len(support), count))
    out = np.empty((len(mean), count, support.shape[1]))
    for k in range(len(mean)):
        kernel = process.kernel.only(k)
        posterior = kernel.upper(z)[0]
        posterior -= white[k] @ white[k].T
        lower = cholesky(posterior, kernel.variance_at(z)[0])
        out[k] = support[np.argmin(mean[k, :, None] + lower @ normal[k], axis=0)]
    return out


def choose_rivals(surrogate: Surrogate, minima: Array, minimizers: Array, count: int) -> Array:
    """At most `count` places (Q, d), far from one another, among local minima (m, d) and minimizer draws (K, r, d).

    Farthest first, in units of the lengthscales, beginning with the best minimum; none closer than a quarter of a lengthscale.
    """
    pool = np.concatenate([minima[:3], minimizers.reshape(-1, minimizers.shape[-1])])
    lengthscales = np.exp(surrogate.weights @ np.log(surrogate.process.kernel.lengthscales))[: pool.shape[1]]
    scaled = pool / lengthscales
    chosen = [0]
    distance = ((scaled - scaled[0]) ** 2).sum(axis=1)
    while len(chosen) < count:
        farthest = int(np.argmax(distance))
        if distance[farthest] < 0.25**2:
            break
        chosen.append(farthest)
        distance = np.minimum(distance, ((scaled - scaled[farthest]) ** 2).sum(axis=1))
    return pool[chosen[:count]]


@dataclass(frozen=True)
class Entries:
    """What of f the constraints on a minimizer x speak of, and how.

    dimensions: d, the first columns of x, which are real. The p entries: d gradients and d second derivatives at x; d(d-1)/2 mixed
    ones if off_diagonal; the value at x; values at the rivals (Q, D). The constraints are linear in them: one for each derivative,
    one for each rival, f(rival) - f(x) >= 0, and with below_best one for the value itself.
    """

    dimensions: int
    off_diagonal: bool
    below_best: bool
    rivals: Array

    @property
    def pairs(self) -> tuple[Axes, Axes]:
        return np.tril_indices(self.dimensions, -1)

    @property
    def derivative_axes(self) -> list[tuple[int, ...]]:
        """The axes along which each derivative entry is taken."""
        d = self.dimensions
        axes: list[tuple[int, ...]] = [(i,) for i in range(d)]
        axes += [(i, i) for i in range(d)]
        if self.off_diagonal:
            axes += [(int(i), int(j)) for i, j in zip(*self.pairs, strict=True)]
        return axes

    @property
    def derivatives(self) -> int:
        return len(self.derivative_axes)

    @property
    def combinations(self) -> Array:
        """(m, p): each constraint as a combination of entries."""
        count, rivals = self.derivatives, len(self.rivals)
        rows = count + rivals + int(self.below_best)
        out = np.zeros((rows, count + 1 + rivals))
        out[:count, :count] = np.eye(count)
        out[count : count + rivals, count] = -1.0
        out[count : count + rivals, count + 1 :] = np.eye(rivals)
        if self.below_best:
            out[-1, count] = -1.0
        return out

    def units(self, kernel: Kernel) -> Array:
        """Prior standard deviation of every entry: (K, p)."""
        origin = Probes.of(np.zeros((1, kernel.lengthscales.shape[1])), self.derivative_axes)
        derivatives = np.sqrt(np.diagonal(covariance(kernel, origin, origin), axis1=1, axis2=2))
        values = np.repeat(np.sqrt(kernel.variance_at_zero)[:, None], 1 + len(self.rivals), axis=1)
        return np.concatenate([derivatives, values], axis=1)

    def kinds(self, x: Array) -> tuple[Mask, Mask, Array]:
        """For minimizers x (K, r, d or more): which constraints are equalities, which one-sided, with what sign. Each (K, r, m)."""
        x = x[..., : self.dimensions]
        lower, upper = x < ON_A_FACE, x > 1.0 - ON_A_FACE
        interior = ~(lower | upper)
        never = np.zeros(x.shape, dtype=bool)
        equal, one_sided = [interior, never], [~interior, interior]
        if self.off_diagonal:
            rows, columns = self.pairs
            equal.append(interior[..., rows] & interior[..., columns])
            one_sided.append(np.zeros(equal[-1].shape, dtype=bool))
        others = (*x.shape[:2], len(self.rivals) + int(self.below_best))
        equal.append(np.zeros(others, dtype=bool))
        one_sided.append(np.ones(others, dtype=bool))
        sign = np.ones((*x.shape[:2], self.derivatives + others[2]))
        sign[..., : self.dimensions] = np.where(upper, -1.0, 1.0)
        return np.concatenate(equal, axis=2), np.concatenate(one_sided, axis=2), sign


@dataclass(frozen=True)
class ConditionedProcess:
    """GP_k given that x_kr is its minimizer, for every k and r.

    With e the p entries in units of their prior sd, and kappa(z) = cov(f(z), e | observations), the variance of f(z) is less by
    kappa^T B kappa. places: x_kr with s = 0 (K, r, D); white: L^-1 cov(observations, e) (K, r, n, p); dual: L^-T of that;
    reduction: B (K, r, p, p); units: (K, p). unconverged, dropped: what expectation propagation reports.
    """

    process: GaussianProcess
    places: Array
    entries: Entries
    units: Array
    white: Array
    dual: Array
    reduction: Array
    unconverged: int
    dropped: int


def condition_on_minimizers(
    surrogate: Surrogate, process: GaussianProcess, minimizers: Array, rivals: Array, method: PES
) -> ConditionedProcess:
    """Condition `process` (the surrogate's, perhaps with pending points) on each of the minimizers (K, r, d), with rivals
    (Q, d). A KernelError for FABOLAS' own kernel.
    """
    if not process.kernel.stationary:
        raise KernelError("minimizers are conditioned on with stationary kernels alone; use method ES or FABOLAS with this one")
    draws, count, d = minimizers.shape
    below_best = method.below_best and not surrogate.with_fidelity
    entries = Entries(surrogate.space.reals, method.off_diagonal, below_best, surrogate.at_full_fidelity(rivals))
    units = entries.units(process.kernel)
    places = surrogate.at_full_fidelity(minimizers.reshape(draws * count, d)).reshape(draws, count, -1)

    observed = process.probes.points
    cross = entry_covariance(process.kernel, entries, units, Apart.of(process.kernel, places, observed), observed)
    n, p = cross.shape[2:]
    rows = np.ascontiguousarray(cross.swapaxes(2, 3)).reshape(draws, count * p, n)
    white_rows = process.whiten(rows)
    white = white_rows.reshape(draws, count, p, n).swapaxes(2, 3)
    dual = process.unwhiten(white_rows).reshape(draws, count, p, n).swapaxes(2, 3)

    mean = np.einsum("krnp,kn->krp", white, process.whitened)
    cov = _prior(process.kernel, entries, units, places) - np.matmul(white.swapaxes(2, 3), white)
    reduction, unconverged, dropped = _reduction(surrogate, entries, minimizers, units, mean, cov)
    return ConditionedProcess(process, places, entries, units, white, dual, reduction, unconverged, dropped)


def _prior(kernel: Kernel, entries: Entries, units: Array, places: Array) -> Array:
    """Prior covariance of the entries of each minimizer, in their units: (K, r, p, p)."""
    draws, count, axes = places.shape
    m, q = entries.derivatives, len(entries.rivals)
    out = np.empty((draws, count, m + 1 + q, m + 1 + q))
    origin = Probes.of(np.zeros((1, axes)), [*entries.derivative_axes, ()])
    scale = units[:, :, None] * units[:, None, :]
    out[:, :, : m + 1, : m + 1] = (covariance(kernel, origin, origin) / scale[:, : m + 1, : m + 1])[:, None]
    if q:
        with_rivals = entry_covariance(kernel, entries, units, Apart.of(kernel, places, entries.rivals), entries.rivals)
        out[:, :, m + 1 :, :] = with_rivals / units[:, None, m + 1 :, None]
        out[:, :, :, m + 1 :] = out[:, :, m + 1 :, :].swapaxes(2, 3)
    return out


def _reduction(
    surrogate: Surrogate, entries: Entries, minimizers: Array, units: Array, mean: Array, cov: Array
) -> tuple[Array, int, int]:
    """B of each minimizer, with how many EP runs did not converge and how many sites were dropped.

    The constraints are c = M e. Equalities E among them: P = (cov_EE)^-1, padded with zeros. Then c | E has mean G mean and
    covariance S = G cov with G = I - cov P, and the sites' precisions T give
        B = M^T (P + G^T T^1/2 (I + T^1/2 S T^1/2)^-1 T^1/2 G) M.
    """
    draws, count, p = mean.shape
    # Rows of M scaled like the entries; only value entries are combined, and these have one unit.
    combinations = entries.combinations
    mean = mean.reshape(draws * count, p) @ combinations.T
    cov = combinations @ cov.reshape(draws * count, p, p) @ combinations.T
    m = len(combinations)
    shape = draws * count, m
    equalities, inequalities, signs = entries.kinds(minimizers)
    equal, one_sided, sign = equalities.reshape(shape), inequalities.reshape(shape), signs.reshape(shape)
    eye = np.eye(m)
    cov = cov + SINGULAR * eye
    both = equal[:, :, None] & equal[:, None, :]
    inverse = np.where(both, np.linalg.inv(np.where(both, cov, eye)), 0.0)
    project = eye - np.matmul(cov, inverse)
    given_mean = np.einsum("jab,jb->ja", project, mean)
    given_cov = np.matmul(project, cov)
    given_cov = 0.5 * (given_cov + given_cov.swapaxes(1, 2))

    bound, softness = np.zeros((draws * count, m)), np.zeros((draws * count, m))
    if entries.below_best:
        bound[:, -1] = np.repeat(-surrogate.values.min() / units[:, -1], count)
        softness[:, -1] = np.repeat(surrogate.noise / units[:, -1] ** 2, count)
    flipped_cov = sign[:, :, None] * given_cov * sign[:, None, :]
    constrained = constrain_above_zero(sign * (given_mean - bound), flipped_cov, one_sided, softness)

    root = np.sqrt(constrained.precision)
    middle = eye + root[:, :, None] * flipped_cov * root[:, None, :]
    signed_project = (root * sign)[:, :, None] * project
    reduction = inverse + np.matmul(signed_project.swapaxes(1, 2), np.linalg.solve(middle, signed_project))
    reduction = combinations.T @ (0.5 * (reduction + reduction.swapaxes(1, 2))) @ combinations
    return reduction.reshape(draws, count, p, p), int((~constrained.converged).sum()), constrained.dropped


@dataclass(frozen=True)
class Apart:
    """How points z lie to minimizers at x. w: (z - x) / l^2, (K, r, C, D); profile: A phi, A phi', ..., each (K, r, C, 1)."""

    w: Array
    profile: list[Array]

    @classmethod
    def of(cls, kernel: Kernel, x: Array, z: Array, order: int = 2) -> Apart:
        """x: (K, r, D), z: (C, D); order: that of the highest derivative of phi."""
        difference = z[None, None] - x[:, :, None, :]
        w = difference * (kernel.lengthscales**-2)[:, None, None, :]
        u = np.einsum("krci,krci->krc", difference, w)
        return cls(w, [(kernel.variance[:, None, None] * p)[..., None] for p in kernel.family.profile(u, order)])


def entry_covariance(kernel: Kernel, entries: Entries, units: Array, apart: Apart, z: Array) -> Array:
    """Prior covariance of f(z) with the entries of minimizers at x, in their units.

    z: (C, D) -> (K, r, C, p). With w = (z - x)/l^2:
        gradients -2 phi' w_i;  diagonal 4 phi'' w_i^2 + 2 phi'/l_i^2;  mixed 4 phi'' w_i w_j;  values phi;   times A.
    """
    d = entries.dimensions
    inverse = (kernel.lengthscales**-2)[:, None, None, :d]
    phi, first, second = apart.profile[:3]
    wx = apart.w[..., :d]
    parts = [-2.0 * first * wx, 4.0 * second * wx**2 + 2.0 * first * inverse]
    if entries.off_diagonal:
        rows, columns = entries.pairs
        parts.append(4.0 * second * wx[..., rows] * wx[..., columns])
    parts.append(phi + kernel.constant)
    if len(entries.rivals):
        rivals = kernel.values(z, entries.rivals)[:, None]
        parts.append(np.broadcast_to(rivals, (*wx.shape[:-1], len(entries.rivals))))
    return np.concatenate(parts, axis=-1) / units[:, None, None, :]


def entry_covariance_gradient(kernel: Kernel, entries: Entries, units: Array, apart: Apart, z: Array, weight: Array) -> Array:
    """d/dz of sum_kre weight_e * entry_covariance_e, with weight (K, r, C, p) held fixed: (C, D). `apart` has to be of order 3."""
    d = entries.dimensions
    inverse_x = (kernel.lengthscales**-2)[:, None, None, :d]
    _, first, second, third = apart.profile
    wx = apart.w[..., :d]
    b = weight / units[:, None, None, :]
    slope, curve, value = b[..., :d], b[..., d : 2 * d], b[..., entries.derivatives, None]

    def dot(p: Array, q: Array) -> Array:
        return np.einsum("krci,krci->krc", p, np.broadcast_to(q, p.shape))[..., None]

    along_w = -4.0 * second * dot(slope, wx) + 8.0 * third * dot(curve, wx**2) + 4.0 * second * dot(curve, inverse_x)
    along_w += 2.0 * first * value
    per_axis = -2.0 * first * slope * inverse_x + 8.0 * second * curve * wx * inverse_x
    if entries.off_diagonal:
        rows, columns = entries.pairs
        mixed = b[..., 2 * d : entries.derivatives]
        along_w += 8.0 * third * dot(mixed, wx[..., rows] * wx[..., columns])
        for p, (i, j) in enumerate(zip(rows, columns, strict=True)):
            per_axis[..., i] += 4.0 * second[..., 0] * mixed[..., p] * wx[..., j] * inverse_x[..., i]
            per_axis[..., j] += 4.0 * second[..., 0] * mixed[..., p] * wx[..., i] * inverse_x[..., j]
    gradient = along_w * apart.w
    gradient[..., :d] += per_axis
    total = gradient.sum(axis=(0, 1))
    if len(entries.rivals):
        _, slopes = kernel.values_and_slopes(z, entries.rivals)
        # The rivals are at s = 0, where they have no part in the trend.
        slopes *= b[..., entries.derivatives + 1 :].sum(axis=1)
        total += contract_slopes(kernel, z, entries.rivals, slopes).sum(axis=0)
    return total
