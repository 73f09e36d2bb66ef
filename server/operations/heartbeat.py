"""Heartbeats of the processes on one PostgreSQL: who serves, who checks, and whether they go together."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from codec_superb import __version__
from codec_superb.server.database import migrate
from codec_superb.server.database.models import RunningProcess
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.people.secret import keyed_hash
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import vault_of

_LOG = get_logger(__name__)
PROCESS = "codec-superb process"
"""What is hashed under the secret key to compare keys without showing any."""
BEAT_SECONDS = 4.0
SILENCE = timedelta(seconds=20)
"""A process that has not been heard of for so long counts as dead, and what it checked is checked by another."""
_FORGOTTEN = timedelta(days=1)
_AHEAD = timedelta(minutes=2)
"""By more a beat is of a clock that was set back; a transaction that waited for a lock is itself late by less."""
ALIVE: ColumnElement[bool] = RunningProcess.seen.between(func.now() - SILENCE, func.now() + _AHEAD)
"""Processes that live, by the database's clock: where it is set back, those that died would for as long."""


class Heartbeat:
    """This process, as the others see it: a row that is written anew every few seconds, and removed at the end."""

    def __init__(self, settings: Settings, *, serves: bool, checks: int) -> None:
        self.id = uuid4().hex
        # a connection of its own: behind requests that hold all of the service's for 20 seconds, it would count as dead
        self._database = Database(settings.database_url)
        self.files = files_of(settings)
        """What it sees; '' until a store that was away answers."""
        self.name = f"{socket.gethostname()}:{os.getpid()}"[:200]
        self._facts = {
            "name": self.name, "serves": serves, "checks": checks,
            "program": __version__[:40], "schema": migrate.head(), "key": keyed_hash(settings, PROCESS),
        }  # fmt: skip
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Say that this process lives, and go on saying so."""
        with self._database.transaction(write=True) as session:
            session.execute(delete(RunningProcess).where(RunningProcess.seen < func.now() - _FORGOTTEN))
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Say that it ends: what it left undone is free at once."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            with self._database.transaction(write=True) as session:
                session.execute(delete(RunningProcess).where(RunningProcess.id == self.id))
        except SQLAlchemyError as error:  # its silence will tell
            _LOG.warning("heartbeat.not_removed", error=type(error).__name__)
        self._database.close()

    def _beat(self) -> None:
        with self._database.transaction(write=True) as session:
            moved = session.execute(
                update(RunningProcess).where(RunningProcess.id == self.id).values(seen=func.now(), files=self.files)
            )
            if not moved.rowcount:  # type: ignore[attr-defined]  # of a cursor
                session.add(
                    RunningProcess(id=self.id, seen=func.now(), started=func.now(), files=self.files, **self._facts)
                )

    def _beat_on(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            try:
                self._beat()
            except SQLAlchemyError as error:  # a database that is away for a moment
                _LOG.warning("heartbeat.silent", error=type(error).__name__)


def files_of(settings: Settings) -> str:
    """Return the identity of the folder or store of files; '' of one that does not answer, of which readiness tells."""
    try:
        return vault_of(settings).identity()
    except Unavailable:
        return ""


def living(session: Session) -> Sequence[RunningProcess]:
    """List the processes that live, the oldest first."""
    return session.scalars(
        select(RunningProcess).where(ALIVE).order_by(RunningProcess.started, RunningProcess.id)
    ).all()
