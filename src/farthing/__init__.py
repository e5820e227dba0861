"""farthing minimizes expensive objectives when you may choose what each evaluation costs."""

from farthing import methods
from farthing.axes import Choice, Fidelity, Integer, Real
from farthing.errors import (
    FarthingError,
    KernelError,
    MissingExtra,
    NothingToReport,
    ObjectiveFailed,
    SettingsError,
    SpaceError,
    SpaceExhausted,
    StoreError,
    StudyFileError,
    StudyNotFound,
    TrialError,
    ValueRefused,
)
from farthing.minimization import minimize
from farthing.settings import Settings
from farthing.study import Result, Study
from farthing.trials import Evaluation, Recommendation, Trial

__all__ = [
    "Choice",
    "Evaluation",
    "FarthingError",
    "Fidelity",
    "Integer",
    "KernelError",
    "MissingExtra",
    "NothingToReport",
    "ObjectiveFailed",
    "Real",
    "Recommendation",
    "Result",
    "Settings",
    "SettingsError",
    "SpaceError",
    "SpaceExhausted",
    "StoreError",
    "Study",
    "StudyFileError",
    "StudyNotFound",
    "Trial",
    "TrialError",
    "ValueRefused",
    "methods",
    "minimize",
]

__version__ = "0.1.0"
