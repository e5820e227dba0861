"""What farthing raises.

    FarthingError
    ├── SpaceError        an axis or a fidelity that cannot be, or parameters that do not fit the space
    ├── SettingsError     a setting, method or budget that cannot be
    │   └── KernelError   a kernel that does not exist, or lacks a derivative that was asked for
    ├── ValueRefused      a value, cost or noise that is not a usable number
    ├── TrialError        a trial told twice, unknown, or in the wrong state
    ├── NothingToReport   a recommendation was asked for before anything was evaluated
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


class ObjectiveFailed(FarthingError):  # noqa: N818
    """The objective failed again and again; the last failure is the cause."""
