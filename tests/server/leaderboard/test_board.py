"""The snapshot of the running service: what it sees, when, and that it stays right under concurrent changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import event, update
from sqlalchemy.exc import OperationalError
from support.logged import Logged
from support.server.board import make_submission
from support.timing import quickest, wait_for

from codec_superb.server.board import current as board_module
from codec_superb.server.board.current import Board
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.errors import Unavailable


@pytest.fixture
def board(database: Database) -> Iterator[Board]:
    """Watch the test's database."""
    watching = Board(database)
    watching.start()
    yield watching
    watching.stop()


def seen(board: Board) -> dict[str, BoardEntry]:
    """Return what the board shows, by codec."""
    return {entry.codec: entry for entry in board.current.runs}


def decide(database: Database, submission: str, status: str) -> None:
    """Change a status as a moderator does."""
    with database.transaction(write=True) as session:
        session.execute(update(Submission).where(Submission.id == submission).values(status=status))
        bump_revision(session)


def test_follows_what_becomes_public_and_what_is_withdrawn(board: Board, database: Database) -> None:
    """Pending is unseen; accepted, verified and withdrawn are seen as soon as their transaction is over."""
    with database.transaction(write=True) as session:
        identity = make_submission(session, "opus_12k", status="pending")
    board.refresh()
    assert seen(board) == {}
    assert board.current.default_source("speech") == "table3"
    decide(database, identity, "self-reported")
    assert seen(board)["opus_12k"].source == "self-reported"
    assert board.current.default_source("speech") == "runs"
    decide(database, identity, "verified")
    assert seen(board)["opus_12k"].source_label == "verified"
    decide(database, identity, "withdrawn")
    assert seen(board) == {}


def test_the_newest_public_version_counts(board: Board, database: Database) -> None:
    """A later version replaces, a later pending one does not, and a withdrawn one gives way to the one before."""
    with database.transaction(write=True) as session:
        make_submission(session, "opus_12k", score=0.7, status="verified")
        second = make_submission(session, "opus_12k", score=0.8)
        make_submission(session, "opus_12k", score=0.9, status="pending")
    entry = seen(board)["opus_12k"]
    assert (entry.version, entry.source, entry.submission) == (2, "self-reported", second)
    assert entry.figures["speech", ""].score[0] == pytest.approx(0.8)
    assert entry.figures["speech", "mini"].metrics["pesq"][3] == 20
    decide(database, second, "withdrawn")
    assert seen(board)["opus_12k"].version == 1


def test_sees_what_another_process_changes_within_a_second(board: Board, database_url: str) -> None:
    """Nobody tells this board; it looks."""
    names = iter(("opus_12k", "opus_16k", "opus_24k"))

    def look() -> float:
        name, other = next(names), Database(database_url)
        with other.transaction(write=True) as session:
            make_submission(session, name)
        other.close()
        began = time.monotonic()
        _wait_for(board, name)
        return time.monotonic() - began

    assert quickest(look, 1.0) < 1.0


def test_reads_only_what_is_new(board: Board, database: Database) -> None:
    """Of a hundred submissions none is read again when one is added, and the entries are the same objects."""
    with database.transaction(write=True) as session:
        for number in range(5):
            make_submission(session, f"codec_{number}")
    before = seen(board)
    asked: list[object] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_rest: object) -> None:
        if "FROM results" in statement:
            asked.append(parameters)

    event.listen(database.engine, "before_cursor_execute", note)
    with database.transaction(write=True) as session:
        identity = make_submission(session, "codec_5")
    assert len(asked) == 1
    assert identity in str(asked[0])
    assert all(seen(board)[codec] is entry for codec, entry in before.items())


def test_a_transaction_that_is_rolled_back_changes_nothing(board: Board, database: Database) -> None:
    """Neither revision nor snapshot move."""
    revision = board.current.revision

    def fail() -> None:
        with database.transaction(write=True) as session:
            make_submission(session, "opus_12k")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail()
    assert board.refresh().revision == revision
    assert seen(board) == {}


@pytest.mark.sample(1, among="boards at work")
def test_stays_right_while_many_publish_and_read(board: Board, database: Database) -> None:
    """Four writers and a reader at once: no snapshot goes back, loses what was committed or shows half a submission."""
    with database.transaction(write=True) as session:
        make_submission(session, "first")
    faults: list[str] = []
    done = threading.Event()

    def write(name: int) -> None:
        for number in range(4):
            with database.transaction(write=True) as session:
                make_submission(session, f"codec_{name}_{number}")
            if f"codec_{name}_{number}" not in seen(board):
                faults.append("an own change was not seen")

    def read() -> None:
        last, count = -1, 0
        while not done.is_set():
            snapshot = board.current
            if snapshot.revision < last or len(snapshot.runs) < count:
                faults.append("a snapshot went back")
            if any(len(entry.figures) != 6 for entry in snapshot.runs):
                faults.append("half a submission")
            last, count = snapshot.revision, len(snapshot.runs)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    reader.start()
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert faults == []
    with database.transaction() as session:
        afresh = load_snapshot(session, None)
    assert [entry.codec for entry in board.current.runs] == [entry.codec for entry in afresh.runs]
    assert board.current.runs == afresh.runs
    assert len(afresh.runs) == 17


def test_keeps_what_it_has_when_the_database_goes_away(
    board: Board, database: Database, monkeypatch: pytest.MonkeyPatch, logged: Logged
) -> None:
    """Looks that fail say so once, harm nothing that was committed, and the next one that succeeds catches up."""

    def away() -> None:
        raise OperationalError("SELECT", {}, OSError("the server closed the connection"))

    with monkeypatch.context() as patched:
        patched.setattr(board, "refresh", away)  # of this board alone: others may watch in this process
        with database.transaction(write=True) as session:
            make_submission(session, "opus_12k")
        wait_for(lambda: "leaderboard.refresh_failed" in logged.text, "no look at the database failed")
        assert seen(board) == {}
    _wait_for(board, "opus_12k")
    board.stop()
    told = [word for word in ("leaderboard.refresh_failed", "leaderboard.refresh_again") if word in logged.text]
    assert told == ["leaderboard.refresh_failed", "leaderboard.refresh_again"]
    assert logged.text.count("the server closed the connection") == 1


def test_what_it_cannot_read_ends_nothing(board: Board, database: Database, logged: Logged) -> None:
    """A card of a newer program: what commits it is answered, the board stays as it was, and goes on looking."""
    with database.transaction(write=True) as session:
        stored = session.get_one(Submission, make_submission(session, "opus_16k"))
        card, stored.card = stored.card, {"name": "opus_16k"}
    wait_for(lambda: "leaderboard.refresh_failed" in logged.text, "it was read")
    with database.transaction(write=True) as session:
        session.get_one(Submission, stored.id).card = card
        bump_revision(session)
    _wait_for(board, "opus_16k")


def _wait_for(board: Board, codec: str) -> None:
    wait_for(lambda: codec in seen(board), f"{codec} did not come to the board")


@pytest.mark.sample(1, among="boards at work")
def test_a_large_board_is_kept_from_the_collector_of_garbage(
    board: Board, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set aside when it reaches the size at which that matters, and again when it has doubled, not in between."""
    frozen: list[int] = []
    monkeypatch.setattr(board_module, "_MANY", 2)
    monkeypatch.setattr(board_module.gc, "freeze", lambda: frozen.append(len(seen(board))))
    for number in range(5):
        with database.transaction(write=True) as session:
            make_submission(session, f"codec_{number}")
    assert frozen == [2, 4]


def test_before_its_start_there_is_nothing(database: Database) -> None:
    """A request that comes too early is told to try again."""
    with pytest.raises(Unavailable, match="starting"):
        _ = Board(database).current
