"""Starts the service: address, storage and schema first, each with one clear sentence where it cannot be had."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from sqlalchemy import func, select
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from codec_superb.pipeline.literature.tables import literature
from codec_superb.server.app import create_app
from codec_superb.server.database.models import Dataset, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import ensure_builtin
from codec_superb.server.errors import OperationError
from codec_superb.server.http.slow_clients import TimedProtocol
from codec_superb.server.local.runs import RunsFolder
from codec_superb.server.names.upgrading import ensure_names
from codec_superb.server.operations import logs
from codec_superb.server.operations.meters import MULTIPROCESS
from codec_superb.server.operations.preparation import prepare
from codec_superb.server.settings import Settings
from codec_superb.web.text import count

ACCEPTED, QUEUED = 256, 2048
"""New connections that the loop takes in a turn, a tenth of a millisecond each, and those that the kernel keeps."""
AFTER_SHUTDOWN = 10.0
"""Seconds beyond ``shutdown_seconds`` after which a process that still has not ended is ended."""
SWITCH_SECONDS = 0.0005
"""Seconds for which one thread may hold the GIL while others wait. With CPython's default of 5 ms, which the event loop
waits at each iteration, a request takes ten times as long while a thread stores an upload."""
GC_THRESHOLDS = (5_000, 50, 50)
"""Thresholds of the three generations of CPython's collector (Python 3.11: 700, 10, 10): cached rows and answers form
no cycles, and a full collection over them stops every thread."""


def serve(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    say: Callable[[str], None] = print,
    runs: RunsFolder | None = None,
) -> int:
    """Serve until SIGTERM or Ctrl-C and return the exit code; ``port`` 0 takes a free one.

    With ``runs`` the service shows that folder, in one process.
    Prepares storage and schema first. Raises OperationError with what to do where the address, the database or the
    storage cannot be had.
    """
    # bound before anything else: a port that is taken is an error at once, and no second process migrates in vain
    with _listening(host, port) as listener:
        address = _address(host, listener.getsockname()[1])
        if "base_url" not in settings.model_fields_set:
            settings = settings.model_copy(update={"base_url": address})
        logs.configure(settings.log_format)
        where = prepare(settings)
        listener.listen(QUEUED)  # from here on the kernel queues connections instead of refusing them
        say(f"Codec-SUPERB leaderboard: {address}" if runs is None else f"Codec-SUPERB, local runs: {address}")
        say(where if runs is None else f"runs in {runs.place}: shown on this machine only; Ctrl-C ends it")
        say(_seeded(settings))
        with _ending_well():
            return _one(settings, listener, runs) if workers == 1 else _several(settings, listener, workers)


def application() -> FastAPI:
    """Make the application in a worker process, whose settings all come from the environment."""
    settings = Settings()
    tune_interpreter()
    logs.configure(settings.log_format)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    return create_app(settings)


def _end_with_parent() -> None:
    """End this worker in order when its parent was killed: an orphan would keep the port, and an old program."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        # uvicorn's workers of a parent that was killed (SIGKILL) would keep the port
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _one(settings: Settings, listener: socket.socket, runs: RunsFolder | None) -> int:
    tune_interpreter()
    server = _Server(_config(settings, create_app(settings, runs)))
    server.run(sockets=[listener])
    return 0 if server.started else STARTUP_FAILURE


def _several(settings: Settings, listener: socket.socket, workers: int) -> int:
    counted = tempfile.mkdtemp(prefix="codec-superb-meters-")
    # uvicorn starts workers by name, in new interpreters: settings travel by the environment
    os.environ.update(_as_environment(settings), **{MULTIPROCESS: counted})
    try:
        _Workers(_config(settings, f"{__name__}:{application.__name__}", workers), [listener]).run()
    finally:
        shutil.rmtree(counted, ignore_errors=True)
    return 0


def _config(settings: Settings, app: FastAPI | str, workers: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=workers,
        lifespan="on",
        backlog=ACCEPTED,
        loop="asyncio",  # uvloop takes one new connection in a turn, behind hundreds of busy ones: libuv since 1.45
        http=TimedProtocol,  # refuses large heads, which httptools would keep in memory without end
        ws="none",
        log_config=None,
        access_log=False,  # our own line has the route and the number of the request, and no address
        server_header=False,
        proxy_headers=False,  # the application evaluates X-Forwarded-For itself, under any server
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


class _Server(uvicorn.Server):
    """Ends in bounded time: a thread that hangs cannot be cancelled, only left behind."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections; the kernel queues more of them than the loop takes in a turn."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUED)

    def handle_exit(self, sig: int, frame: object) -> None:
        """Begin to stop, and to count the time."""
        if not self.should_exit:
            watch = threading.Timer((self.config.timeout_graceful_shutdown or 0) + AFTER_SHUTDOWN, os._exit, (1,))
            watch.daemon = True
            watch.start()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]  # a frame, whatever its type


class _Workers(Multiprocess):
    """Ends in bounded time: a worker that hangs is killed."""

    def join_all(self) -> None:
        """Turn new connections away and wait for the workers, which have been told to stop."""
        for listener in self.sockets:
            listener.close()
        until = time.monotonic() + (self.config.timeout_graceful_shutdown or 0) + AFTER_SHUTDOWN
        for worker in self.processes:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.process.kill()
            worker.process.join()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Take the address before anything else is touched."""
    # with the protocol named: asyncio sends at once (TCP_NODELAY) where it reads it, else answers wait 40 ms for an ACK
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # else a restart would wait for connections in TIME_WAIT
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OperationError(
                f"cannot listen on {_address(host, port)}: {reason}; choose another --port or --host"
            ) from error
        listener.set_inheritable(True)
        yield listener
    finally:
        listener.close()


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _ending_well() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the service with exit code 0: the server raises them again once it has stopped."""
    # uvicorn restores handlers and raises the signal again when it has ended: with these the exit code is 0
    handled = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


def _seeded(settings: Settings) -> str:
    """Add the datasets that come with the package, and say what the leaderboard holds."""
    database = Database(settings.database_url)
    try:
        with database.transaction(write=True) as session:
            ensure_builtin(session)
            ensure_names(session)
            names = session.scalars(select(Dataset.name).where(Dataset.current).order_by(Dataset.name)).all()
            submissions = session.scalar(select(func.count()).select_from(Submission)) or 0
    finally:
        database.close()
    published = " + ".join(str(len(table.codecs)) for table in literature())
    return f"{count(submissions, 'submission')}; {published} codecs of published tables; datasets: {', '.join(names)}"


def _as_environment(settings: Settings) -> dict[str, str]:
    """Write settings as the variables that :class:`Settings` reads."""
    prefix = settings.model_config.get("env_prefix", "")
    values = settings.model_dump(mode="json", exclude_none=True)
    return {
        f"{prefix}{name}".upper(): value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def tune_interpreter() -> None:
    """Set switch interval and thresholds for this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
