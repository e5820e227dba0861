"""The normal distribution's special functions, imported when first used: scipy.special is slow to load."""

from __future__ import annotations

from farthing.numerics.kernels import Array


def cdf(a: Array) -> Array:
    """P(N(0, 1) < a)."""
    from scipy.special import ndtr

    return ndtr(a)


def log_cdf(a: Array) -> Array:
    """log P(N(0, 1) < a), finite for a = -1e5 and beyond."""
    from scipy.special import log_ndtr

    return log_ndtr(a)


def scaled_erfc(t: Array) -> Array:
    """exp(t^2) erfc(t): finite for large t, where erfc itself underflows."""
    from scipy.special import erfcx

    return erfcx(t)
