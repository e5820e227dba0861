"""The tables: made, brought up to date, refused, and what may stand in them."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from example_trials import complete, elaborate, pending

from farthing.errors import SettingsError, StoreError
from farthing.store import MemoryStore, open_store
from farthing.store.database import _engine, address, begun
from farthing.store.migrations import upgrade
from farthing.store.schema import HEAD, REVISIONS, metadata, trials
from farthing.store.sql import SqlStore
from farthing.trials import Proposal, Trial


def bare(url):
    """An engine on a database as it is, without making or changing tables."""
    from sqlalchemy import NullPool

    return _engine(address(url), NullPool)


def execute(url, *statements):
    with begun(bare(url)) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def rows(url, query):
    with bare(url).connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ------------------------------------------------------------------------------------------------------------------- revisions


def columns(engine):
    """Of every table but Alembic's: names, types, whether NULL may be; keys and indexes."""
    from sqlalchemy import inspect

    inspector = inspect(engine)
    return {
        table: (
            sorted((column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)),
            inspector.get_pk_constraint(table)["constrained_columns"],
            [(key["constrained_columns"], key["referred_table"], key["options"]) for key in inspector.get_foreign_keys(table)],
            sorted((index["name"], tuple(index["column_names"])) for index in inspector.get_indexes(table)),
            [key["column_names"] for key in inspector.get_unique_constraints(table)],
        )
        for table in inspector.get_table_names()
        if table != "alembic_version"
    }


def test_migrations_lead_to_the_tables_that_the_store_uses(url):
    SqlStore(url).close()
    migrated = columns(bare(url))
    execute(url, "DROP TABLE trials", "DROP TABLE studies")
    metadata.create_all(bare(url))
    assert migrated == columns(bare(url))


def test_the_revisions_written_out_are_those_of_alembic():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    import farthing.store.migrations as package

    config = Config()
    config.set_main_option("script_location", os.path.dirname(package.__file__))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert [script.revision for script in scripts][::-1] == list(REVISIONS)


def test_a_trial_has_a_column_for_every_field():
    from dataclasses import fields

    assert {field.name for field in fields(Trial)} == set(trials.c.keys()) - {"study_id", "revision", "beat"}


PROPOSAL = (
    '{"kind":"acquisition","predicted_cost":1e-300,'
    '"carried":{"draws":[[0.1,2.0]],"observations":3,"location":0.5,"scale":2.0,"knee":1.0,"bend":0.5}}'
)


@pytest.fixture
def old(url):
    """The address of a database as the first revision left it, with a study and two trials in it."""
    with begun(bare(url)) as connection:
        upgrade(connection, "0001")
    execute(
        url,
        "INSERT INTO studies (id, name, definition, budget, created, revision, trials, orders) "
        """VALUES (7, 's', '{"seed":1}', 12.5, 1.5, 3, 2, 1)""",
        'INSERT INTO trials (study_id, number, revision, state, value, cost, noise, overhead, fidelity, "order", params, proposal, '
        "reason, traceback, stated_cost, fidelity_name) VALUES "
        f"""(7, 0, 3, 'complete', 0.1, 2.5, NULL, 0.25, '16', 0, '{{"x":0.30000000000000004,"n":1}}', '{PROPOSAL}', """
        "NULL, NULL, TRUE, 'epochs'), "
        """(7, 1, 2, 'pending', NULL, NULL, NULL, 0.5, NULL, NULL, '{"x":0.5,"n":2}', '{"kind":"initial"}', """
        "NULL, NULL, FALSE, NULL)",
    )
    return url


def test_an_old_database_is_brought_up_to_date_and_loses_nothing(old):
    store = SqlStore(old)
    assert rows(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    assert [(study.name, study.definition, study.budget, study.trials) for study in store.studies()] == [
        ("s", {"seed": 1}, 12.5, 2)
    ]
    (first, second), revision = store.changes("s", 0)
    assert revision == 3
    assert (first.value, first.cost, first.overhead, first.fidelity, first.order) == (0.1, 2.5, 0.25, 16, 0)
    assert (first.params, first.stated_cost, first.fidelity_name) == ({"x": 0.1 + 0.2, "n": 1}, True, "epochs")
    assert first.proposal.carried.draws == ((0.1, 2.0),)
    assert second == Trial(1, {"x": 0.5, "n": 2}, None, Proposal("initial"), overhead=0.5)
    assert store.finish("s", complete(1)).order == 1
    assert store.insert("s", pending(2, owner="me")) is not None
    store.beat("s", "me")
    assert [pulse.beat for pulse in store.pulses("s")] == [1]
    assert store.turn("s", None, "me") == "me"


def test_a_migration_that_fails_leaves_the_old_database_as_it_was(old):
    """The last statement of the second revision fails; the columns it had added must be gone again."""
    execute(old, "CREATE INDEX trials_by_state ON trials (state)")
    before = columns(bare(old))
    with pytest.raises(StoreError, match="trials_by_state"):
        SqlStore(old)
    assert columns(bare(old)) == before
    assert rows(old, "SELECT version_num FROM alembic_version") == [("0001",)]
    execute(old, "DROP INDEX trials_by_state")
    assert len(SqlStore(old).changes("s", 0)[0]) == 2


def test_the_database_of_a_newer_farthing_is_refused(url):
    SqlStore(url).close()
    execute(url, "UPDATE alembic_version SET version_num = '9999'")
    before = columns(bare(url))
    with pytest.raises(StoreError, match=r"revision 9999.*upgrade farthing"):
        SqlStore(url)
    assert columns(bare(url)) == before


def run(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_store_in_memory_does_not_wait_for_sqlalchemy_nor_a_database_for_alembic(tmp_path):
    path = str(tmp_path / "studies.db")
    SqlStore(path).close()
    code = """
        import sys
        from farthing.store import open_store
        open_store(None)
        print("sqlalchemy" in sys.modules)
        open_store(sys.argv[1])
        print("sqlalchemy" in sys.modules, "alembic" in sys.modules)
    """
    assert run(code, path).split() == ["False", "True", "False"]


def test_making_tables_prints_nothing(tmp_path):
    assert run("import sys; from farthing.store import open_store; open_store(sys.argv[1])", str(tmp_path / "studies.db")) == ""


def test_threads_that_make_tables_at_the_same_time_do_not_mix_them_up(tmp_path):
    """Alembic's state is shared by all threads."""
    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(lambda i: SqlStore(tmp_path / f"{i}.db"), range(12)))
    assert all(store.create("s", {}, None, 0.0) for store in stores)


# ------------------------------------------------------------------------------------------------------------ other programs


@pytest.mark.parametrize(
    "tables",
    [
        ["CREATE TABLE customers (id INTEGER)"],
        ["CREATE TABLE studies (id INTEGER)", "CREATE TABLE trials (id INTEGER)"],
        [
            "CREATE TABLE alembic_version (version_num TEXT)",
            "INSERT INTO alembic_version VALUES ('0001')",
            "CREATE TABLE users (id INTEGER)",
        ],
        [
            "CREATE TABLE alembic_version (version_num TEXT)",
            f"INSERT INTO alembic_version VALUES ('{HEAD}')",
            "CREATE TABLE studies (study_id INTEGER, study_name TEXT)",
            "CREATE TABLE trials (trial_id INTEGER)",
        ],
    ],
    ids=["customers", "same names", "alembic", "optuna"],
)
def test_the_database_of_another_program_is_refused_and_not_touched(url, tables, tmp_path):
    execute(url, *tables)
    files, before = contents(tmp_path), columns(bare(url))
    with pytest.raises(StoreError, match=r"another program.*give another path"):
        SqlStore(url)
    assert contents(tmp_path) == files
    assert columns(bare(url)) == before


def test_a_strangers_file_runs_no_code(url, tmp_path):
    """Whatever stands in the columns is parsed as JSON or shown as text; a pickle that would leave a mark is refused."""
    mark = tmp_path / "mark"
    pickled = f"cos\nsystem\n(S'touch {mark}'\ntR."
    store = SqlStore(url)
    store.create("s", {}, None, 0.0)
    store.insert("s", complete(0))
    quoted = pickled.replace("'", "''")
    execute(url, f"UPDATE trials SET reason = '{quoted}', owner = '{quoted}'")
    assert store.changes("s", 0)[0][0].reason == pickled
    for evil in (quoted, f'{{"__reduce__": ["os.system", "touch {mark}"]}}', '{"py/object": "os.system"}', "[]", "7"):
        execute(url, f"UPDATE trials SET proposal = '{evil}'")
        with pytest.raises(StoreError):
            store.changes("s", 0)
    execute(url, f"UPDATE studies SET definition = '{quoted}'")
    with pytest.raises(StoreError, match="where JSON was expected"):
        store.studies()
    assert not mark.exists()


def test_every_column_holds_a_number_or_plain_text(tmp_path):
    """Neither a pickle nor anything else that only Python could read."""
    path = tmp_path / "studies.db"
    store = SqlStore(path)
    store.create("s", {"x": 1}, None, 0.0)
    store.insert("s", elaborate(0))
    for table in ("studies", "trials"):
        names = [name for _, name, *_ in rows(path, f"PRAGMA table_info({table})")]
        types = rows(path, "SELECT " + ", ".join(f'typeof("{name}")' for name in names) + f" FROM {table}")[0]
        assert set(types) <= {"integer", "real", "text", "null"}
        numbers = {"value", "cost", "noise", "overhead", "started", "created"}
        assert {types[names.index(name)] for name in numbers & set(names)} == {"real"}


def test_a_row_of_a_newer_farthing_is_refused_with_a_remedy(url):
    store = SqlStore(url)
    store.create("s", {}, None, 0.0)
    store.insert("s", complete(0))
    execute(url, """UPDATE trials SET proposal = '{"kind": "initial", "zeal": 3}'""")
    with pytest.raises(StoreError, match=r"trial 0.*zeal.*upgrade farthing"):
        store.changes("s", 0)


# ------------------------------------------------------------------------------------------------------------------- settings


def test_a_sqlite_file_is_kept_safely(tmp_path):
    """A commit must reach the disk before a call returns, readers must not block writers, and rows must not be orphaned."""
    store = SqlStore(tmp_path / "studies.db")
    with store._engine.connect() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
        assert settings == ["wal", 2, 1]
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 60_000


def steps(store, function):
    """How many instructions SQLite executes for a call: unlike seconds, always the same."""
    pooled = store._engine.raw_connection()
    count = 0

    def tick():
        nonlocal count
        count += 1

    pooled.driver_connection.set_progress_handler(tick, 1)
    pooled.close()
    function()
    store._engine.dispose()
    return count


def crowded(path, size):
    """A store with two studies of so many complete trials, written by one statement each."""
    store = SqlStore(path)
    rest = ", ".join(f'"{column.name}"' for column in trials.c if column.name not in ("study_id", "number", "revision"))
    for name in ("s", "other"):
        store.create(name, {}, None, 0.0)
        store.insert(name, complete(0))
        execute(
            path,
            f"WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {size - 1}) "
            f"INSERT INTO trials (study_id, number, revision, {rest}) SELECT study_id, n, n + 1, {rest} FROM trials, up "
            f"WHERE study_id = (SELECT id FROM studies WHERE name = '{name}')",
            f"UPDATE studies SET revision = {size}, trials = {size}, orders = {size} WHERE name = '{name}'",
        )
    assert len(store.changes("s", 0)[0]) == size
    return store


def test_a_call_costs_no_more_after_many_trials(tmp_path):
    def costs(size):
        store = crowded(tmp_path / f"{size}.db", size)
        return [
            steps(store, lambda: store.changes("s", size - 1)),
            steps(store, lambda: store.insert("s", pending(size, owner="me"))),
            steps(store, lambda: store.beat("s", "me")),
            steps(store, lambda: store.pulses("s")),
            steps(store, lambda: store.finish("s", complete(size))),
            steps(store, lambda: store.studies()),
        ]

    few = costs(20)
    assert all(count > 0 for count in few)
    assert costs(1000) == pytest.approx(few, rel=0.2)


# -------------------------------------------------------------------------------------------------------------------- opening


def test_open_store_takes_what_a_user_may_mean(tmp_path):
    assert isinstance(open_store(None), MemoryStore)
    memory = MemoryStore()
    assert open_store(memory) is memory
    path = tmp_path / "studies.db"
    for i, where in enumerate([path, str(path), f"sqlite:///{path}"]):
        store = open_store(where)
        assert open_store(store) is store
        assert store.create(str(i), {}, None, 0.0)
    assert [study.name for study in open_store(path).studies()] == ["0", "1", "2"]


def test_postgres_is_another_word_for_postgresql(postgresql_url):
    store = open_store(postgresql_url.replace("postgresql://", "postgres://"))
    assert store.create("s", {}, None, 0.0)
    assert [study.name for study in open_store(postgresql_url).studies()] == ["s"]


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "q?mode=ro.db", "#1.db", "naïve 🪙.db", "%41.db", "file:x.db"])
def test_a_path_is_taken_letter_by_letter(tmp_path, name):
    import pickle

    store = open_store(tmp_path / name)
    store.create("s", {}, None, 0.0)
    assert [study.name for study in pickle.loads(pickle.dumps(store)).studies()] == ["s"]
    store.close()
    assert {path.name for path in tmp_path.iterdir()} >= {name}
    assert sqlite3.connect(tmp_path / name).execute("SELECT name FROM studies").fetchall() == [("s",)]


@pytest.mark.parametrize("where", [3, True, b"studies.db", object(), ["studies.db"]])
def test_what_is_no_place_for_studies_is_refused(where):
    with pytest.raises(SettingsError, match="give the path of a SQLite file"):
        open_store(where)
