"""The methods a study can use, as configured objects. A name such as "envpes" stands for `EnvPES()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from farthing.checks import as_finite, as_whole
from farthing.errors import SettingsError

SUPPORTS = ("wlh", "uniform", "ei_slice", "lcb_slice")
KERNELS = ("matern", "original")
OVERHEADS = ("last", "horizon")


@dataclass(frozen=True)
class Method:
    """What every method has: whether it chooses the fidelity, and whether it divides by the price."""

    chooses_fidelity: ClassVar[bool] = False
    priced: ClassVar[bool] = False


@dataclass(frozen=True)
class PES(Method):
    """Predictive entropy search at full fidelity: the information an evaluation gives about the place of the minimum.

    support: where draws of the minimizer may lie: "wlh", "uniform", "ei_slice", "lcb_slice".
    off_diagonal: also hold the off-diagonal Hessian of a minimizer at zero, as the paper does (it is no property of a minimum).
    below_best: without a fidelity, a minimizer's value is at or below the best value seen.
    rivals: at how many other places the objective is held to be no lower than at the minimizer; the paper has none.
    paths: of the draws of the minimizer, the share that is followed along sample paths, off the support; the paper has none.
    seek: whether every second proposal seeks and does not polish: to know a minimum more exactly than what is to be hoped for
    elsewhere counts for nothing then; or, where the objective is uneven, tries its luck, or with four parameters or more, once full
    fidelity was worth its price, is greedy: the most to be gained at full fidelity for its price; the paper polishes always.
    doubt: whether, once hardly anything is left to hope for, two fifths of what is spent from there on are spent on looking
    elsewhere, as if the minima that are known were not there; the paper never doubts.
    """

    support: str = "wlh"
    off_diagonal: bool = False
    below_best: bool = True
    rivals: int = 8
    paths: float = 0.5
    seek: bool = True
    doubt: bool = True

    def __post_init__(self) -> None:
        _check_support(self.support)
        _check_flags(self, "off_diagonal", "below_best", "seek", "doubt")
        rivals = as_whole(self.rivals)
        if rivals is None or rivals < 0:
            raise SettingsError(f"rivals is {self.rivals!r}; give a whole number from 0 up")
        share = as_finite(self.paths)
        if share is None or not 0.0 <= share <= 1.0:
            raise SettingsError(f"paths is {self.paths!r}; give a share from 0 to 1")


@dataclass(frozen=True)
class EnvPES(PES):
    """PES over the point and its fidelity, per unit of evaluation cost plus the overhead to come.

    nearly: where full fidelity has at most so many times the price of the fidelity chosen, it is chosen instead; 1 for the paper's.
    check: whether, once a few times what that costs has been spent on cheaper ones, the place held for the best is evaluated at
    full fidelity, and where that breaks their promise as much is spent at full fidelity; the paper never checks.
    trifle: a share of the budget; a place where a full evaluation costs less than that is not preferred for it; 0 for the paper's.
    """

    nearly: float = 1.1
    check: bool = True
    trifle: float = 1.0 / 60.0

    chooses_fidelity: ClassVar[bool] = True
    priced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_flags(self, "check")
        ratio = as_finite(self.nearly)
        if ratio is None or ratio < 1.0:
            raise SettingsError(f"nearly is {self.nearly!r}; give a ratio of prices from 1 up")
        share = as_finite(self.trifle)
        if share is None or not 0.0 <= share < 1.0:
            raise SettingsError(f"trifle is {self.trifle!r}; give a share of the budget from 0, below 1")


@dataclass(frozen=True)
class ES(Method):
    """Entropy search at full fidelity: how much less an evaluation is expected to leave unknown of the place of the minimum.

    representers: places, one of which is taken to be the minimizer.
    support: how they are drawn: "ei_slice" (Hennig and Schuler), "wlh", "uniform", "lcb_slice".
    """

    representers: int = 50
    support: str = "ei_slice"

    def __post_init__(self) -> None:
        _check_support(self.support)
        representers = as_whole(self.representers)
        if representers is None or not 5 <= representers <= 100:
            raise SettingsError(f"representers is {self.representers!r}; give a whole number from 5 to 100")


@dataclass(frozen=True)
class FABOLAS(ES):
    """ES over the point and its fidelity, per unit of evaluation cost plus overhead (Klein et al. 2017).

    kernel: "matern": the surrogate of the other methods, as the EnvPES paper compares it; "original": FABOLAS' own, a Matern kernel
    in x times a linear regression in s, on s^2 for the objective and s for the logarithm of the cost (s = 0 is full fidelity).
    overhead: "last": that of the step before, as FABOLAS has it; "horizon": the mean over the steps to come, as EnvPES has it.
    """

    kernel: str = "matern"
    overhead: str = "last"

    chooses_fidelity: ClassVar[bool] = True
    priced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("kernel", KERNELS), ("overhead", OVERHEADS)):
            if getattr(self, name) not in known:
                raise SettingsError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(known)}")


@dataclass(frozen=True)
class EI(Method):
    """Expected improvement on the best posterior mean, averaged over hyperparameter draws."""


@dataclass(frozen=True)
class PI(Method):
    """Probability of improvement, averaged over hyperparameter draws.

    margin: by how much to improve on the best posterior mean, in standard deviations of the values; with none, PI would evaluate
    the same place for ever.
    """

    margin: float = 0.01

    def __post_init__(self) -> None:
        _check_nonnegative("margin", self.margin)


@dataclass(frozen=True)
class LCB(Method):
    """Lower confidence bound mean - kappa * sd, averaged over hyperparameter draws."""

    kappa: float = 2.0

    def __post_init__(self) -> None:
        _check_nonnegative("kappa", self.kappa)


@dataclass(frozen=True)
class Random(Method):
    """Uniformly random points at full fidelity."""


def _check_flags(method: Method, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(method, name), bool):
            raise SettingsError(f"{name} is {getattr(method, name)!r}; give True or False")


def _check_support(name: object) -> None:
    if name not in SUPPORTS:
        raise SettingsError(f"there is no support sampler {name!r}; choose one of {', '.join(SUPPORTS)}")


def _check_nonnegative(name: str, value: object) -> None:
    number = as_finite(value)
    if number is None or number < 0.0:
        raise SettingsError(f"{name} is {value!r}; give a finite number from 0 up")


METHODS: dict[str, type[Method]] = {
    "envpes": EnvPES,
    "pes": PES,
    "fabolas": FABOLAS,
    "es": ES,
    "ei": EI,
    "pi": PI,
    "lcb": LCB,
    "random": Random,
}


def method_of(method: str | Method) -> Method:
    """The method of that name, or the configured method itself."""
    if isinstance(method, Method) and isinstance(method, tuple(METHODS.values())):
        return method
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    raise SettingsError(f"there is no method {method!r}; choose one of {', '.join(METHODS)} or an object of farthing.methods")
