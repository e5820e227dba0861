"""Many processes on one study: who evaluates a trial and since when, its beat, and whose turn it is to propose."""

import sqlalchemy as sa
from alembic import op

from farthing.store.schema import Number

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("trials", sa.Column("owner", sa.Text))
    op.add_column("trials", sa.Column("beat", sa.Integer, nullable=False, server_default="0"))
    op.add_column("trials", sa.Column("started", Number))
    op.add_column("studies", sa.Column("holder", sa.Text))
    op.create_index("trials_by_state", "trials", ["study_id", "state"])
