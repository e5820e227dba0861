"""The tables of a study database, and how a trial becomes a row and a row a trial.

Everything comes back exactly as it went in. Numbers are doubles; what has a shape or a type of its own (parameters, proposals,
fidelities) is JSON text; nothing is ever pickled, so reading a stranger's file runs no code.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    RowMapping,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.types import TypeEngine, UserDefinedType

from farthing.errors import StoreError
from farthing.trials import Proposal, Trial

# Oldest first; the last is what this farthing reads and writes. Written out here because asking Alembic takes a slow import.
REVISIONS = ("0001", "0002")
HEAD = REVISIONS[-1]

# PostgreSQL refuses NUL, and neither database takes half a surrogate pair. Each becomes SUB and four hexadecimal digits, and so
# does SUB itself, so that all text can be read back.
_SUBSTITUTE = "\x1a"
_FORBIDDEN = re.compile(f"[\x00{_SUBSTITUTE}\ud800-\udfff]")
_SUBSTITUTED = re.compile(f"{_SUBSTITUTE}([0-9a-f]{{4}})")


class AnyText(TypeDecorator[str]):
    """Any Python string."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value and _FORBIDDEN.sub(lambda match: f"{_SUBSTITUTE}{ord(match[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value and _SUBSTITUTED.sub(lambda match: chr(int(match[1], 16)), value)


class JsonText(TypeDecorator[Any]):
    """JSON as text, in ASCII; None is NULL. Python writes a float with all its digits, and 1, 1.0 and true apart."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        try:
            return json.loads(value)
        except ValueError as error:
            raise StoreError(
                f"the database holds {value[:60]!r} where JSON was expected ({error}): it is damaged, or another program wrote to "
                "it; restore it from a copy"
            ) from error


class _Untyped(UserDefinedType[float]):
    """A SQLite column without a declared type: in a REAL column SQLite would turn -0.0 into 0.0."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return ""


class Number(TypeDecorator[float]):
    """A double, to the last bit."""

    impl = Double
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[float]:
        return _Untyped() if dialect.name == "sqlite" else Double()

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        return None if value is None else float(value)


metadata = MetaData()

# trials, orders: how many there are, and so the next number and order. holder: of the turn to propose.
studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", AnyText, nullable=False, unique=True),
    Column("definition", JsonText, nullable=False),
    Column("budget", Number),
    Column("created", Number, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("orders", Integer, nullable=False),
    Column("holder", AnyText),
)

# revision: of the study when the trial changed last.
trials = Table(
    "trials",
    metadata,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("value", Number),
    Column("cost", Number),
    Column("noise", Number),
    Column("overhead", Number, nullable=False),
    Column("fidelity", JsonText),
    Column("order", Integer),
    Column("params", JsonText, nullable=False),
    Column("proposal", JsonText, nullable=False),
    Column("reason", AnyText),
    Column("traceback", AnyText),
    Column("stated_cost", Boolean, nullable=False),
    Column("fidelity_name", AnyText),
    Column("owner", AnyText),
    Column("beat", Integer, nullable=False, server_default="0"),
    Column("started", Number),
    Index("trials_by_revision", "study_id", "revision"),
    Index("trials_by_state", "study_id", "state"),
)

_FIELDS = tuple(field.name for field in fields(Trial))
TRIAL_COLUMNS = tuple(trials.c[name] for name in _FIELDS)


def row_of(trial: Trial) -> dict[str, Any]:
    """The columns of a trial, without those that are the store's own business."""
    return {**{name: getattr(trial, name) for name in _FIELDS}, "proposal": asdict(trial.proposal)}


def trial_of(row: RowMapping) -> Trial:
    """The trial of a row that has TRIAL_COLUMNS."""
    try:
        return Trial(**{**{name: row[name] for name in _FIELDS}, "proposal": Proposal.of(row["proposal"])})
    except (AttributeError, KeyError, TypeError) as error:
        raise StoreError(
            f"the proposal of trial {row['number']} cannot be understood ({error}): a newer farthing wrote it, or the database is "
            "damaged; upgrade farthing, or restore the database from a copy"
        ) from error
