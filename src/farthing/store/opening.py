"""The store that a user means."""

from __future__ import annotations

import os

from farthing.errors import SettingsError, StudyNotFound
from farthing.store.interface import Store
from farthing.store.memory import MemoryStore

_METHODS = tuple(name for name, member in vars(Store).items() if callable(member) and not name.startswith("_"))


def open_store(where: str | os.PathLike[str] | Store | None, *, create: bool = True) -> Store:
    """A new store in memory for None, the database at a path or a URL, or the store that is given.

    Without `create`, a file that is not there is not made but a StudyNotFound.
    """
    if where is None:
        return MemoryStore()
    if isinstance(where, str | os.PathLike):
        path = os.fspath(where).removeprefix("sqlite:///")
        if not create and "://" not in path and not os.path.exists(path):
            raise StudyNotFound(f"there is no file {path}; check the path")
        # Imported only here: whoever keeps studies in memory need not wait for SQLAlchemy.
        from farthing.store.sql import SqlStore

        return SqlStore(where)
    if all(hasattr(where, name) for name in _METHODS):
        return where
    raise SettingsError(
        f"a study cannot be kept in {where!r}; give the path of a SQLite file, a URL such as postgresql://USER@HOST/DATABASE, a "
        "store, or None to keep it in memory"
    )
