"""A process that has imported what most workers import, and becomes one worker after another by forking.

Imports of numpy, scipy, numba and this program take a worker two seconds; a fork of a process that has them takes some
hundredths of one. Each worker starts with the environment, folder and import path that the test has at that moment.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from codec_superb.pipeline.workers import worker
from codec_superb.pipeline.workers.executor import SINGLE_THREAD

IMPORTED = (
    "codec_superb.pipeline.resynthesis.clip",
    "codec_superb.pipeline.scoring.clip",
    "codec_superb.pipeline.probing.clip",
    "codec_superb.metrics.score",
    "av",
    "numba",
    "scipy.signal",
)
"""The modules of the functions that workers call, and packages that these import on use."""


class Forked:
    """A forked worker, with the part of ``subprocess.Popen`` that executors use."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid, self._status = pid, status
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended, as ``subprocess`` says it. Raises TimeoutExpired after so many seconds."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("worker", timeout or 0)
            told = os.read(self._status, 16)
            os.close(self._status)
            self.returncode = int(told or -signal.SIGKILL)
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """The process that forks, and the way to ask it."""

    def __init__(self) -> None:
        self._link, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = os.environ | dict.fromkeys(SINGLE_THREAD, "1")
        program = [sys.executable, "-P", __file__, str(its.fileno())]
        self._process = subprocess.Popen(
            program, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()], env=environment | {"PYTHONPATH": _path()}
        )
        its.close()

    def fork(self, link: int, log: int) -> Forked:
        """Start a worker that serves the socket ``link`` and writes to ``log``."""
        reading, writing = os.pipe()
        asked = pickle.dumps((dict(os.environ | dict.fromkeys(SINGLE_THREAD, "1")), str(Path.cwd())))
        socket.send_fds(self._link, [asked], [link, log, writing])
        os.close(writing)
        return Forked(int(self._link.recv(16)), reading)

    def end(self) -> None:
        """End it; workers end when their own links are closed."""
        self._link.close()
        self._process.wait()


def _path() -> str:
    return os.pathsep.join(filter(None, sys.path))


def _serve(link: socket.socket) -> None:
    """Fork a worker for each request, and tell how each ended, until the other side closes the link."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # what a fork shares is not to be written to
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    statuses: dict[int, int] = {}
    while True:
        ready = select.select([link, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 512)
            _tell(statuses)
        if link in ready:
            asked, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 3)
            if not asked:
                return
            pid = os.fork()
            os.setpgid(pid, pid)  # 0, 0 in the worker, which leads a group; either may come first
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for descriptor in (link.detach(), woken, wake, descriptors[2], *statuses.values()):
                    os.close(descriptor)
                _become(*pickle.loads(asked), *descriptors[:2])
                return
            statuses[pid] = descriptors[2]
            for descriptor in descriptors[:2]:
                os.close(descriptor)
            link.send(str(pid).encode())


def _tell(statuses: dict[int, int]) -> None:
    """Write the exit status of each worker that has ended."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status = statuses.pop(ended[0])
            with suppress(BrokenPipeError):
                os.write(status, str(os.waitstatus_to_exitcode(ended[1])).encode())
            os.close(status)


def _become(environment: dict[str, str], folder: str, link: int, log: int) -> None:
    """Go on as a worker."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    worker.main([str(link)])


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
