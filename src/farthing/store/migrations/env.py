"""Alembic runs this to begin a migration: on the connection that `upgrade` was given, whose transaction it joins."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
