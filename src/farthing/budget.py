"""Budgets: a number of cost units, or a time such as "90 s", "30 min", "8 h"."""

from __future__ import annotations

import re
from typing import Any

from farthing.checks import as_finite
from farthing.errors import SettingsError

UNITS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

_TIME = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-z]+)\s*")


def parse_budget(budget: Any) -> float | None:
    """A budget as a positive number of cost units (seconds for a time), None for none."""
    if budget is None:
        return None
    amount = budget
    if isinstance(budget, str):
        match = _TIME.fullmatch(budget)
        if match is None or match[2] not in UNITS:
            raise SettingsError(f'budget {budget!r} is not understood; give a number or a time such as "90 s", "30 min" or "8 h"')
        try:
            amount = float(match[1]) * UNITS[match[2]]
        except ValueError:
            raise SettingsError(f'budget {budget!r} is not understood; give a time such as "90 s" or "8 h"') from None
    number = as_finite(amount)
    if number is None or number <= 0.0:
        raise SettingsError(f'the budget is {budget!r}; give a finite number above zero, or a time such as "30 min"')
    return number
