"""One BLAS thread while farthing computes: its matrices are small, and the other cores belong to the objective."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from farthing.numerics.scipy_lazily import lapack


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    lapack()  # SciPy brings a BLAS of its own, and the controller only knows those that are loaded
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread; what was set before is restored."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context
