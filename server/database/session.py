"""Database engine and sessions: one transaction per request, committed before the answer is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import Engine, create_engine, event, select, update
from sqlalchemy.orm import Session, sessionmaker

from codec_superb.server.database.faults import tell_what_is_no_fault
from codec_superb.server.database.models import BoardChange, Revision, Submission
from codec_superb.server.errors import Unavailable

LOCK_SECONDS = 30
"""How long a transaction waits for what another one holds, in either database."""
_CHANGED = "public data changed"


class Database:
    """The engine and its session factory; created by :func:`codec_superb.server.app.create_app`."""

    def __init__(self, url: str) -> None:
        """Connect lazily. SQLite gets write-ahead logging, foreign keys and a time-out of 30 s for locks."""
        self.engine = make_engine(url)
        if self.engine.dialect.name == "postgresql":
            event.listen(self.engine, "connect", _limit_waits)
        self.after_change: list[Callable[[], object]] = []
        """Called after a transaction that changed public data, before its request is answered."""
        self._make = sessionmaker(self.engine, expire_on_commit=False)
        self._make_writing = sessionmaker(self.engine.execution_options(write=True), expire_on_commit=False)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[Session]:
        """Yield a session; commit when the block ends, roll back when it raises.

        A writing transaction must say so: with BEGIN IMMEDIATE SQLite waits for other writers at the start. A read
        transaction that writes later fails at once (SQLITE_BUSY_SNAPSHOT) if another one has written in between.
        Either connects with its first statement: a dependency that connected would hold a connection while its endpoint
        waits for a thread, and those that have the threads wait for connections.
        """
        with (self._make_writing if write else self._make).begin() as session:
            yield session
        if session.info.get(_CHANGED):
            for call in self.after_change:
                call()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def make_engine(url: str, *, pool_size: int = 10, max_overflow: int = 20) -> Engine:
    """Create an engine for SQLite or PostgreSQL; its errors omit statement parameters, which must not be logged.

    ``pool_size`` connections to PostgreSQL are kept open, ``max_overflow`` more are opened when all are in use.
    """
    if url.startswith("sqlite"):
        # hide_parameters keeps tokens and contacts out of errors. A connection is an open file: as many as threads ask
        # for one, since a reader who waits for others has done nothing to be refused
        engine = create_engine(url, connect_args={"timeout": LOCK_SECONDS}, hide_parameters=True, max_overflow=-1)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(
        # a connection that the server or a firewall has closed is found before it is used
        url, pool_pre_ping=True, pool_size=pool_size, max_overflow=max_overflow, hide_parameters=True,
        connect_args={"connect_timeout": 5},
    )  # fmt: skip
    tell_what_is_no_fault(engine)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # sqlite3 otherwise begins transactions itself, before DML statements only
    # WAL: readers never wait for a writer. FULL: a commit survives a power loss; in WAL mode NORMAL may lose the last
    # ones. Foreign keys are off by default in SQLite
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _limit_waits(connection: Any, _record: Any) -> None:
    # as long as SQLite waits: behind one stuck transaction writers would take all connections, and readers have none.
    # Not of migrations, which wait for each other; not a start-up parameter, which PgBouncer refuses
    connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    connection.commit()


def _begin_sqlite(connection: Any) -> None:
    # a deferred transaction that begins to write after another has written fails at once with SQLITE_BUSY, whatever the
    # timeout
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")


def bump_revision(session: Session) -> None:
    """Count a change of public data; called in the transaction that makes it, as its last statement."""
    # incremented in SQL, not read and written back: of two transactions at once none is lost
    session.execute(update(Revision).values(number=Revision.number + 1))
    session.info[_CHANGED] = True


def record_change(session: Session, submission_id: str, status: str, moved: Collection[str] = ()) -> None:
    """Count the change of a submission's public status, and write down at which revision it was made.

    Called as :func:`bump_revision` is; a status that is not public says that it was taken back. ``moved`` are public
    ones that go in front or behind with it.
    """
    bump_revision(session)
    # whoever has counted holds the row until the end of the transaction: nobody else reads the same number
    number = session.scalars(select(Revision.number)).one()
    places = select(Submission.id, Submission.status, Submission.behind, Submission.place)
    for row in session.execute(places.where(Submission.id.in_({submission_id, *moved}))).all():
        told = status if row.id == submission_id else row.status
        change = BoardChange(revision=number, submission_id=row.id, status=told, behind=row.behind, place=row.place)
        session.add(change)
    session.flush()


def database_of(request: Request) -> Database:
    """Return the database of the running service. Raises Unavailable while it starts or stops."""
    database: Database | None = getattr(request.app.state, "database", None)
    if database is None:
        raise Unavailable("the service is starting or stopping; try again in a moment")
    return database


def _reading(request: Request) -> Iterator[Session]:
    with database_of(request).transaction() as session:
        request.state.reading = session
        try:
            yield session
        finally:
            request.state.reading = None


def reading_of(request: Request) -> Session | None:
    """Return the session in which the request reads now: whoever takes another one holds two connections."""
    found: Session | None = getattr(request.state, "reading", None)
    return found


def _writing(request: Request) -> Iterator[Session]:
    with database_of(request).transaction(write=True) as session:
        yield session


ReadTransaction = Annotated[Session, Depends(_reading, scope="function")]
"""A session for a request that only reads."""
WriteTransaction = Annotated[Session, Depends(_writing, scope="function")]
"""A session whose transaction is committed before the answer is sent, so that an answer confirms only stored data."""
