"""What `import farthing` gives, and what it must not cost."""

import subprocess
import sys

import pytest

import farthing as ft

PUBLIC = [
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
ERRORS = [
    "KernelError",
    "MissingExtra",
    "NothingToReport",
    "ObjectiveFailed",
    "SettingsError",
    "SpaceError",
    "SpaceExhausted",
    "StoreError",
    "StudyFileError",
    "StudyNotFound",
    "TrialError",
    "ValueRefused",
]
SLOW = [
    *("threadpoolctl", "sqlalchemy", "alembic", "typer", "click", "rich"),
    *("scipy.stats", "scipy.optimize", "sklearn", "matplotlib", "torch", "optuna"),
]


def test_the_public_names_are_exactly_these():
    assert ft.__all__ == PUBLIC
    assert all(hasattr(ft, name) for name in PUBLIC)


def test_a_star_import_gives_the_public_names():
    names = {}
    exec("from farthing import *", names)
    assert sorted(set(names) - {"__builtins__"}) == PUBLIC


def test_every_error_is_a_farthing_error():
    assert all(issubclass(getattr(ft, name), ft.FarthingError) for name in ERRORS)
    assert [name for name in PUBLIC if isinstance(getattr(ft, name), type) and issubclass(getattr(ft, name), Exception)] == sorted(
        [*ERRORS, "FarthingError"]
    )
    assert issubclass(ft.KernelError, ft.SettingsError)


def test_the_errors_of_the_docstring_are_the_errors_there_are():
    from farthing import errors

    assert all(name in errors.__doc__ for name in ERRORS)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert ft.__version__ == version("farthing")


@pytest.fixture(scope="module")
def loaded():
    """The modules that a fresh interpreter holds after `import farthing`."""
    code = "import farthing, sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_import_is_seen_at_all(loaded):
    assert {"farthing.study", "farthing.numerics.kernels", "numpy"} <= loaded


@pytest.mark.parametrize("module", SLOW)
def test_importing_farthing_does_not_load(module, loaded):
    assert not {name for name in loaded if name == module or name.startswith(f"{module}.")}


def test_every_setting_is_described():
    described = ft.Settings.describe()
    names = [line.split()[0] for line in described.splitlines()]
    assert names == list(ft.Settings.__dataclass_fields__)
    assert all(len(line.split()) > 3 for line in described.splitlines())
