"""Support points: places among which the minimizer is drawn (paper §4).

Any sampler with mass everywhere will do; the closer to the distribution of the minimizer, the fewer points are needed. Each takes
(surrogate, local minima, count, rng) and returns (count, d) unit points at full fidelity. Whole numbers are drawn as real ones and
rounded; the choices of a draw are mostly those of its local minimum. A space of no more than `count` points is its own support.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farthing.axes import ON_A_FACE
from farthing.method.feasibility import Feasibility
from farthing.method.improvement import log_expected_improvement
from farthing.method.local_minima import LocalMinima
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array, Probes
from farthing.numerics.scipy_lazily import normal_cdf
from farthing.numerics.slice_sampling import sweep

Sampler = Callable[[Surrogate, LocalMinima, int, np.random.Generator], Array]

UNIFORM_SHARE = 0.15
"""Of the WLH points, those drawn uniformly, so that no place is impossible."""

EXCHANGED_SHARE = 0.2
"""Of the other WLH points, those with the choices of a random place."""

WIDEST = 0.5
"""No local model is believed to be wider than this, in units of the box."""

REDRAWS = 40

FEWEST = 20
"""Support points that stay, however likely evaluations are to fail there."""


def weighted_local_hessians(surrogate: Surrogate, minima: LocalMinima, count: int, rng: np.random.Generator) -> Array:
    """WLH: a mixture of Gaussians around the local minima c_i of the posterior mean.

    f is taken as a parabola near c_i with the expected Hessian H and a random gradient g, so its minimum is at c_i - H^-1 g:
        x ~ N(c_i, H^-1 cov(g) H^-T),  truncated to the box,
    weighted by P(f(c_i) < f(c_best)). On an axis where c_i lies on a face the expected gradient does not vanish: there the draw
    stays on the face when its gradient points outwards, and moves inwards by |g|/H otherwise.
    """
    mean, variance = surrogate.mixture(minima.x)
    best = int(np.argmin(mean))
    weights = normal_cdf((mean[best] - mean) / np.sqrt(np.maximum(variance + variance[best], 1e-300)))
    anywhere = int(np.ceil(UNIFORM_SHARE * count))
    shares = rng.multinomial(count - anywhere, weights / weights.sum())
    numbers = surrogate.space.numbers
    slopes, slope_covariances, hessians = _local_models(surrogate, minima.x) if numbers else _no_models(len(minima.x))
    parts = [uniform(surrogate, minima, anywhere, rng)]
    for i, share in enumerate(shares):
        if share:
            drawn = _draw_around(minima.x[i, :numbers], slopes[i], slope_covariances[i], hessians[i], int(share), rng)
            parts.append(np.column_stack([drawn, _choices_around(surrogate, minima.x[i], int(share), rng)]))
    return surrogate.space.snap(np.concatenate(parts))


def _choices_around(surrogate: Surrogate, center: Array, count: int, rng: np.random.Generator) -> Array:
    """(count, columns of choices): those of the center, but for a share of random ones."""
    numbers = surrogate.space.numbers
    out = np.tile(center[numbers:], (count, 1))
    if out.shape[1]:
        exchanged = rng.random(count) < EXCHANGED_SHARE
        out[exchanged] = surrogate.space.scatter(rng.random((int(exchanged.sum()), len(center))))[:, numbers:]
    return out


def _local_models(surrogate: Surrogate, x: Array) -> tuple[Array, Array, Array]:
    """The mixture's gradient mean (m, d) and covariance (m, d, d), and mean Hessian (m, d, d), at full fidelity.

    d counts the columns of numbers here: choices have no derivatives.
    """
    m, d = len(x), surrogate.space.numbers
    z = surrogate.at_full_fidelity(x)
    process, weights = surrogate.process, surrogate.weights
    probes = Probes.gradients(z, d)
    white = process.whiten(process.cross(probes))
    slopes = np.einsum("kpn,kn->kp", white, process.whitened).reshape(-1, m, d)
    white = white.reshape(len(weights), m, d, -1)
    origin = Probes.gradients(z[:1], d)
    prior = process.kernel_covariance(origin)
    covariances = prior[:, None] - np.matmul(white, white.swapaxes(2, 3))
    mean = np.einsum("k,kmi->mi", weights, slopes)
    off = slopes - mean
    covariance = np.einsum("k,kmij->mij", weights, covariances + off[..., :, None] * off[..., None, :])
    lower = np.einsum("k,kp->p", weights, process.mean(Probes.hessians(z, d))).reshape(m, -1)
    hessian = np.empty((m, d, d))
    rows, columns = np.tril_indices(d)
    hessian[:, rows, columns] = lower
    hessian[:, columns, rows] = lower
    return mean, covariance, hessian


def _no_models(m: int) -> tuple[Array, Array, Array]:
    """Those of a space of choices alone."""
    return np.empty((m, 0)), np.empty((m, 0, 0)), np.empty((m, 0, 0))


def _draw_around(
    center: Array, slope: Array, slope_covariance: Array, hessian: Array, count: int, rng: np.random.Generator
) -> Array:
    """Draws of the minimum of one local model, redrawn until inside the box."""
    on_face = (center < ON_A_FACE) | (center > 1.0 - ON_A_FACE)
    free = np.flatnonzero(~on_face)
    x = np.tile(np.where(center < ON_A_FACE, 0.0, np.where(center > 1.0 - ON_A_FACE, 1.0, center)), (count, 1))
    if len(free):
        root = _root(slope_covariance[np.ix_(free, free)], hessian[np.ix_(free, free)])
        todo = np.arange(count)
        for _ in range(REDRAWS):
            x[np.ix_(todo, free)] = center[free] + rng.standard_normal((len(todo), len(free))) @ root.T
            outside = ((x[todo] < 0.0) | (x[todo] > 1.0)).any(axis=1)
            todo = todo[outside]
            if not len(todo):
                break
        # What keeps falling outside is drawn in towards the center by just enough, times a random share.
        step = x[np.ix_(todo, free)] - center[free]
        room = np.where(step > 0.0, 1.0 - center[free], center[free]) / np.maximum(np.abs(step), 1e-300)
        x[np.ix_(todo, free)] = center[free] + step * (room.min(axis=1) * rng.random(len(todo)))[:, None]
    for i in np.flatnonzero(on_face):
        inward = 1.0 if center[i] < 0.5 else -1.0
        g = inward * (slope[i] + np.sqrt(max(slope_covariance[i, i], 0.0)) * rng.standard_normal(count))
        curvature = max(hessian[i, i], np.sqrt(max(slope_covariance[i, i], 0.0)) / WIDEST, 1e-300)
        x[:, i] += inward * np.minimum(np.maximum(-g, 0.0) / curvature, 1.0)
    return x


def _root(slope_covariance: Array, hessian: Array) -> Array:
    """R with R R^T = H^-1 cov(g) H^-T, eigenvalues of H floored and the spread capped at WIDEST in every direction."""
    values, vectors = np.linalg.eigh(hessian)
    largest = max(float(values.max()), 1e-12)
    inverse = (vectors / np.maximum(values, 1e-4 * largest)) @ vectors.T
    spread = inverse @ slope_covariance @ inverse
    values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
    return np.asarray(vectors * np.sqrt(np.clip(values, 1e-16, WIDEST**2)))


def uniform(surrogate: Surrogate, minima: LocalMinima, count: int, rng: np.random.Generator) -> Array:
    """Uniform in the box: cheap, and mostly in the wrong places."""
    return surrogate.space.scatter(rng.random((count, surrogate.dimensions)))


def slice_over_expected_improvement(surrogate: Surrogate, minima: LocalMinima, count: int, rng: np.random.Generator) -> Array:
    """Slice sampling with expected improvement as the density (Hennig and Schuler 2012)."""

    def log_density(x: Array) -> Array:
        return log_expected_improvement(surrogate, surrogate.at_full_fidelity(x), float(minima.mean.min()))[0]

    return _slice(log_density, surrogate, minima, count, rng)


def slice_over_confidence_bound(surrogate: Surrogate, minima: LocalMinima, count: int, rng: np.random.Generator) -> Array:
    """Slice sampling with exp(-(mean - 2 sd)), in units of the sd of the bound over the box, as the density."""
    probe = uniform(surrogate, minima, 200, rng)

    def bound(x: Array) -> Array:
        mean, variance = surrogate.mixture(x)
        return mean - 2.0 * np.sqrt(variance)

    scale = max(float(bound(probe).std()), 1e-12)
    return _slice(lambda x: -bound(x) / scale, surrogate, minima, count, rng)


def _slice(
    log_density: Callable[[Array], Array],
    surrogate: Surrogate,
    minima: LocalMinima,
    count: int,
    rng: np.random.Generator,
    chains: int = 20,
    burn_in: int = 20,
    thinning: int = 4,
) -> Array:
    """`chains` chains, begun at the minima and at random places, with steps a fifth of the box wide, burnt in and thinned.

    They move through the cube; the density is that of the place that each point of it stands for.
    """
    d, places = surrogate.dimensions, surrogate.space.scatter

    def inside(x: Array) -> Array:
        ok = ((x >= 0.0) & (x <= 1.0)).all(axis=1)
        out = np.full(len(x), -np.inf)
        if ok.any():
            out[ok] = log_density(places(x[ok]))
        return out

    starts = np.concatenate([minima.x[: chains // 2], rng.random((chains, d))])[:chains]
    state = np.clip(starts, 1e-6, 1.0 - 1e-6)
    directions = 0.2 * np.eye(d)
    kept = []
    for step in range(burn_in + thinning * int(np.ceil(count / chains))):
        state, _ = sweep(inside, state, rng, directions=directions)
        if step >= burn_in and (step - burn_in) % thinning == thinning - 1:
            kept.append(state)
    return places(np.concatenate(kept)[:count])


def draw_support(
    sampler: str, surrogate: Surrogate, minima: LocalMinima, feasibility: Feasibility | None, count: int, rng: np.random.Generator
) -> Array:
    """About `count` support points by the sampler of that name, fewer where evaluations are likely to fail."""
    small = surrogate.space.count <= count
    points = surrogate.space.every_point() if small else SAMPLERS[sampler](surrogate, minima, count, rng)
    if feasibility is None:
        return points
    chance = np.exp(feasibility.log_chance(surrogate.at_full_fidelity(points))[0])
    kept = rng.random(len(points)) < chance
    # Never none: the likeliest few stay.
    kept[np.argsort(-chance, kind="stable")[:FEWEST]] = True
    return points[kept]


SAMPLERS: dict[str, Sampler] = {
    "wlh": weighted_local_hessians,
    "uniform": uniform,
    "ei_slice": slice_over_expected_improvement,
    "lcb_slice": slice_over_confidence_bound,
}
