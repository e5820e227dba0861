"""Sample paths of Gaussian processes: whole functions with gradients, instead of values at places given beforehand.

A path of the posterior is a path of the prior, pulled towards the observations (Matheron's rule; Wilson et al. 2020):

    f(z) = g(z) + k(z, X) C^-1 (y - g(X) - e),    g ~ GP(0, k),   e ~ N(0, noise)

g is the unknown mean plus waves a cos(w.z) + b sin(w.z) with frequencies w from the kernel's spectrum: for Matern kernels with
p + 1/2 that of a t distribution with 2p + 1 degrees of freedom. With finitely many waves g is only nearly a path of the prior; that
the observations are met does not suffer from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.errors import KernelError
from farthing.numerics.gaussian_process import GaussianProcess
from farthing.numerics.kernels import Array, Kernel

WAVES = 192


@dataclass(frozen=True)
class SamplePaths:
    """r paths of each of K processes; path p is number p mod r of process p // r. Processes that observed values only.

    frequencies: (K, F, D); cosines, sines: (K r, F); levels, tilts: (K r,) the mean's level and slope in the last
    axis; pulls: (K r, n), the factors of k(z, X).
    """

    process: GaussianProcess
    frequencies: Array
    cosines: Array
    sines: Array
    levels: Array
    tilts: Array
    pulls: Array

    @classmethod
    def draw(cls, process: GaussianProcess, count: int, rng: np.random.Generator, waves: int = WAVES) -> SamplePaths:
        """`count` paths of each process, whose kernels have to be stationary: others have no such spectrum."""
        if not process.kernel.stationary:
            raise KernelError("sample paths are drawn from stationary kernels alone; draw joint values at given points instead")
        kernel, points = process.kernel, process.probes.points
        draws = len(kernel.variance)
        frequencies = _frequencies(kernel, waves, rng)
        size = np.sqrt(kernel.variance / waves)[:, None, None]
        cosines, sines = size * rng.standard_normal((2, draws, count, waves))
        levels = np.sqrt(kernel.constant) * rng.standard_normal((draws, count))
        tilts = np.sqrt(kernel.trend) * rng.standard_normal((draws, count))
        prior = _waves(frequencies, cosines, sines, points) + levels[:, :, None]
        prior += tilts[:, :, None] * points[:, -1]
        error = np.sqrt(process.noise)[:, None] * rng.standard_normal(prior.shape)
        pulls = process.unwhiten(process.whitened[:, None] - process.whiten(prior + error))
        cosines, sines, pulls = (part.reshape(draws * count, -1) for part in (cosines, sines, pulls))
        return cls(process, frequencies, cosines, sines, levels.reshape(-1), tilts.reshape(-1), pulls)

    @property
    def count(self) -> int:
        """Of each process."""
        return len(self.levels) // len(self.frequencies)

    def __len__(self) -> int:
        return len(self.levels)

    def everywhere(self, points: Array) -> Array:
        """Every path at every point (m, D), to six digits or so: (K r, m)."""
        kernel, seen = self.process.kernel, self.process.probes.points
        out = self.levels[:, None] + np.outer(self.tilts, points[:, -1])
        of_each = len(self.frequencies), self.count, -1
        out += _waves(self.frequencies, self.cosines.reshape(of_each), self.sines.reshape(of_each), points).reshape(out.shape)
        for k in range(len(self.frequencies)):
            mine = slice(k * self.count, (k + 1) * self.count)
            out[mine] += self.pulls[mine] @ kernel.only(k).values(seen, points)[0]
        return out

    def along(self, which: NDArray[np.intp], points: Array) -> tuple[Array, Array]:
        """Values (m,) and gradients (m, D) at points (m, D), point i on path which[i]."""
        kernel, seen = self.process.kernel, self.process.probes.points
        draws = which // self.count
        frequencies = self.frequencies[draws]
        phases = np.matmul(frequencies, points[:, :, None])[:, :, 0]
        cosine, sine = np.cos(phases), np.sin(phases)
        a, b, pulls = self.cosines[which], self.sines[which], self.pulls[which]
        value = np.einsum("mf,mf->m", a, cosine) + np.einsum("mf,mf->m", b, sine) + self.levels[which]
        gradient = np.matmul((b * cosine - a * sine)[:, None], frequencies)[:, 0]
        # u = sum_i w_i (z_i - x_i)^2, every point with the lengthscales of its own process.
        w = (kernel.lengthscales**-2)[draws]
        u = w @ (seen**2).T - 2.0 * (w * points) @ seen.T + np.einsum("mi,mi->m", w * points, points)[:, None]
        phi, slope = kernel.family.profile(np.maximum(u, 0.0), 1)
        variance = kernel.variance[draws]
        value += variance * np.einsum("mn,mn->m", pulls, phi) + kernel.constant * pulls.sum(axis=1)
        tilts = self.tilts[which] + kernel.trend * (pulls @ seen[:, -1])
        value += tilts * points[:, -1]
        gradient[:, -1] += tilts
        slope *= pulls
        gradient += 2.0 * variance[:, None] * w * (points * slope.sum(axis=1)[:, None] - slope @ seen)
        return value, gradient


def _waves(frequencies: Array, cosines: Array, sines: Array, points: Array) -> Array:
    """sum_f a cos(w.z) + b sin(w.z) for frequencies (K, F, D), factors (K, r, F) and points (m, D), to six digits: (K, r, m).

    Single precision takes a tenth of the time. It is enough to tell which points are low, and for the pull towards observations:
    between crowded ones, met without noise, a path is off by a tenth of what it varies by there.
    """
    w, a, b, z = (part.astype(np.float32) for part in (frequencies, cosines, sines, points))
    phases = np.matmul(w, z.T)
    return np.matmul(a, np.cos(phases)).astype(float) + np.matmul(b, np.sin(phases))


def _frequencies(kernel: Kernel, waves: int, rng: np.random.Generator) -> Array:
    """Frequencies (K, F, D) from the spectrum of each kernel."""
    draws, axes = kernel.lengthscales.shape
    frequencies = rng.standard_normal((draws, waves, axes)) / kernel.lengthscales[:, None]
    freedom = kernel.family.spectral_freedom
    if freedom is not None:
        frequencies *= np.sqrt(freedom / rng.chisquare(freedom, (draws, waves, 1)))
    return np.asarray(frequencies)
