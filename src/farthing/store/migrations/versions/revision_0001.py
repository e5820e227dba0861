"""Studies and their trials."""

import sqlalchemy as sa
from alembic import op

from farthing.store.schema import Number

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("budget", Number),
        sa.Column("created", Number, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("trials", sa.Integer, nullable=False),
        sa.Column("orders", sa.Integer, nullable=False),
    )
    op.create_table(
        "trials",
        sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("value", Number),
        sa.Column("cost", Number),
        sa.Column("noise", Number),
        sa.Column("overhead", Number, nullable=False),
        sa.Column("fidelity", sa.Text),
        sa.Column("order", sa.Integer),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("proposal", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("traceback", sa.Text),
        sa.Column("stated_cost", sa.Boolean, nullable=False),
        sa.Column("fidelity_name", sa.Text),
    )
    op.create_index("trials_by_revision", "trials", ["study_id", "revision"])
