"""Every kind of store, each new and empty."""

import postgres
import pytest

from farthing.store import MemoryStore
from farthing.store.sql import SqlStore


@pytest.fixture
def postgresql_url():
    """The address of an empty database on a PostgreSQL server."""
    try:
        return postgres.fresh_database()
    except postgres.NoServer as reason:
        pytest.skip(f"no PostgreSQL: {reason}")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of an empty database."""
    return str(tmp_path / "studies.db") if request.param == "sqlite" else request.getfixturevalue("postgresql_url")


@pytest.fixture(scope="session")
def postgresql_store():
    """One for all tests of the suite, since a new database takes its time."""
    try:
        made = SqlStore(postgres.fresh_database())
    except postgres.NoServer as reason:
        pytest.skip(f"no PostgreSQL: {reason}")
    yield made
    made.close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "sqlite":
        made = SqlStore(tmp_path / "studies.db")
        yield made
        made.close()
    else:
        made = request.getfixturevalue("postgresql_store")
        yield made
        for study in made.studies():
            made.delete(study.name)
