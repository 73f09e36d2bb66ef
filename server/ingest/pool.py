"""Checks the uploads of the queue, whichever process received them: threads of a service or of ``check-worker``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from codec_superb.server.database.faults import DATABASE_ERRORS, is_full
from codec_superb.server.database.models import Account, CheckJob
from codec_superb.server.database.session import Database
from codec_superb.server.errors import InternalError, ServerError, Unavailable
from codec_superb.server.ingest import queue
from codec_superb.server.ingest.checker import LONG_CHECKS, Checker, TakesLong, busy_with_own
from codec_superb.server.ingest.parts import check, look
from codec_superb.server.ingest.receive import cannot_store
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.ingest.service import store
from codec_superb.server.operations.heartbeat import Heartbeat, files_of
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.operations.meters import Meters
from codec_superb.server.people.access import ANONYMOUS, Identity
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import submission_path
from codec_superb.server.storage.vault import vault_of

_LOG = get_logger(__name__)
POLL_SECONDS = 0.5
"""Pause between two looks at an empty queue; files that this process received wake it at once."""
_PAUSE_S = 1.0
"""Pause while the database is away."""


_FULL = Unavailable(
    "the database's disk is full, and the file was not stored; send it again later, its maintainers have to make room",
    headers={"Retry-After": "300"},
)
_Result = TypeVar("_Result")


class _Lost(Exception):
    """Another process has the job by now: what was computed is not stored."""


@dataclass(frozen=True, slots=True)
class _Waited:
    """A file that waited in the queue."""

    path: Path
    file: BinaryIO
    sha256: str
    size: int


class Pool:
    """The threads; the process has a heartbeat as long as they work."""

    def __init__(
        self, database: Database, settings: Settings, checker: Checker, heartbeat: Heartbeat,
        files_wait: threading.Semaphore | None = None, meters: Meters | None = None,
    ) -> None:  # fmt: skip
        """``files_wait`` is released for each file that this process receives."""
        self._database, self._settings, self._checker, self._heartbeat = database, settings, checker, heartbeat
        self._files_wait, self._meters = files_wait or threading.Semaphore(0), meters
        self._counting = threading.Lock()
        self.checked = 0
        """Files whose check has ended."""
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(long,), name=f"check {number}", daemon=True)
            for long, places in ((False, settings.check_workers), (True, LONG_CHECKS * (settings.check_workers > 0)))
            for number in range(places)
        ]

    def start(self) -> None:
        """Begin to take files."""
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Take no more files, and let running checks end within so many seconds; the others are put back."""
        self._stopped.set()
        for _ in self._threads:
            self._files_wait.release()
        until = time.monotonic() + seconds
        begun = [thread for thread in self._threads if thread.ident is not None]
        for thread in begun:
            thread.join(max(0.0, until - time.monotonic()))
        self._checker.close()
        for thread in begun:
            thread.join()

    def _work(self, long: bool) -> None:
        while not self._stopped.is_set():
            self._heartbeat.files = self._heartbeat.files or files_of(self._settings)
            job = self._within(
                lambda session: queue.claim(session, self._heartbeat.id, self._heartbeat.files, long=long)
            )
            if job is None:
                # a file that comes wakes one thread: one of those that look at all
                self._stopped.wait(POLL_SECONDS) if long else self._files_wait.acquire(timeout=POLL_SECONDS)
            else:
                ended = True
                try:
                    ended = self._do(job)
                except Exception:  # noqa: BLE001 - a file or a store that cannot be cleaned up: the thread goes on
                    _LOG.exception("check.not_cleaned_up", job=job.id)
                with self._counting:
                    self.checked += ended

    def _do(self, job: CheckJob) -> bool:
        """Check a file and store it, or look at one that turns out to be in parts; whether the check has ended."""
        began = time.monotonic()
        try:
            return self._check(job, began)
        except _Lost:
            _LOG.warning("check.lost", job=job.id)
        except Unavailable as error:
            if self._stopped.is_set():
                self._within(lambda session: queue.put_back(session, job), always=True)
            else:
                self._refuse(job, error, began)
        except ServerError as error:
            self._refuse(job, error, began)
        except DATABASE_ERRORS as error:
            self._end_or_put_back(job, error, began)
        except OSError as error:  # a full disk, or a process that had the file before and woke up
            self._leave_to_others(job, error, began)
        except Exception:  # noqa: BLE001 - of one file: the next is checked all the same
            _LOG.exception("check.failed", job=job.id)
            self._refuse(job, InternalError(f"a fault of this program; the log has it under {job.id}"), began)
        return True

    def _check(self, job: CheckJob, began: float) -> bool:
        def end(session: Session, receipt: Receipt, new: bool) -> None:
            if not queue.accept(session, job, receipt.id, new=new, seconds=time.monotonic() - began):
                raise _Lost

        with self._database.transaction() as session:
            caller = _caller(session, job)
        with _opened(self._settings, job) as file:
            examine = check if job.parts else partial(look, quick=True)
            try:
                with self._measured():
                    checked = examine(self._database, self._settings, self._checker, file, caller)
            except TakesLong:
                return self._leave_to_long(job, 1, began)
            if named := len(checked.outcome.parts):
                return self._leave_to_long(job, named, began)
            with checked:
                store(self._database, self._settings, file, checked, caller, also=end)
        vault_of(self._settings).forget(self._settings.incoming / job.id)
        return True

    def _leave_to_long(self, job: CheckJob, parts: int, began: float) -> bool:
        seconds = time.monotonic() - began
        if not self._within(lambda session: queue.leave_to_long(session, job, parts, seconds), always=True):
            raise busy_with_own()
        return False

    def _end_or_put_back(self, job: CheckJob, error: SQLAlchemyError, began: float) -> None:
        if is_full(error):  # a small change often still finds room: the sender need not wait
            _LOG.error("check.database_full", job=job.id)
            self._refuse(job, _FULL, began)
        else:
            _LOG.warning("check.put_back", job=job.id, error=type(error).__name__)
            self._within(lambda session: queue.put_back(session, job), always=True)
        self._stopped.wait(_PAUSE_S)  # one that answers and cannot write is not asked at once

    def _leave_to_others(self, job: CheckJob, error: OSError, began: float) -> None:
        """Else it would refuse whatever it takes, and take most, since it is done with each at once."""
        _LOG.warning("check.not_stored", job=job.id, error=type(error).__name__, reason=error.strerror)
        if not self._within(lambda session: queue.pass_on(session, job), always=True):
            self._refuse(job, cannot_store(error), began)

    def _refuse(self, job: CheckJob, error: ServerError, began: float) -> None:
        seconds = time.monotonic() - began
        if self._within(lambda session: queue.refuse(session, job, error, seconds), always=True):
            vault_of(self._settings).forget(self._settings.incoming / job.id)

    def _within(self, do: Callable[[Session], _Result], *, always: bool = False) -> _Result | None:
        """Do something in a transaction, again and again while the database is away; None where the pool stops first.

        With ``always`` it is tried once even then.
        """
        failing = False
        while always or not self._stopped.is_set():
            try:
                with self._database.transaction(write=True) as session:
                    return do(session)
            except SQLAlchemyError as error:
                if not failing:
                    _LOG.warning("checks.database_away", error=type(error).__name__)
                failing = True
            if self._stopped.wait(_PAUSE_S):
                return None
        return None

    @contextmanager
    def _measured(self) -> Iterator[None]:
        if self._meters is None:
            yield
        else:
            with self._meters.checking():
                yield


def _caller(session: Session, job: CheckJob) -> Identity:
    account = None if job.account_id is None else session.get_one(Account, job.account_id)
    if account is None:
        return Identity(None, ANONYMOUS)
    return Identity(account.id, account.name, token_id=job.token_id)


@contextmanager
def _opened(settings: Settings, job: CheckJob) -> Iterator[_Waited]:
    """Open a file of the queue. Raises Unavailable where it is gone."""
    vault_of(settings).take(settings.incoming / job.id, job.file_sha256)
    # in its place already where a process ended between its move and its row
    places = (settings.incoming / job.id, submission_path(settings, job.file_sha256))
    path = next((path for path in places if path.exists()), None)
    if path is None:
        raise Unavailable("the upload is not where it was received; send the file again", headers={"Retry-After": "1"})
    with path.open("rb") as file:
        yield _Waited(path, file, job.file_sha256, path.stat().st_size)
