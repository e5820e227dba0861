"""Settings: how much the optimizer thinks, and what it assumes. One table feeds the defaults, the help and the documentation."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from farthing.checks import as_finite, as_whole
from farthing.errors import SettingsError
from farthing.numerics.kernels import FAMILIES

SAMPLERS = ("hmc", "whitened_slice", "slice", "map")


def _setting(default: Any, help_text: str) -> Any:
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True)
class Settings:
    """Settings of a study; `Settings.describe()` prints them with their meaning."""

    kernel: str = _setting("matern52", f"kernel of the surrogate: {', '.join(FAMILIES)}")
    trend: bool = _setting(True, "cheap evaluations may all be higher, or lower, than the truth; the paper has no such trend")
    sampler: str = _setting("hmc", f"how hyperparameters are drawn: {', '.join(SAMPLERS)}")
    draws: int = _setting(8, "hyperparameter draws in the surrogate")
    growth: float = _setting(1.2, "draws are moved when observations have grown by this factor, or fit the new ones badly")
    support_points: int = _setting(200, "places among which each draw of the minimizer is made")
    minimizers: int = _setting(2, "draws of the minimizer for each hyperparameter draw")
    starts: int = _setting(6, "local searches for the best next evaluation")
    initial: int = _setting(10, "evaluations of the initial design; the paper has 20")
    initial_fidelities: tuple[float, ...] = _setting(
        (0.5, 1.0), "its fidelities, on the way from full (0) to cheap (1): from the lowest to the highest of these"
    )
    initial_repeats: bool = _setting(
        False, "each of its places is evaluated at every one of its fidelities, as in the paper, which has 0.5, 0.75, 0.875"
    )
    noise: float | None = _setting(None, "standard deviation of the objective's noise; None: inferred")
    repeatable: float = _setting(
        0.5,
        "chance that the objective gives the same value again, until a repeat of its cheapest evaluation tells; the paper has 0",
    )
    tolerance: float = _setting(0.0, "differences in the objective below this do not matter")
    overhead_price: float | None = _setting(None, "cost of one second of overhead, where costs are not seconds")
    thinking_share: float = _setting(0.2, "thinking is kept to this share of the time, where evaluations are short; 1: no bound")
    confirm: bool = _setting(True, "end a run with an evaluation of the recommendation at full fidelity")

    def __post_init__(self) -> None:
        def need(ok: bool, name: str, expected: str) -> None:
            if not ok:
                raise SettingsError(f"setting {name} is {getattr(self, name)!r}; give {expected}")

        def at_least(name: str, least: float) -> bool:
            number = as_finite(getattr(self, name))
            return number is not None and number >= least

        need(isinstance(self.kernel, str) and self.kernel in FAMILIES, "kernel", f"one of {', '.join(FAMILIES)}")
        need(isinstance(self.sampler, str) and self.sampler in SAMPLERS, "sampler", f"one of {', '.join(SAMPLERS)}")
        for name, least in (("draws", 1), ("support_points", 10), ("minimizers", 1), ("starts", 1), ("initial", 1)):
            whole = as_whole(getattr(self, name)) is not None and at_least(name, least)
            need(whole, name, f"a whole number from {least} up")
        levels = self.initial_fidelities if isinstance(self.initial_fidelities, tuple) else ()
        inside = [number is not None and 0.0 <= number <= 1.0 for number in map(as_finite, levels)]
        need(bool(inside) and all(inside), "initial_fidelities", "a tuple of numbers from 0 to 1")
        need(at_least("growth", 1.0) and self.growth > 1.0, "growth", "a number above 1")
        need(self.noise is None or at_least("noise", 0.0), "noise", "None or a number from 0 up")
        need(at_least("repeatable", 0.0) and self.repeatable <= 1.0, "repeatable", "a number from 0 to 1")
        need(at_least("tolerance", 0.0), "tolerance", "a number from 0 up")
        need(self.overhead_price is None or at_least("overhead_price", 0.0), "overhead_price", "None or a number from 0 up")
        need(at_least("thinking_share", 0.0) and 0.0 < self.thinking_share <= 1.0, "thinking_share", "a number above 0, up to 1")
        for name in ("trend", "initial_repeats", "confirm"):
            need(isinstance(getattr(self, name), bool), name, "True or False")

    @classmethod
    def describe(cls) -> str:
        """One line a setting: name, default, meaning."""
        return "\n".join(f"{f.name:<20}{f.default!s:<14}{f.metadata['help']}" for f in fields(cls))
