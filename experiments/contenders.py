"""What is compared: a method of farthing with its options and settings, and perhaps one substitution in the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import farthing as ft
from farthing import methods


@dataclass(frozen=True)
class Contender:
    """A line in a figure, a column or row in a table.

    method: its class in farthing.methods; options, settings: what differs from their defaults; variant: a substitution of
    `variants.py`; reference: the contender of an ablation that this one is compared with; slow: fewer runs are made by default.
    """

    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    reference: str | None = None
    note: str = ""
    slow: bool = False

    @property
    def available(self) -> bool:
        return hasattr(methods, self.method)

    def make(self) -> methods.Method:
        made: methods.Method = getattr(methods, self.method)(**self.options)
        return made

    def settings_with(self, overhead_price: float | None) -> ft.Settings:
        """No confirmation: what a recommendation is worth is found out offline at every step (paper §2.4)."""
        return ft.Settings(**{"overhead_price": overhead_price, "confirm": False, **self.settings})

    def described(self) -> dict[str, Any]:
        """What makes it different from another one, for JSON."""
        return {
            "method": self.method,
            "options": dict(self.options),
            "settings": {key: list(v) if isinstance(v, tuple) else v for key, v in self.settings.items()},
            "variant": self.variant,
        }


EI = Contender("EI", "EI")
PES = Contender("PES", "PES")
ENVPES = Contender("EnvPES", "EnvPES")
FABOLAS = Contender("FABOLAS", "FABOLAS", {"kernel": "matern"}, slow=True, note="Matérn 5/2 over the fidelity, as in the paper")
ORIGINAL_FABOLAS = Contender("FABOLAS", "FABOLAS", {"kernel": "original"}, slow=True, note="the original kernel")
