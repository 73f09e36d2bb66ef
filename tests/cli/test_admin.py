"""``codec-superb admin``, on a database that nobody has made yet, of either kind."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from support.limits import limit
from support.pipeline.stats import draw_rows
from support.server.board import make_empty_files, make_submission
from support.server.ingest import categories, make_file, register

from codec_superb.cli.main import call
from codec_superb.server.database.session import Database
from codec_superb.server.people.access import identity_of_secret

Admin = Callable[..., Any]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Name a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'new.sqlite'}"
    else:
        with request.getfixturevalue("postgres").database(migrated=False) as made:
            yield made


@pytest.fixture
def admin(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Admin:
    """Run a command with --json and return what it prints; ``code`` is the exit code that must come."""

    def run(*arguments: str, code: int = 0) -> Any:
        options = ["--database", url, "--storage", str(tmp_path / "storage"), "--json"]
        assert call(["admin", *arguments, *options]) == code
        told = capsys.readouterr()
        return json.loads(told.out) if code == 0 else told.err

    return run


@pytest.fixture
def database(url: str, admin: Admin) -> Iterator[Database]:
    """Open the database beside the commands, which have made its tables."""
    admin("token", "list")
    with closing(Database(url)) as opened:
        yield opened


class TestToken:
    """``admin token``."""

    def test_from_creation_to_revocation(self, admin: Admin, url: str) -> None:
        """A token is made on an empty database, works, is listed without its secret, and ends."""
        made = admin("token", "create", "Lab of Sound", "--scope", "submit", "metrics", "--expires-days", "30")
        secret = made["token"]
        assert made["scopes"] == ["metrics", "submit"]
        assert made["expires"] > made["created"]
        with closing(Database(url)) as database, database.transaction() as session:
            assert identity_of_secret(session, secret).name == "Lab of Sound"
        (listed,) = admin("token", "list")
        assert listed["state"] == "valid"
        assert secret not in json.dumps(listed)
        assert admin("token", "revoke", listed["prefix"])["state"] == "revoked"
        assert "was revoked at" in admin("token", "revoke", str(listed["id"]), code=2)
        assert [entry["action"] for entry in admin("audit")] == ["token.revoked", "token.created"]
        assert {entry["actor"] for entry in admin("audit")} == {"command line"}

    def test_what_cannot_be(self, admin: Admin) -> None:
        """An unknown scope, a name of nothing and an unknown token are said in one line, without traceback."""
        admin("token", "list")  # of a new board another line tells
        for arguments, words in (
            (("token", "create", "lab", "--scope", "root"), "expected scopes among submit, moderate, metrics"),
            (("token", "create", " "), "expected a name"),
            (("token", "revoke", "cs_nothing"), "no token is 'cs_nothing'"),
        ):
            (line,) = admin(*arguments, code=2).splitlines()
            assert words in line


class TestUnwritable:
    """A database that a command can read and not write."""

    def test_is_said_in_one_sentence(
        self, url: str, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Commands that write end with what the database says and what to do, without a traceback."""
        with database.transaction(write=True) as session:  # its log of writes is kept while this process has it open
            make_submission(session, "own_12k")
        if url.startswith("postgresql"):
            url = f"{url}{'&' if '?' in url else '?'}options=-c%20default_transaction_read_only%3Don"
        options = ["--database", url, "--storage", str(tmp_path / "storage")]
        key = tmp_path / "key"
        with limit(resource.RLIMIT_FSIZE, 1) if url.startswith("sqlite") else nullcontext():
            for arguments in (
                ("token", "create", "lab"),
                ("submissions", "add", "x.zip"),
                ("verify", "enqueue", "--all"),
            ):
                assert call(["admin", *arguments, *options]) == 2, arguments
                (line,) = capsys.readouterr().err.splitlines()
                assert re.search("cannot use the database .*(disk|read-only).*; check that it runs, has room", line)
            assert call(["admin", "key", "create", "Mai", "--out", str(key), *options]) == 2
            assert re.search("(read-only|cannot be written: File too large)", capsys.readouterr().err)
            assert not key.exists()
            assert call(["admin", "token", "list", *options]) == 0


class TestSubmissions:
    """``admin submissions`` and ``admin codec``."""

    @pytest.mark.sample(1, among="decisions by commands")
    def test_files_of_this_machine(self, admin: Admin, url: str, tmp_path: Path) -> None:
        """Files are checked and published at once, verified where asked; a refused one does not keep the others out."""
        good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
        good.write_bytes(make_file(draw_rows(1, 12, dataset="another"), tmp_path / "good"))
        bad.write_bytes(b"no zip")
        admin("token", "list")
        with closing(Database(url)) as database:
            register(database, "another", categories(dataset="another"))
            with database.transaction(write=True) as session:
                make_submission(session, "own_64k", owner="Ann")
                make_empty_files(session, tmp_path / "storage" / "submissions")
        taken = tmp_path / "taken.zip"
        taken.write_bytes(make_file(draw_rows(1, 12, dataset="another"), tmp_path / "taken", codec="own_64k"))
        told = admin(
            "submissions", "add", str(bad), str(taken), str(good), "--verified", "--reason", "run by us", code=3
        )
        assert "Traceback" not in told
        (listed,) = admin("submissions", "list", "--status", "verified")
        assert (listed["codec"], listed["account"], listed["reason"]) == ("opus_16k", "maintainers", "run by us")
        (again,) = admin("submissions", "add", str(good))
        assert (again["new"], again["status"], again["error"]) == (False, "verified", "")

    @pytest.mark.sample(1, among="decisions by commands")
    def test_decisions(self, admin: Admin, database: Database) -> None:
        """Each decision prints what the submission is then; one that cannot be made says why."""
        with database.transaction(write=True) as session:
            made = make_submission(session, "own_12k", status="pending", owner="old")
            make_submission(session, "lc3_32k", 32.0)
        (waiting,) = admin("submissions", "list", "--status", "pending")
        assert (waiting["id"], waiting["codec"], waiting["account"]) == (made, "own_12k", "old")
        assert len(admin("submissions", "list")) == 2
        assert "no account is named 'new'" in admin("codec", "transfer", "own_12k", "new", code=2)
        admin("token", "create", "new")
        assert admin("submissions", "accept", made)["status"] == "self-reported"
        assert "expected hold or verify or withdraw" in admin("submissions", "accept", made, code=2)
        assert admin("submissions", "verify", made)["status"] == "verified"
        assert admin("submissions", "hold", made, "--reason", "a doubt")["status"] == "held"
        assert admin("submissions", "verify", made)["status"] == "verified"
        assert admin("submissions", "withdraw", made, "--reason", "a mistake")["reason"] == "a mistake"
        assert "expected a reason" in admin("submissions", "accept", made, code=2)
        told = admin("submissions", "accept", made, "--reason", "it was right", code=2)
        assert f"expected the files of submission {made} in their place" in told
        assert "no submission" in admin("submissions", "reject", "nothing", "--reason", "x", code=2)
        assert admin("codec", "transfer", "own_12k", "new") == {"codec": "own_12k", "before": "old", "after": "new"}
        assert [entry["action"] for entry in admin("audit", "--limit", "2")] == [
            "codec.transferred", "submission.decided",
        ]  # fmt: skip

    def test_a_reason_is_asked_for(self, admin: Admin) -> None:
        """Who rejects, holds or withdraws must give one."""
        for decision in ("reject", "hold", "withdraw"):
            assert "--reason" in admin("submissions", decision, "abc", code=2)


class TestForPeople:
    """What is printed without --json, on SQLite in a storage folder."""

    @pytest.fixture
    def said(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
        """Run a command and return what it prints to stdout."""

        def run(*arguments: str) -> str:
            assert call(["admin", *arguments, "--storage", str(tmp_path)]) == 0
            return capsys.readouterr().out

        return run

    def test_the_token_alone_goes_to_stdout(self, said: Callable[..., str]) -> None:
        """So that a script can take it; what it is for goes to stderr."""
        assert said("token", "create", "lab").strip().startswith("cs_")

    def test_tables(self, said: Callable[..., str], tmp_path: Path) -> None:
        """Lists are tables, decisions sentences."""
        said("token", "create", "lab", "--scope", "moderate")
        with (
            closing(Database(f"sqlite:///{tmp_path / 'leaderboard.sqlite'}")) as database,
            database.transaction(write=True) as session,
        ):
            made = make_submission(session, "own_12k", status="pending", owner=None)
        assert "moderate" in said("token", "list")
        assert "anonymous" in said("submissions", "list")
        assert said("submissions", "accept", made) == f"own_12k, version 1 ({made}) is self-reported\n"
        assert "it came anonymously" in said("codec", "transfer", "own_12k", "lab")
        assert "codec.transferred" in said("audit")
        assert "is revoked" in said("token", "revoke", "1")


class TestDatabases:
    """``--database`` and ``--storage``."""

    @pytest.mark.parametrize("url", ["nonsense", "sqlite:////proc/nothing/x.sqlite", "mysql://x/y"])
    def test_what_cannot_be_opened(self, tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """It is said in one line, with the option to use."""
        assert call(["admin", "token", "list", "--database", url, "--storage", str(tmp_path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "expected a database URL" in line or "name another with --database" in line

    def test_a_new_board_is_told(self, tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Once: a mistyped storage folder would otherwise be an empty board that nobody notices."""
        for told in (True, False):
            assert call(["admin", "token", "list", "--database", url, "--storage", str(tmp_path / "typo")]) == 0
            said = capsys.readouterr().err
            assert ("new, empty board" in said and str(tmp_path / "typo") in said) == told

    def test_a_broken_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no database is left as it is."""
        file = tmp_path / "leaderboard.sqlite"
        file.write_bytes(b"not a database, but long enough to be read as one" * 100)
        assert call(["admin", "token", "list", "--storage", str(tmp_path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "not a database" in line
        with pytest.raises(sqlite3.DatabaseError), closing(sqlite3.connect(file)) as opened:
            opened.execute("SELECT 1 FROM tokens")
