"""Studies in a database: a SQLite file or a PostgreSQL server."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Row, RowMapping, Select, and_, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from farthing.errors import StoreError, StudyNotFound, TrialError
from farthing.store.database import address, begun, ready
from farthing.store.failures import described, translated
from farthing.store.interface import Pulse, StudyRecord
from farthing.store.schema import TRIAL_COLUMNS, row_of, studies, trial_of, trials
from farthing.trials import ABANDONED, PENDING, Trial

_RECORD = [studies.c.name, studies.c.definition, studies.c.budget, studies.c.created, studies.c.trials]
_COUNTERS = [studies.c.id, studies.c.revision, studies.c.trials, studies.c.orders, studies.c.holder]


class SqlStore:
    """A store in a database, for the threads and processes of any number of machines.

    where: the path of a SQLite file, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE. May be pickled, and cross a fork.

    A write is one transaction that locks its study first, so that numbers, orders and revisions are given out in the order in which
    they become visible. A read is one statement, and so sees one moment.
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._url = address(where)
        self._lock = threading.Lock()
        # One is opened at a time: the process cannot fork meanwhile, and a migration is not for two threads at once.
        with _fork_guard, translated(self._url):
            self._engine = ready(self._url)
            self._file = _identity(self._url)
            weakref.finalize(self, self._engine.dispose)
            _stores.add(self)

    def __reduce__(self) -> tuple[type[SqlStore], tuple[str | Path]]:
        if self._url.get_backend_name() == "sqlite":
            return SqlStore, (Path(self._url.database or ""),)
        return SqlStore, (self._url.render_as_string(hide_password=False),)

    def __str__(self) -> str:
        """The path or the URL, without the password."""
        if self._url.get_backend_name() == "sqlite":
            return self._url.database or ""
        return self._url.set(drivername="postgresql").render_as_string(hide_password=True)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._lock:
            self._engine.dispose()

    def create(self, name: str, definition: Mapping[str, Any], budget: float | None, created: float) -> bool:
        row = {
            "name": name,
            "definition": definition,
            "budget": budget,
            "created": created,
            "revision": 0,
            "trials": 0,
            "orders": 0,
        }
        with self._writing() as connection:
            # The same words for both databases, but two classes in SQLAlchemy.
            add: sqlite.Insert | postgresql.Insert
            add = sqlite.insert(studies) if connection.dialect.name == "sqlite" else postgresql.insert(studies)
            add = add.values(row).on_conflict_do_nothing(index_elements=["name"])
            return connection.execute(add, execution_options={"preserve_rowcount": True}).rowcount == 1

    def studies(self, name: str | None = None) -> list[StudyRecord]:
        query = select(*_RECORD)
        with self._reading() as connection:
            found = connection.execute(query if name is None else query.where(studies.c.name == name))
            return sorted((StudyRecord(**row) for row in found.mappings()), key=lambda record: record.name)

    def set_budget(self, name: str, budget: float | None) -> None:
        with self._locked(name) as (connection, study):
            connection.execute(update(studies).where(studies.c.id == study.id).values(budget=budget))

    def delete(self, name: str) -> None:
        with self._locked(name) as (connection, study):
            connection.execute(delete(studies).where(studies.c.id == study.id))

    def changes(self, name: str, since: int) -> tuple[list[Trial], int]:
        new = and_(trials.c.study_id == studies.c.id, trials.c.revision > since)
        query = (
            select(studies.c.revision.label("now"), *TRIAL_COLUMNS)
            .select_from(studies.outerjoin(trials, new))
            .where(studies.c.name == name)
        )
        rows = self._rows(name, query)
        return [trial_of(row) for row in rows if row["number"] is not None], rows[0]["now"]

    def insert(self, name: str, trial: Trial) -> Trial | None:
        with self._locked(name) as (connection, study):
            if trial.number != study.trials:
                return None
            trial = self._changed(connection, study, trial, added=1)
            row = row_of(trial) | {"study_id": study.id, "revision": study.revision + 1}
            connection.execute(insert(trials), row)
            return trial

    def finish(self, name: str, trial: Trial) -> Trial:
        with self._locked(name) as (connection, study):
            if not 0 <= trial.number < study.trials:
                raise TrialError(f"there is no trial {trial.number} in this study, which has {study.trials}")
            this = and_(trials.c.study_id == study.id, trials.c.number == trial.number)
            state = connection.scalar(select(trials.c.state).where(this))
            if state not in (PENDING, ABANDONED):
                raise TrialError(f"trial {trial.number} is {state} already; a trial takes one result, use add() for another")
            trial = self._changed(connection, study, trial)
            connection.execute(update(trials).where(this).values(row_of(trial) | {"revision": study.revision + 1}))
            return trial

    def turn(self, name: str, holder: str | None, successor: str | None) -> str | None:
        with self._locked(name) as (connection, study):
            if study.holder != holder:
                return study.holder
            connection.execute(update(studies).where(studies.c.id == study.id).values(holder=successor))
            return successor

    def beat(self, name: str, owner: str) -> None:
        with self._locked(name) as (connection, study):
            theirs = and_(trials.c.study_id == study.id, trials.c.state == PENDING, trials.c.owner == owner)
            connection.execute(update(trials).where(theirs).values(beat=trials.c.beat + 1))

    def pulses(self, name: str) -> list[Pulse]:
        owned = and_(trials.c.study_id == studies.c.id, trials.c.state == PENDING, trials.c.owner.is_not(None))
        query = (
            select(trials.c.number, trials.c.owner, trials.c.beat)
            .select_from(studies.outerjoin(trials, owned))
            .where(studies.c.name == name)
        )
        return [Pulse(**row) for row in self._rows(name, query) if row["number"] is not None]

    def abandon(self, name: str, pulse: Pulse, reason: str) -> bool:
        with self._locked(name) as (connection, study):
            same = and_(
                trials.c.study_id == study.id,
                trials.c.number == pulse.number,
                trials.c.state == PENDING,
                trials.c.owner == pulse.owner,
                trials.c.beat == pulse.beat,
            )
            revision = study.revision + 1
            done = connection.execute(update(trials).where(same).values(state=ABANDONED, reason=reason, revision=revision)).rowcount
            if done:
                connection.execute(update(studies).where(studies.c.id == study.id).values(revision=revision))
            return bool(done)

    def _rows(self, name: str, query: Select[Any]) -> list[RowMapping]:
        """Of a study joined with trials of it, by number; where there is no such trial, one row of which the number is None."""
        with self._reading() as connection:
            rows = connection.execute(query).mappings().all()
        if not rows:
            raise self._not_found(name)
        # Not sorted by SQLite: it would use the index on numbers, and go through all trials to find a few.
        return sorted(rows, key=lambda row: row["number"] or 0)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._lock, translated(self._url):
            self._check_file()
            with self._engine.connect() as connection:
                yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._lock, translated(self._url):
            self._check_file()
            with begun(self._engine) as connection:
                yield connection

    def _check_file(self) -> None:
        """An open SQLite file can be removed or renamed, and SQLite would go on writing into nowhere."""
        if _identity(self._url) != self._file:
            raise StoreError(
                f"{described(self._url)} was removed, renamed or replaced while in use; put it back, with the files beside it "
                "whose names end in -wal and -shm, and try again"
            )

    @contextmanager
    def _locked(self, name: str) -> Iterator[tuple[Connection, Row[Any]]]:
        """A transaction, and the counters of the study, which until its end nobody else can change."""
        with self._writing() as connection:
            study = connection.execute(select(*_COUNTERS).where(studies.c.name == name).with_for_update()).one_or_none()
            if study is None:
                raise self._not_found(name)
            yield connection, study

    def _changed(self, connection: Connection, study: Row[Any], trial: Trial, added: int = 0) -> Trial:
        """The trial with the next order, if it is a result; the study goes on to its next revision."""
        is_result = trial.state not in (PENDING, ABANDONED)
        counters = {"revision": study.revision + 1, "trials": study.trials + added, "orders": study.orders + is_result}
        connection.execute(update(studies).where(studies.c.id == study.id).values(counters))
        return replace(trial, order=study.orders if is_result else None)

    def _not_found(self, name: str) -> StudyNotFound:
        return StudyNotFound(f"there is no study {name!r} in {described(self._url)}; check the name, or create it")


def _identity(url: URL) -> tuple[int, int] | None:
    """Of the file that holds the database: None for a server, and where there is no file."""
    if url.get_backend_name() != "sqlite":
        return None
    try:
        found = os.stat(url.database or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino


# A connection must not be shared with a child process, and SQLite must not even be open when a process forks. So before a fork all
# calls under way are finished and all connections closed; both processes then connect anew.
_stores: weakref.WeakSet[SqlStore] = weakref.WeakSet()
_halted: list[SqlStore] = []
_fork_guard = threading.RLock()


def _before_fork() -> None:
    _fork_guard.acquire()
    for store in list(_stores):
        store._lock.acquire()
        _halted.append(store)
        store._engine.dispose()


def _after_fork() -> None:
    while _halted:
        _halted.pop()._lock.release()
    _fork_guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
