"""SciPy's parts, imported when first used: loading them takes longer than loading all of farthing."""

from __future__ import annotations

from functools import cache
from typing import Any

from farthing.numerics.kernels import Array


@cache
def lapack() -> Any:
    """LAPACK's routines."""
    from scipy.linalg import lapack

    return lapack


@cache
def blas() -> Any:
    """BLAS's routines."""
    from scipy.linalg import blas

    return blas


def normal_cdf(a: Array) -> Array:
    """P(N(0, 1) < a)."""
    from scipy.special import ndtr

    return ndtr(a)


def log_normal_cdf(a: Array) -> Array:
    """log P(N(0, 1) < a), finite for a = -1e5 and beyond."""
    from scipy.special import log_ndtr

    return log_ndtr(a)


def scaled_erfc(t: Array) -> Array:
    """exp(t^2) erfc(t): finite for large t, where erfc itself underflows."""
    from scipy.special import erfcx

    return erfcx(t)
