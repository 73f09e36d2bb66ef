"""The migrations make exactly the tables that the models describe, and can be undone with data in them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, inspect, select, text
from sqlalchemy.exc import DBAPIError
from support.profile import amount
from support.server.postgres import PostgresServer
from support.server.rows import WORDS, all_rows, fill_tables

from codec_superb.metrics.results import Estimate
from codec_superb.server.database import migrate
from codec_superb.server.database.migrate import downgrade, upgrade
from codec_superb.server.database.models import (
    AuditEntry,
    Base,
    BoardChange,
    PublishedResults,
    Result,
    Revision,
    Submission,
)
from codec_superb.server.database.processes import TRANSIENT
from codec_superb.server.database.session import Database, bump_revision

REVISIONS = [
    script.revision for script in reversed([*ScriptDirectory(str(migrate.FOLDER)).walk_revisions("base", "heads")])
]
"""All, the first first."""
NEXT = "9999"
LATER = '''"""What a developer writes: a required column, a longer one, a new table that refers to an old one."""
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{revision}", "{head}", None, None
def upgrade():
    with op.batch_alter_table("accounts") as batch:
        batch.add_column(sa.Column("motto", sa.String(50), nullable=False, server_default="none yet"))
        batch.alter_column("name", existing_type=sa.String(200), type_=sa.String(300), existing_nullable=False)
    with op.batch_alter_table("submissions") as batch:
        batch.alter_column("contact", new_column_name="address", existing_type=sa.String(200))
    op.create_table(
        "mottos",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_id", sa.Integer(), sa.ForeignKey("accounts.id"), nullable=False),
    )
    op.execute("INSERT INTO mottos (account_id) SELECT id FROM accounts")
    {more}
def downgrade():
    op.drop_table("mottos")
    with op.batch_alter_table("submissions") as batch:
        batch.alter_column("address", new_column_name="contact", existing_type=sa.String(200))
    with op.batch_alter_table("accounts") as batch:
        batch.alter_column("name", existing_type=sa.String(300), type_=sa.String(200), existing_nullable=False)
        batch.drop_column("motto")
'''


@pytest.fixture
def filled(database: Database, tmp_path: Path) -> Database:
    """Give a database with rows in every table."""
    with database.transaction(write=True) as session:
        fill_tables(session, tmp_path / "files")
    return database


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """Copy the migrations, for tests that add one."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _add(folder: Path, more: str = "pass") -> None:
    script = LATER.format(revision=NEXT, head=migrate.head(), more=more)
    (folder / "versions" / f"{NEXT}_later.py").write_text(script, encoding="utf-8")


def test_the_schema_is_that_of_the_models(database: Database) -> None:
    """A migrated database differs in nothing from the models."""
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        assert migrate.current(connection) == migrate.head() == REVISIONS[-1]


@pytest.mark.sample(2)
@pytest.mark.parametrize("revision", ["base", *REVISIONS[:-1]])
def test_downgrade_and_upgrade_with_data(filled: Database, database_url: str, revision: str) -> None:
    """Going down to each revision with rows in every table, and up again, leaves a schema that works."""
    assert all(all_rows(filled.engine).values())
    downgrade(database_url, revision)
    if revision == "base":
        assert set(inspect(filled.engine).get_table_names()) <= {"alembic_version"}
    upgrade(database_url)
    with filled.transaction(write=True) as session:
        bump_revision(session)
        assert session.scalars(select(Revision.number)).one() >= 1
    with filled.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def _kept(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows but those of tables that 0005 has not: going back loses them, as ``downgrade`` says."""
    newer = ("families", "listening_", "verification_", "private_", "attestations", "board_changes", "submission_parts")
    return {name: rows for name, rows in all_rows(database.engine, TRANSIENT).items() if not name.startswith(newer)}


def _metrics(database: Database) -> list[dict[str, dict[str, float | int | None]]]:
    """Read what is stored of metrics, without the models, which know the newest schema alone."""
    table = sa.table("results", sa.column("id", sa.Integer()), sa.column("metrics", sa.JSON()))
    with database.engine.connect() as connection:
        return list(connection.execute(select(table.c.metrics).order_by(table.c.id)).scalars())


@pytest.mark.sample(2, among="migrations with data")
def test_the_mean_of_a_metric_is_called_mean(
    filled: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 0002 it is ``value``, after it ``mean``, whatever rows fit into memory; nothing else differs, null too."""
    script = ScriptDirectory(str(migrate.FOLDER)).get_revision("0002")
    assert script is not None
    monkeypatch.setattr(script.module, "AT_ONCE", 2)
    with filled.transaction(write=True) as session:
        row = session.scalars(select(Result).order_by(Result.id.desc()).limit(1)).one()
        row.metrics = {"stoi": dict.fromkeys(Estimate.model_fields), "mel": {"mean": 0.1 + 0.2, "n": 3}}
        with_none = session.scalars(select(Result).order_by(Result.id).limit(1)).one()
        with_none.metrics = {}
    before, rows = _metrics(filled), _kept(filled)
    downgrade(database_url, "0001")
    old = _metrics(filled)
    assert [[list(estimate) for estimate in metrics.values()] for metrics in old] == [
        [["value" if name == "mean" else name for name in estimate] for estimate in metrics.values()]
        for metrics in before
    ]
    assert old[-1]["mel"]["value"] == before[-1]["mel"]["mean"] == 0.1 + 0.2
    upgrade(database_url)
    assert _metrics(filled) == before
    assert _kept(filled) == rows


@pytest.mark.sample(2, among="migrations with data")
def test_custom_submissions_are_withdrawn_for_an_older_program(filled: Database, database_url: str) -> None:
    """Before 0003 nothing custom is public, since it would be ranked; after it each has the status it had, and why."""
    with filled.transaction(write=True) as session:
        first, second, third = session.scalars(select(Submission).order_by(Submission.id))
        for row in (first, second):
            row.custom, row.document = True, {**row.document, "kind": "custom"}
        first.status, first.reason, second.status = "verified", WORDS, "withdrawn"
        identities = [first.id, second.id, third.id]
    before = _kept(filled)
    downgrade(database_url, "0002")
    assert "custom" not in {column["name"] for column in inspect(filled.engine).get_columns("submissions")}
    with filled.engine.begin() as connection:
        old = {row.id: row.status for row in connection.execute(text("SELECT id, status FROM submissions"))}
        assert [old[each] for each in identities] == ["withdrawn", "withdrawn", "published"]
    upgrade(database_url)
    assert _kept(filled) == before
    with filled.transaction() as session:
        assert session.scalars(select(Submission.custom).order_by(Submission.id)).all() == [True, True, False]
    downgrade(database_url, "0002")
    with filled.engine.begin() as connection:
        connection.execute(text("UPDATE submissions SET status = 'published' WHERE id = :id"), {"id": identities[0]})
    upgrade(database_url)
    with filled.transaction() as session:
        first = session.get_one(Submission, identities[0])
        assert (first.status, first.custom) == ("self-reported", True)
        assert "before_withdrawal" not in first.document


@pytest.mark.sample(2, among="migrations with data")
def test_submissions_under_conditions_are_withdrawn_for_an_older_program(filled: Database, database_url: str) -> None:
    """Before 0004 none is public, since it would be ranked; after it each has its status, why, and its condition."""
    with filled.transaction(write=True) as session:
        first, second, third = session.scalars(select(Submission).order_by(Submission.id))
        for row, condition in ((first, "noise:white:10 (against the input)"), (second, "loss:10")):
            recorded = {"name": condition.partition(" ")[0], "reference": "clean", "version": "1"}
            row.condition, row.document = condition, {**row.document, "condition": recorded}
        first.status, first.reason, second.status = "verified", WORDS, "withdrawn"
        second.custom, second.document = True, {**second.document, "kind": "custom"}
        identities = [first.id, second.id, third.id]
    before = _kept(filled)
    for revision in ("0003", "0002"):
        downgrade(database_url, revision)
        assert "condition" not in {column["name"] for column in inspect(filled.engine).get_columns("submissions")}
        with filled.engine.begin() as connection:
            old = {row.id: row.status for row in connection.execute(text("SELECT id, status FROM submissions"))}
            assert [old[each] for each in identities] == ["withdrawn", "withdrawn", "published"]
        upgrade(database_url)
        assert _kept(filled) == before


@pytest.mark.sample(2, among="migrations with data")
def test_imported_results_are_kept_aside_for_an_older_program(filled: Database, database_url: str) -> None:
    """Before 0005 there is no table for them, so that the audit log keeps them; after it each is back, to the digit."""
    with filled.transaction(write=True) as session:
        row = ["SVQSwSpeechTranscription", "SpeechTranscription", "speech_transcription", "sw", "WER", 0.1 + 0.2, None]
        session.add(PublishedResults(kind="mseb", name="b", source=WORDS, results=[row]))
        session.flush()
        figures = [["sample", "", "acc(%)", 0.1 + 0.2, "", None, None]]
        session.add(PublishedResults(kind="ultraeval", name="b", source=WORDS, results=figures))
    before = _kept(filled)
    assert len(before["published_results"]) == 3
    for revision, aside in (("0009", 1), ("0004", 3)):
        downgrade(database_url, revision)
        assert "published_results" not in inspect(filled.engine).get_table_names()
        with filled.transaction() as session:
            kept = session.scalars(select(AuditEntry).where(AuditEntry.action.startswith("published."))).all()
            assert [entry.detail["source"] for entry in kept] == [WORDS] * aside
    assert "published_encoders" not in inspect(filled.engine).get_table_names()
    upgrade(database_url)
    assert _kept(filled) == before


@pytest.mark.sample(2, among="migrations with data")
def test_of_rows_before_0017_none_is_behind(filled: Database, database_url: str) -> None:
    """So the newest verified one stands, as it did, until somebody decides about the name again."""
    before = _kept(filled)
    downgrade(database_url, "0016")
    upgrade(database_url)
    assert _kept(filled) == before
    with filled.transaction() as session:
        for behind in (Submission.behind, BoardChange.behind):
            assert {*session.scalars(select(behind))} == {False}
        for place in (Submission.place, BoardChange.place):
            assert {*session.scalars(select(place))} == {0}


@pytest.mark.sample(2, among="migrations with data")
def test_a_later_migration_keeps_every_row(filled: Database, database_url: str, later: Path) -> None:
    """A migration that changes tables to which others refer, there and back, loses nothing on either database."""
    before = _kept(filled)
    _add(later)
    upgrade(database_url, folder=later)
    with filled.engine.connect() as connection:
        assert set(connection.execute(text("SELECT motto FROM accounts")).scalars()) == {"none yet"}
        assert connection.execute(text("SELECT count(*) FROM mottos")).scalar() == len(before["accounts"])
    downgrade(database_url, migrate.head(), folder=later)
    assert _kept(filled) == before
    with filled.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.sample(2, among="migrations that fail")
def test_a_migration_that_fails_changes_nothing(filled: Database, database_url: str, later: Path) -> None:
    """What a failing migration did before it failed is undone on either database, tables included."""
    before = _kept(filled)
    _add(later, more='op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(Exception, match="nowhere"):
        upgrade(database_url, folder=later)
    assert "mottos" not in inspect(filled.engine).get_table_names()
    assert _kept(filled) == before
    with filled.engine.connect() as connection:
        assert migrate.current(connection) == migrate.head()


@pytest.mark.sample(2, among="migrations that fail")
def test_a_migration_that_breaks_references_is_undone(filled: Database, database_url: str, later: Path) -> None:
    """Rows whose owner a migration removes are noticed, although SQLite does not look while tables are copied."""
    _add(later, more='op.execute("DELETE FROM mottos"); op.execute("DELETE FROM accounts")')
    with pytest.raises(Exception, match=r"expected every reference|violates foreign key"):
        upgrade(database_url, folder=later)
    assert all_rows(filled.engine)["accounts"]


def test_developers_are_given_the_difference(database_url: str, later: Path, database: Database) -> None:
    """The next migration is written from what the models have and the database has not."""
    with database.engine.begin() as connection:
        connection.execute(text("DROP TABLE audit"))
    migrate.make_revision(database_url, "audit again", folder=later)
    (made,) = set((later / "versions").glob("*audit_again.py"))
    script = made.read_text(encoding="utf-8")
    assert re.search(r"op\.create_table\(\s*.audit.", script)
    compile(script, made.name, "exec")


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_start_together_upgrade_once(kind: str, postgres: PostgresServer, tmp_path: Path) -> None:
    """Two processes (four in long form) that upgrade the same empty database at the same moment all end well."""
    program = "import sys; from codec_superb.server.database.migrate import upgrade; input(); upgrade(sys.argv[1])"
    with postgres.database(migrated=False) as empty:
        url = empty if kind == "postgresql" else f"sqlite:///{tmp_path / 'x.sqlite'}"
        started = [
            subprocess.Popen(
                [sys.executable, "-c", program, url], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(amount(2, 4))
        ]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0)] * len(started)
        database = Database(url)
        with database.transaction() as session:
            assert session.scalars(select(Revision.number)).all() == [0]
        database.close()


def test_the_revision_counts(database: Database) -> None:
    """Every change that the public sees counts the revision up by one."""
    for _ in range(2):
        with database.transaction(write=True) as session:
            bump_revision(session)
    with database.transaction() as session:
        assert session.scalars(select(Revision.number)).one() == 2


def _old_statements_work(database: Database, url: str, before: str, after: str, folder: Path = migrate.FOLDER) -> None:
    """Do on the schema ``after`` what a program of the schema ``before`` does: read, write and change all it knows.

    Its tables are those of the database at ``before``; each row is read, deleted, written again and changed, by the
    old columns alone. Raises what the database raises.
    """
    downgrade(url, before, folder=folder)
    old = MetaData()
    with database.engine.connect() as connection:
        # what a migration itself writes is none of the program's rows
        old.reflect(connection, only=lambda name, _: name not in {migrate.VERSION_TABLE, "schema_support"})
        tables = old.sorted_tables
        rows = {table.name: connection.execute(select(table)).mappings().all() for table in tables}
    upgrade(url, after, folder=folder)
    database.engine.dispose()
    with database.engine.begin() as connection:
        for table in tables:
            assert connection.execute(select(table)).mappings().all() == rows[table.name], table.name
        for table in reversed(tables):
            connection.execute(table.delete())
        for table in tables:
            if rows[table.name]:
                connection.execute(table.insert(), [dict(row) for row in rows[table.name]])
            for row in rows[table.name]:
                same = [column == row[column.name] for column in table.primary_key.columns]
                assert connection.execute(table.update().where(*same).values(dict(row))).rowcount == 1


def _supported() -> list[tuple[str, str]]:
    """Return each schema with each older one whose programs it says may run on it."""
    oldest = {
        revision: getattr(ScriptDirectory(str(migrate.FOLDER)).get_revision(revision).module, "oldest", revision)
        for revision in REVISIONS
    }
    return [(old, new) for new in REVISIONS for old in REVISIONS if oldest[new] <= old < new]


@pytest.mark.parametrize(("before", "after"), _supported())
def test_programs_of_the_schemas_before_run_on_it(filled: Database, database_url: str, before: str, after: str) -> None:
    """A schema that says that older programs may run on it takes all that they read and write (expand)."""
    _old_statements_work(filled, database_url, before, after)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('batch.add_column(sa.Column("motto", sa.String(50)))', nullcontext()),
        (
            'batch.alter_column("contact", new_column_name="address", existing_type=sa.String(200))',
            pytest.raises(DBAPIError),
        ),
        ('batch.drop_column("notes")', pytest.raises(DBAPIError)),
        ('batch.add_column(sa.Column("motto", sa.String(50), nullable=False))', pytest.raises(DBAPIError)),
    ],
)
@pytest.mark.sample(1)
def test_what_older_programs_cannot_run_on_is_noticed(
    filled: Database, database_url: str, later: Path, change: str, expected: AbstractContextManager[object]
) -> None:
    """A migration that renames, removes, or demands what they do not know fails the test above, one that adds not."""
    script = (
        f'import sqlalchemy as sa\nfrom alembic import op\nrevision, down_revision = "{NEXT}", "{migrate.head()}"\n'
        f"branch_labels = depends_on = None\noldest = down_revision\n"
        f'def upgrade():\n    with op.batch_alter_table("submissions") as batch:\n        {change}\n'
        "def downgrade():\n    pass\n"
    )
    (later / "versions" / f"{NEXT}_later.py").write_text(script, encoding="utf-8")
    with expected:
        _old_statements_work(filled, database_url, migrate.head(), NEXT, later)
