"""Checks uploads in children of the fork server: a limited number at once, each within time and memory limits."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from cachetools import TTLCache

from codec_superb.pipeline.submission.findings import Problem
from codec_superb.server.errors import Refused, Unavailable
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.ingest.fork_server import (
    MOST_PARTS,
    NO_ROOM,
    OUR_FAULT,
    OUT_OF_MEMORY,
    QUICK,
    WHOLE,
    seconds_for,
)
from codec_superb.server.ingest.outcome import (
    BLOCK_LIMIT,
    DOCUMENT_LIMIT,
    MOST_BLOCKS,
    Checked,
    CheckOutcome,
    InvalidOutcome,
    read_outcome,
)
from codec_superb.server.ingest.receive import cannot_store
from codec_superb.server.ingest.sandbox import offered
from codec_superb.server.ingest.task import write_task
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.settings import PREFIX, Settings

_LOG = get_logger(__name__)
MAX_WAITING_UPLOADS = 32
"""Uploads that may wait for a check, on PostgreSQL for each place; further ones are refused with Unavailable."""
SLOT_TIMEOUT_S = 30.0
"""Seconds an upload waits for its check to begin, beyond those that the checks in front of it may take."""
LONG_CHECKS = 2
"""Checks in parts, or of large files, of a process at once, beside its ``check_workers``: one may take minutes, and the
other place is not of its sender nor of its network."""
LONG_OF_ONE = 2
"""Of an account, which run or wait: a request that waits holds one of the places of all uploads."""
QUICK_SECONDS = 1.0
"""Of processor time for a first look at a file, behind which others wait; one of ``mini`` takes 0.15 to 0.5. What takes
longer is checked beside submissions in parts: one of 200,000 rows and as many trials took 105 s before its refusal."""
REFUSALS, REFUSED_FOR = 100, 600.0
"""Refusals that are remembered, and seconds for which: what took too long may be quicker then."""
START_TIMEOUT_S = 60.0
"""Seconds the fork server may take to import everything on a busy machine."""
_MARGIN = 5.0
"""Seconds beyond a child's time after which the whole fork server counts as hanging."""
_SINGLE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class TakesLong(Exception):
    """A first look at a file took :data:`QUICK_SECONDS`: others must not wait for its check."""


def busy(workers: str) -> Unavailable:
    """Make the answer where an upload would wait for too long."""
    return Unavailable(
        f"expected a free worker, got {workers} are busy; the file was not stored, send it again in half a minute",
        headers={"Retry-After": "30"},
    )


def busy_with_own() -> Unavailable:
    """Make the answer where an account's large files have all the places that one may have."""
    return Unavailable(
        f"expected fewer than {LONG_OF_ONE} large files, or files in parts, of one account in the checks, got another "
        "upload; the file was not stored, send it again when one of them has its answer",
        headers={"Retry-After": "30"},
    )


def _turns(places: int, longest: float, of_one: int | None = None) -> FairTurns:
    return FairTurns(
        places, senders=MAX_WAITING_UPLOADS, patience=SLOT_TIMEOUT_S, longest=longest, of_one=of_one,
        busy=lambda: busy(f"{places} that"),
    )  # fmt: skip


def longest_check(settings: Settings) -> float:
    """Return the seconds that the check of any file may take: a look at it, and one at it with the most parts."""
    return settings.check_seconds + seconds_for(settings.check_seconds, MOST_PARTS)


class Checker:
    """One fork server and the queue in front of it; lives as long as the service runs in this process."""

    def __init__(self, settings: Settings) -> None:
        """Start the fork server, which gets ready while the service begins to answer."""
        self._settings = settings
        self._turns = _turns(settings.check_workers, settings.check_seconds)
        self._long = _turns(LONG_CHECKS, longest_check(settings), of_one=LONG_OF_ONE)
        self._lock = threading.Lock()
        self._refused: TTLCache[Hashable, tuple[str, list[dict[str, Any]]]] = TTLCache(REFUSALS, REFUSED_FOR)
        self._closed = False
        self._fork_server: _ForkServerProcess | None = _ForkServerProcess(settings) if settings.check_workers else None
        _LOG.info("checks of submissions", confined_by=str(offered()))

    @property
    def pid(self) -> int | None:
        """Process id of the fork server, which is also that of its process group; None when there is none."""
        return None if self._fork_server is None else self._fork_server.pid

    @asynccontextmanager
    async def slot(self, who: str, network: str = "", *, long: bool = False) -> AsyncIterator[None]:
        """Wait for a free worker without holding a thread; ``long`` for a check in parts, or one that takes long.

        Raises Unavailable when too many wait, or too long, and for a sender whose large files have all places of one:
        each look at another would cost the others seconds, for nothing.
        """
        self._expect_few_of(who)
        async with (self._long if long else self._turns).turn(who, network):
            if not long:
                self._expect_few_of(who)
            yield

    def _expect_few_of(self, who: str) -> None:
        if self._long.has_all_of_one(who):
            raise busy_with_own()

    @contextmanager
    def remembering(self, key: Hashable) -> Iterator[None]:
        """Raise at once what a check of ``key`` raised within :data:`REFUSED_FOR`, and remember what the block raises.

        A file of kilobytes that names stored parts costs minutes of checking each time that it comes.
        """
        with self._lock:
            told = self._refused.get(key)
        if told is not None:
            detail, problems = told
            raise Refused(detail, problems=problems)
        try:
            yield
        except Refused as error:
            with self._lock:
                self._refused[key] = error.detail, error.problems
            raise

    def check(
        self, upload: BinaryIO, states: Mapping[str, tuple[str, bytes]], *, public: bool = True,
        parts: Sequence[BinaryIO] = (), quick: bool = False,
    ) -> Checked:  # fmt: skip
        """Check a file in a child process and return the outcome; blocks until the child has ended.

        Raises TakesLong for one that takes more than a ``quick`` look.

        ``states`` maps each dataset that the service knows to manifest hash and packed clips; ``public`` as in
        ``check_admission``; ``parts`` hold the rows that the file says are elsewhere: without them the outcome names
        them and has no verdict. Raises Refused when the file has problems or takes too much, Unavailable when no
        process can be started.
        """
        folder = self._settings.incoming
        with ExitStack() as failing, tempfile.TemporaryFile(dir=folder) as task:
            result = failing.enter_context(tempfile.TemporaryFile(dir=folder))
            write_task(task, self._settings.upload_limit, states, public=public)
            quick &= self._settings.check_seconds > 4 * QUICK_SECONDS
            status = self._run(upload, task, result, parts, QUICK if quick else WHOLE)
            if quick and _is_late(status):
                raise TakesLong
            self._raise_for_exit_status(status, len(parts))
            try:
                checked = read_outcome(result, len(parts))
            except InvalidOutcome as error:
                raise self._limit_refusal(f"a check that left nothing useful ({error})", len(parts)) from error
            _raise_for_problems(checked.outcome)
            failing.pop_all()  # its blocks are read while they are stored
        return checked

    def _run(
        self, upload: BinaryIO, task: BinaryIO, result: BinaryIO, parts: Sequence[BinaryIO] = (), asked: bytes = WHOLE
    ) -> int | None:
        """Run the check in a child; return its exit status as ``os.wait`` gives it, None when it is unknown."""
        for _ in range(2):
            with self._lock:
                if self._closed:
                    break
                if self._fork_server is None or not self._fork_server.alive:
                    self._stop_fork_server()
                    self._fork_server = _ForkServerProcess(self._settings)
                server = self._fork_server
            try:
                return server.ask(upload, task, result, parts, asked)
            except _ForkServerGone:
                server.end()  # the program may be ending
        raise Unavailable("the process that checks submissions cannot be started; try again in a minute",
                          headers={"Retry-After": "60"})  # fmt: skip

    def _raise_for_exit_status(self, status: int | None, parts: int = 0) -> None:
        """Raise Refused for a child that did not end by itself."""
        if status == 0:
            return
        if status is None or _is_late(status):
            seconds = seconds_for(self._settings.check_seconds, parts)
            raise self._limit_refusal(f"more than {seconds:g} s of checking", parts)
        code = os.waitstatus_to_exitcode(status)
        if code == OUR_FAULT:
            _LOG.error("a check could not be confined, or could not import what it needs", confined_by=str(offered()))
            raise Unavailable("submissions cannot be checked right now; the reason is in the log of the service")
        if code == NO_ROOM:
            raise cannot_store(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        if code in {OUT_OF_MEMORY, -signal.SIGABRT}:
            raise self._limit_refusal(
                f"more than {self._settings.check_memory / 1e6:.0f} MB of memory for checking it", parts
            )
        raise self._limit_refusal(f"a check that ended with code {code}", parts)

    def _limit_refusal(self, got: str, parts: int) -> Refused:
        limits = (
            f"{seconds_for(self._settings.check_seconds, parts):g} s and {self._settings.check_memory / 1e6:.0f} MB"
        )
        problem = Problem(
            path="the file",
            expected=f"a submission that can be checked within {limits}",
            got=got,
            how_to_fix="submit fewer clips or datasets in one file, packed by codec-superb pack",
        )
        return Refused("the submission could not be checked within the limits", problems=[problem.model_dump()])

    def _stop_fork_server(self) -> None:
        if self._fork_server is not None:
            self._fork_server.end()
            self._fork_server = None

    def close(self) -> None:
        """End the fork server and all children."""
        with self._lock:
            self._closed = True
            self._stop_fork_server()


def _is_late(status: int | None) -> bool:
    ends = {-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL}
    return status is None or os.waitstatus_to_exitcode(status) in ends


def _raise_for_problems(outcome: CheckOutcome) -> None:
    """Raise Refused with the problems of a file."""
    if outcome.problems:
        count = len(outcome.problems) + outcome.more
        raise Refused(
            f"the submission has {count} problem{'s' if count > 1 else ''}"
            + (", of which one of each kind is listed" if outcome.more else ""),
            problems=[problem.model_dump() for problem in outcome.problems],
        )


def _without_service_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the service's settings: the process that reads untrusted files gets no secrets."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(PREFIX)}


class _ForkServerGone(Exception):
    """The fork server has ended."""


class _ForkServerProcess:
    """The service's handle of the fork server process."""

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.check_seconds
        self._lock = threading.Lock()
        self._ready = False
        self._control, its = socket.socketpair()
        limits = {
            "seconds": settings.check_seconds,
            "memory": settings.check_memory,
            "written": DOCUMENT_LIMIT + BLOCK_LIMIT,
            "most_written": DOCUMENT_LIMIT + MOST_BLOCKS,
            "look": QUICK_SECONDS,
        }
        program = Path(__file__).with_name("fork_server.py")
        argument = json.dumps({"path": sys.path, "limits": limits})
        # The pools of Arrow and of the C library reserve address space, which the limit counts; a thread forbids forks.
        frugal = {
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
            "MALLOC_ARENA_MAX": "1",
        }
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(program), str(its.fileno()), argument],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env=_without_service_settings(os.environ) | dict.fromkeys(_SINGLE_THREAD, "1") | frugal,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        return self._process.poll() is None

    def ask(
        self, upload: BinaryIO, task: BinaryIO, result: BinaryIO, parts: Sequence[BinaryIO] = (), asked: bytes = WHOLE
    ) -> int | None:
        """Have one file checked; the child's exit status, None when it did not end in time. Raises _Gone."""
        mine, its = socket.socketpair()
        with mine, its:
            try:
                with self._lock:
                    self._wait_until_ready()
                    files = [*(file.fileno() for file in (upload, task, result, *parts)), its.fileno()]
                    socket.send_fds(self._control, [asked], files)
                its.close()
                mine.settimeout(seconds_for(self._seconds, len(parts)) + _MARGIN)
                status = mine.recv(4, socket.MSG_WAITALL)
            except TimeoutError:
                self.end()
                return None
            except OSError as error:
                raise _ForkServerGone from error
        if len(status) < 4:  # noqa: PLR2004 -- as the fork server sends it
            raise _ForkServerGone
        return int.from_bytes(status, "big")

    def _wait_until_ready(self) -> None:
        if not self._ready:
            self._control.settimeout(START_TIMEOUT_S)
            try:
                began = self._control.recv(1)
            except TimeoutError as error:  # no fault of the file
                raise ConnectionError from error
            if not began:
                raise ConnectionError
            self._control.settimeout(None)
            self._ready = True

    def end(self) -> None:
        """Kill the program and its children: they share a session of their own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._control.close()
