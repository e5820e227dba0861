"""Numbers as users give them: Python's or NumPy's, never booleans, never strings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def as_number(value: Any) -> float | None:
    """A float, infinite where the number is too large for one; None for what is not a real number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_finite(value: Any) -> float | None:
    """A finite float, or None."""
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None


def as_whole(value: Any) -> int | None:
    """An int, or None for what is not a whole number of an integer type."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        return None
    return int(value)
