"""farthing minimizes expensive objectives when you may choose what each evaluation costs."""

from farthing import methods
from farthing.errors import (
    FarthingError,
    KernelError,
    NothingToReport,
    ObjectiveFailed,
    SettingsError,
    SpaceError,
    TrialError,
    ValueRefused,
)
from farthing.minimization import minimize
from farthing.settings import Settings
from farthing.space import Fidelity, Real
from farthing.study import Result, Study
from farthing.trials import Evaluation, Recommendation, Trial

__all__ = [
    "Evaluation",
    "FarthingError",
    "Fidelity",
    "KernelError",
    "NothingToReport",
    "ObjectiveFailed",
    "Real",
    "Recommendation",
    "Result",
    "Settings",
    "SettingsError",
    "SpaceError",
    "Study",
    "Trial",
    "TrialError",
    "ValueRefused",
    "methods",
    "minimize",
]

__version__ = "0.1.0"
