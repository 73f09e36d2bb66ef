"""A backup holds one state of everything, whatever happens meanwhile, and comes back on either kind of database."""

from __future__ import annotations

import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, literal, select, text, update
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import OperationalError
from support.server.postgres import PostgresServer
from support.server.rows import add_upload, all_rows, fill_tables

from codec_superb.cli.main import call
from codec_superb.data_manifests.files import file_sha256
from codec_superb.server.database import migrate
from codec_superb.server.database.models import Account, Base, BoardChange, Revision, Submission
from codec_superb.server.database.processes import TRANSIENT
from codec_superb.server.database.session import Database, make_engine, record_change
from codec_superb.server.errors import OperationError
from codec_superb.server.operations import backup as backups
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import restore_backup, verify_backup
from codec_superb.server.settings import Settings


@pytest.fixture
def filled(settings: Settings, database: Database) -> Settings:
    """Give a leaderboard with rows in every table."""
    with database.transaction(write=True) as session:
        fill_tables(session, settings.files)
    return settings


@pytest.fixture
def backup(filled: Settings, tmp_path: Path) -> Path:
    """Back it up."""
    return make_backup(filled, tmp_path / "backup.zip").path


@pytest.fixture(params=["sqlite", "postgresql"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Give an empty place of either kind, without a schema."""
    if request.param == "sqlite":
        yield Settings(storage=tmp_path / "other")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        with server.database(migrated=False) as url:
            yield Settings(database=url, storage=tmp_path / "other")


@pytest.fixture
def empty(tmp_path: Path) -> Settings:
    """Give a place where nothing has been yet."""
    return Settings(storage=tmp_path / "empty")


@pytest.fixture
def used(tmp_path: Path) -> Settings:
    """Give a leaderboard that has something else in it."""
    settings = Settings(storage=tmp_path / "used")
    settings.storage.mkdir()
    migrate.upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        fill_tables(session, settings.files)
        session.add(Account(name="only here"))
    database.close()
    return settings


def _state(settings: Settings) -> tuple[object, dict[str, str]]:
    """Return all rows but the count of changes, and every file in the storage of submissions."""
    database = Database(settings.database_url)
    rows = all_rows(database.engine, TRANSIENT)
    rows.pop(Revision.__tablename__)
    database.close()
    return rows, {path.name: file_sha256(path) for path in sorted(settings.files.iterdir())}


class TestBackup:
    """``admin backup``."""

    def test_no_table_is_forgotten(self, database: Database, backup: Path) -> None:
        """Every table has rows in the test, and each but those of running processes is in the manifest with as many."""
        manifest = verify_backup(backup)
        rows = all_rows(database.engine, TRANSIENT)
        assert all(rows.values())
        assert {name: table.rows for name, table in manifest.tables.items()} == {
            name: len(found) for name, found in rows.items()
        }
        assert len(manifest.files) == 3

    def test_a_name_without_zip_is_a_folder(self, filled: Settings, tmp_path: Path) -> None:
        """It is made where it is missing, as the documented `admin backup /backups` expects."""
        path = make_backup(filled, tmp_path / "backups" / "daily").path
        assert path.parent == tmp_path / "backups" / "daily"
        assert (path.name.startswith("leaderboard-"), path.suffix) == (True, ".zip")
        assert verify_backup(path)

    @pytest.mark.sample(1, among="backups")
    def test_is_one_state_while_uploads_come_in(self, filled: Settings, database: Database, tmp_path: Path) -> None:
        """With a writer at work, each backup has results, clip rows and a file for exactly its own submissions."""
        stop, number = threading.Event(), 100

        def write() -> None:
            nonlocal number
            while not stop.is_set():
                number += 1
                with database.transaction(write=True) as session:
                    add_upload(session, filled.files, f"codec_{number}", number)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = [make_backup(filled, tmp_path / f"{index}.zip") for index in range(4)]
        finally:
            stop.set()
            writer.join()
        counts = [backup.manifest.tables["submissions"].rows for backup in made]
        assert counts == sorted(counts)
        assert counts[0] < counts[-1] < number
        for index, backup in enumerate(made):
            target = Settings(storage=tmp_path / f"restored {index}")
            tables = restore_backup(target, backup.path).tables
            assert tables["clip_blocks"].rows == tables["submissions"].rows == len(backup.manifest.files)
            assert tables["results"].rows == 6 * tables["submissions"].rows

    def test_a_damaged_submission_file_is_named(self, filled: Settings, database: Database, tmp_path: Path) -> None:
        """A file that is not what its row says stops the backup, all such are named with a way out, nothing is left."""
        first, second, _ = sorted(filled.files.iterdir())
        first.write_bytes(b"rotten" + first.read_bytes()[6:])
        second.unlink()
        with pytest.raises(OperationError, match="2 of 3 submission files") as caught:
            make_backup(filled, tmp_path / "out" / "backup.zip")
        with database.transaction() as session:
            for sha256 in (first.stem, second.stem):
                named = session.scalars(select(Submission.id).where(Submission.file_sha256 == sha256)).one()
                assert f"{sha256} of submission {named}" in str(caught.value)
        assert "else withdraw the submissions" in str(caught.value)
        assert list((tmp_path / "out").iterdir()) == []

    def test_files_of_withdrawn_submissions_stop_none(
        self, filled: Settings, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Missing or changed, they are named in the backup, the exit status says so, and the rest comes back."""
        first, second, third = sorted(filled.files.iterdir())
        first.write_bytes(b"rotten" + first.read_bytes()[6:])
        second.unlink()
        with database.transaction(write=True) as session:
            session.execute(update(Submission).values(status="withdrawn"))
        place = tmp_path / "backup.zip"
        where = ["--database", filled.database_url, "--storage", str(filled.storage)]
        assert call(["admin", "backup", str(place), *where, "--json"]) == 3
        assert json.loads(capsys.readouterr().out)["missing"] == [first.stem, second.stem]
        target = Settings(storage=tmp_path / "restored")
        assert restore_backup(target, place).files.keys() == {third.stem}
        assert [path.name for path in target.files.iterdir()] == [third.name]

    def test_needs_the_newest_schema(self, filled: Settings, tmp_path: Path) -> None:
        """A database of another version is not half understood but refused."""
        migrate.downgrade(filled.database_url, "base")
        with pytest.raises(OperationError, match="expected a database with schema"):
            make_backup(filled, tmp_path / "backup.zip")


class TestRestore:
    """``admin restore``."""

    @pytest.mark.sample(1, among="backups")
    def test_everything_comes_back_on_either_database(self, filled: Settings, backup: Path, other: Settings) -> None:
        """From each kind to each kind: the same rows, byte for byte, and the same files."""
        restore_backup(other, backup)
        assert _state(other) == _state(filled)
        assert [path.name for path in other.storage.iterdir() if path.name.startswith("restore-")] == []

    @pytest.mark.sample(1, among="backups")
    def test_which_verified_one_stands_comes_back(self, filled: Settings, tmp_path: Path, other: Settings) -> None:
        """A place is kept, in the history too, and not chosen anew."""
        database = Database(filled.database_url)
        with database.transaction(write=True) as session:
            behind = session.scalars(select(Submission.id).order_by(Submission.id).limit(1)).one()
            session.execute(update(Submission).where(Submission.id == behind).values(status="verified", behind=True))
            record_change(session, behind, "verified")
        database.close()
        path = make_backup(filled, tmp_path / "backup.zip").path
        verify_backup(path)
        restore_backup(other, path)
        assert _state(other) == _state(filled)
        database = Database(other.database_url)
        with database.transaction() as session:
            assert session.scalars(select(Submission.id).where(Submission.behind)).all() == [behind]
            assert session.scalars(select(BoardChange.submission_id).where(BoardChange.behind)).all() == [behind]
        database.close()

    def test_work_goes_on_there(self, backup: Path, other: Settings) -> None:
        """New rows get numbers after the restored ones, references hold, and caches know that they are old."""
        restore_backup(other, backup)
        database = Database(other.database_url)
        with database.transaction(write=True) as session:
            highest = max(session.scalars(select(Account.id)))
            session.add(account := Account(name="new"))
            session.flush()
            assert account.id == highest + 1
            add_upload(session, other.files, "opus_6k", 99)
            assert session.scalars(select(Submission.version).order_by(Submission.version)).all()[-1] == 3
            assert session.scalars(select(Revision.number)).one() > 0
        database.close()

    @pytest.mark.sample(1, among="backups")
    def test_a_used_leaderboard_is_refused_unless_told(self, filled: Settings, backup: Path, used: Settings) -> None:
        """What is there stays, unless ``replace`` says that it may go; then nothing of it is left in the database."""
        before = _state(used)
        with pytest.raises(OperationError, match=r"expected an empty leaderboard .*accounts.*--replace"):
            restore_backup(used, backup)
        assert _state(used) == before
        restore_backup(used, backup, replace=True)
        assert _state(used)[0] == _state(filled)[0]

    @pytest.mark.sample(1, among="backups")
    def test_a_prepared_service_counts_as_empty(self, filled: Settings, backup: Path, empty: Settings) -> None:
        """A service that was started once, with its own datasets in the database, may be restored into."""
        from codec_superb.server.datasets.service import ensure_builtin
        from codec_superb.server.operations.preparation import prepare

        prepare(empty)
        database = Database(empty.database_url)
        with database.transaction(write=True) as session:
            ensure_builtin(session)
        database.close()
        restore_backup(empty, backup)
        assert _state(empty) == _state(filled)

    def test_nothing_changes_when_it_fails_late(
        self, backup: Path, used: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk that refuses a file leaves rows and files as they were, and what one left that was killed goes."""
        before = _state(used)
        (used.storage / "restore-00c0dec0" / "submissions").mkdir(parents=True)
        monkeypatch.setattr("codec_superb.server.storage.vault._sync", _refuse)
        with pytest.raises(OSError, match="no more"):
            restore_backup(used, backup, replace=True)
        assert _state(used) == before
        assert [path.name for path in used.storage.iterdir() if path.name.startswith("restore-")] == []

    @pytest.mark.parametrize("end", ["known", "unknown", "Ctrl-C", "Ctrl-C before"])
    def test_a_commit_whose_answer_is_lost(
        self, filled: Settings, backup: Path, other: Settings, monkeypatch: pytest.MonkeyPatch, end: str
    ) -> None:
        """The database is asked whether it did; where it does not answer, no file is taken from rows that may stand."""
        commit, calls, own = DefaultDialect.do_commit, [], threading.get_ident()

        def lost(dialect: DefaultDialect, connection: Any) -> None:
            if threading.get_ident() != own:  # services of other tests live in this process
                return commit(dialect, connection)
            calls.append(connection)
            if end == "Ctrl-C before":
                raise KeyboardInterrupt
            commit(dialect, connection)
            if end == "Ctrl-C":
                raise KeyboardInterrupt
            raise dialect.dbapi.OperationalError("server closed the connection unexpectedly")  # type: ignore[union-attr]

        with monkeypatch.context() as patch:
            patch.setattr(DefaultDialect, "do_commit", lost)
            if end == "unknown":
                patch.setattr("codec_superb.server.operations.restore._asked", _lost)
                with pytest.raises(OperationError, match=r"not known.*restore again with --replace"):
                    restore_backup(other, backup)
            elif end == "Ctrl-C before":
                with pytest.raises(KeyboardInterrupt):
                    restore_backup(other, backup)
                assert not any(other.files.glob("*.zip"))
                return
            else:
                restore_backup(other, backup)
        assert len(calls) == 1
        assert _state(other) == _state(filled)

    def test_an_older_schema_is_upgraded(
        self, filled: Settings, backup: Path, empty: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A later program restores a backup of today: into today's tables first, then upgraded."""
        folder = tmp_path / "later"
        shutil.copytree(migrate.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        head = migrate.head()
        (folder / "versions" / "9999_later.py").write_text(LATER.format(head=head), encoding="utf-8")
        before, _ = _state(filled)
        monkeypatch.setattr(migrate, "FOLDER", folder)
        assert ScriptDirectory(str(folder)).get_current_head() == "9999"
        restore_backup(empty, backup)
        assert _state(empty)[0] == before
        engine = Database(empty.database_url).engine
        with engine.connect() as connection:
            assert migrate.current(connection) == "9999"
            assert set(connection.exec_driver_sql("SELECT motto FROM accounts").scalars()) == {"none yet"}
        engine.dispose()

    @pytest.mark.sample(1, among="backups")
    def test_a_backup_of_the_first_schema_is_restored(
        self, filled: Settings, empty: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A backup that the first program made, whose metrics have a ``value``, becomes rows of today."""
        before = _state(filled)[0]
        migrate.downgrade(filled.database_url, "0001")
        engine, tables = make_engine(filled.database_url), MetaData()
        tables.reflect(engine, only=lambda name, _: name in Base.metadata.tables)  # those that there were then
        engine.dispose()
        with monkeypatch.context() as then:
            then.setattr(migrate, "head", lambda: "0001")
            then.setattr(backups, "Base", SimpleNamespace(metadata=tables))
            files = select(Submission.file_sha256, Submission.file_size, literal(True))  # there were no parts
            then.setattr(backups, "_files_named", lambda connection: connection.execute(files).all())
            then.setattr(backups, "KEPT", [table for table in backups.KEPT if table.name in tables.tables])
            old = make_backup(filled, tmp_path / "old.zip").path
        restore_backup(empty, old)
        after = _state(empty)[0]  # other tables have what migrations make of these
        first = before.keys() & tables.tables.keys()
        assert {name: after[name] for name in first} == {name: before[name] for name in first}

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ("submissions SET created = '2026-01-01T00:00:00.' || hex(zeroblob(150))", "created of .* 40 characters"),
            ("submissions SET clips = 5000000000", "clips of row .* has a number of more than 32 bits"),
            ("submissions SET notes = '[NaN]'", "notes of row .* has something that is no JSON"),
            ("datasets SET title = 'a' || char(0) || 'b'", "title of row .* has a character of code 0"),
        ],
    )  # fmt: skip
    def test_check_says_what_postgresql_would_refuse(
        self, filled: Settings, database: Database, tmp_path: Path, postgres: PostgresServer, change: str, words: str
    ) -> None:
        """A row that SQLite alone stores is named by --check; PostgreSQL does refuse it, SQLite takes it back."""
        with database.transaction(write=True) as session:
            session.execute(text(f"UPDATE {change}"))
        path = make_backup(filled, tmp_path / "odd.zip").path
        with pytest.raises(OperationError, match=f"fits SQLite alone, PostgreSQL would refuse it: \\w+.{words}"):
            verify_backup(path)
        with postgres.database(migrated=False) as url, pytest.raises(OperationError, match="cannot use the database"):
            restore_backup(Settings(database=url, storage=tmp_path / "refused"), path)
        restore_backup(Settings(storage=tmp_path / "taken"), path)

    def test_a_newer_schema_is_refused(self, backup: Path, empty: Settings, tmp_path: Path) -> None:
        """A backup of a newer program names the version that it needs."""
        newer = _rewritten(backup, tmp_path, lambda manifest: manifest.update(schema_revision="9999", program="9.9"))
        with pytest.raises(OperationError, match=r"schema 9999, .*install codec-superb 9\.9 or newer"):
            restore_backup(empty, newer)


LATER = '''"""Something later."""
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None
def upgrade():
    with op.batch_alter_table("accounts") as batch:
        batch.add_column(sa.Column("motto", sa.String(50), nullable=False, server_default="none yet"))
def downgrade():
    with op.batch_alter_table("accounts") as batch:
        batch.drop_column("motto")
'''


def _lost(*_: object) -> bool:
    raise OperationalError("SELECT", {}, Exception("away"))


def _refuse(*_: object) -> None:
    raise OSError("no more")


def _rewritten(backup: Path, folder: Path, change: object) -> Path:
    """Copy a backup with another manifest, everything else as it was."""
    out = folder / "rewritten.zip"
    with zipfile.ZipFile(backup) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                change(manifest)  # type: ignore[operator]
                content = json.dumps(manifest).encode()
            target.writestr(name, content)
    return out
