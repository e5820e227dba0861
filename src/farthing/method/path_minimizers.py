"""Draws of the minimizer that are not bound to the support points: minima of sample paths (beyond the paper).

Support points lie around minima of the posterior mean, and there are few of them elsewhere. Where little is known, in many
dimensions above all, a minimizer may be anywhere, and mostly is on faces of the box: a path is followed there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farthing.method.surrogate import Surrogate
from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.kernels import Array
from farthing.numerics.sample_paths import SamplePaths

STARTS = 3
"""Searches along each path, from the best of the support points and of the scattered ones."""

KINDS = 6
"""With choices, as searches do not exchange them: from the best of each combination of them, of so many combinations."""

SCATTERED = 64
"""Points all over the box, half of them with about half of their numbers on faces: in many dimensions most minimizers are there."""

EVALUATIONS = 25


def follow_paths(surrogate: Surrogate, support: Array, count: int, rng: np.random.Generator) -> Array:
    """The minimizers, at full fidelity, of `count` paths for each hyperparameter draw, from support points (m, d): (K, count, d).

    Whole numbers are searched as real ones, rounded, and the real axes then searched again; choices are those of the start.
    """
    space, d = surrogate.space, surrogate.dimensions
    paths = SamplePaths.draw(surrogate.process, count, rng)
    places = np.concatenate([support, _scattered(surrogate, rng)])
    values = paths.everywhere(surrogate.at_full_fidelity(places))
    starts = _starts(values, places[:, space.numbers :])
    which = np.repeat(np.arange(len(paths)), starts.shape[1])

    def descend(x: Array, free: int) -> tuple[Array, Array]:
        """Along the first `free` columns. Which path a search is on travels with it, as a column that has no slope."""

        def along(points: Array) -> tuple[Array, Array]:
            value, gradient = paths.along(np.rint(points[:, d]).astype(np.intp), surrogate.at_full_fidelity(points[:, :d]))
            gradient = np.column_stack([gradient[:, :d], np.zeros(len(points))])
            gradient[:, free:] = 0.0
            return value, gradient

        box = np.zeros(d + 1), np.append(np.ones(d), len(paths))
        minima = minimize_in_box(along, np.column_stack([x, which]), *box, evaluations=EVALUATIONS, tolerance=1e-3)
        return minima.points[:, :d], minima.values

    places, reached = descend(places[starts.ravel()], space.numbers)
    if space.reals < space.numbers:
        places, reached = descend(space.snap(places), space.reals)
    lowest = np.argmin(reached.reshape(len(paths), -1), axis=1)
    best = places.reshape(len(paths), -1, d)[np.arange(len(paths)), lowest]
    return best.reshape(-1, count, d)


def _starts(values: Array, choices: Array) -> NDArray[np.intp]:
    """Where to begin on each path: places (P, starts), from the values (P, m) there and their columns of choices (m, c).

    Support points lie where the best combination of choices is at its best, the others have scattered ones: by value alone all
    searches would begin in that combination, and no path would have its minimum in another.
    """
    kinds, kind = np.unique(choices, axis=0, return_inverse=True)
    if len(kinds) == 1:
        return np.argsort(values, axis=1, kind="stable")[:, :STARTS]
    members = [np.flatnonzero(kind.ravel() == k) for k in range(len(kinds))]
    best = np.stack([these[np.argmin(values[:, these], axis=1)] for these in members], axis=1)
    order = np.argsort(np.take_along_axis(values, best, axis=1), axis=1, kind="stable")[:, :KINDS]
    return np.take_along_axis(best, order, axis=1)


def _scattered(surrogate: Surrogate, rng: np.random.Generator) -> Array:
    x = rng.random((SCATTERED, surrogate.dimensions))
    on_faces = rng.random(x.shape) < 0.5
    on_faces[::2] = False
    on_faces[:, surrogate.space.numbers :] = False
    return surrogate.space.scatter(np.where(on_faces, np.rint(x), x))
