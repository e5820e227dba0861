"""The history of the tables, for Alembic: versions/revision_0001.py and on, each the step from the one before."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables to a revision, within the connection's transaction.

    Not for two threads at once: Alembic keeps the migration under way in module variables.
    """
    config = Config(attributes={"connection": connection})
    # Alembic takes % for the beginning of a reference to another option.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    command.upgrade(config, revision)
