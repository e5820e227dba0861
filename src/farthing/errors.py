"""What farthing raises.

    FarthingError
    ├── SpaceError        an axis or a fidelity that cannot be, or parameters that do not fit the space
    ├── SettingsError     a setting, method or budget that cannot be
    │   └── KernelError   a kernel that does not exist, or lacks a derivative that was asked for
    ├── ValueRefused      a value, cost or noise that is not a usable number
    ├── TrialError        a trial told twice, unknown, or in the wrong state
    ├── NothingToReport   a recommendation was asked for before anything was evaluated
    ├── SpaceExhausted    every point of a finite space has been evaluated
    ├── StoreError        a database that cannot be opened, read or written, or a study in it that is not what was meant
    │   └── StudyNotFound no study of that name
    ├── MissingExtra      an optional package is not installed
    ├── StudyFileError    a study file that cannot be understood
    └── ObjectiveFailed   the objective failed again and again; the last failure is its cause

Each message says what happened, what was expected, and what to do.
"""


class FarthingError(Exception):
    """Every error that farthing raises on purpose."""


class SpaceError(FarthingError, ValueError):
    """An axis or a fidelity that cannot be, or parameters that do not fit the space."""


class SettingsError(FarthingError, ValueError):
    """A setting, method or budget that cannot be."""


class KernelError(SettingsError):
    """A kernel that does not exist, or lacks a derivative that was asked for."""


class ValueRefused(FarthingError, ValueError):  # noqa: N818
    """A value, cost or noise that is not a usable number."""


class TrialError(FarthingError):
    """A trial told twice, unknown, or in the wrong state."""


class NothingToReport(FarthingError):  # noqa: N818
    """A recommendation was asked for before anything was evaluated."""


class SpaceExhausted(FarthingError):  # noqa: N818
    """Every point of a finite space has been evaluated, without noise: there is nothing left to ask for."""


class StoreError(FarthingError):
    """A database that cannot be opened, read or written, or a study in it that is not what was meant."""


class StudyNotFound(StoreError):  # noqa: N818
    """There is no study of that name in the store."""


class MissingExtra(FarthingError, ImportError):  # noqa: N818
    """An optional package is not installed; the message has the command that installs it."""


class StudyFileError(FarthingError, ValueError):
    """A study file that cannot be understood; the message names the line, the key and the remedy."""


class ObjectiveFailed(FarthingError):  # noqa: N818
    """The objective failed again and again; the last failure is the cause."""
