"""Variants of the method that have no switch: each puts one function or number of the library in the place of another, for one run.

    faces_stationary   the gradient vanishes at a minimizer on a face of the box too, as the paper has it (method/minimizers.py)
    clipped_support    support points that fall outside the box are moved onto its faces, not drawn again (method/support.py)
    equal_weights      every local minimum has the same share of the support points (method/support.py)
    no_uniform_share   no support points of WLH are drawn uniformly (method/support.py)
    last_overhead      the overhead to come is the last one, FABOLAS's rule, not the mean over the horizon (method/overhead.py)

Each is tested to take effect, and undone when its context ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from experiments.problem import Array
from farthing.method import beliefs, minimizers, support
from farthing.method.overhead import Overhead, scheduled_overhead
from farthing.trials import History


@contextmanager
def _substituted(owner: Any, name: str, substitute: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, substitute)
    try:
        yield
    finally:
        setattr(owner, name, original)


def faces_stationary() -> AbstractContextManager[None]:
    original = minimizers.Entries.kinds

    def kinds(self: minimizers.Entries, x: Array) -> Any:
        return original(self, np.full_like(x, 0.5))  # every minimizer counts as one in the interior

    return _substituted(minimizers.Entries, "kinds", kinds)


def clipped_support() -> AbstractContextManager[None]:
    def draw_around(
        center: Array, slope: Array, slope_covariance: Array, hessian: Array, count: int, rng: np.random.Generator
    ) -> Array:
        root = support._root(slope_covariance, hessian)
        return np.clip(center + rng.standard_normal((count, len(center))) @ root.T, 0.0, 1.0)

    return _substituted(support, "_draw_around", draw_around)


def equal_weights() -> AbstractContextManager[None]:
    return _substituted(support, "normal_cdf", lambda z: np.ones_like(z))


def no_uniform_share() -> AbstractContextManager[None]:
    return _substituted(support, "UNIFORM_SHARE", 0.0)


def last_overhead() -> AbstractContextManager[None]:
    def last(history: History, effort: str, previous: Overhead | None = None) -> Overhead:
        steps, seconds = history.overheads(effort)
        if not len(steps):
            return scheduled_overhead(history, effort, None)
        return Overhead((float(seconds[-1]), 0.0, 1.0, 0.0), len(steps))

    return _substituted(beliefs, "scheduled_overhead", last)


VARIANTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "faces_stationary": faces_stationary,
    "clipped_support": clipped_support,
    "equal_weights": equal_weights,
    "no_uniform_share": no_uniform_share,
    "last_overhead": last_overhead,
}


def applied(name: str | None) -> AbstractContextManager[None]:
    """The variant of that name inside the context; None: the library as it is."""
    return nullcontext() if name is None else VARIANTS[name]()
