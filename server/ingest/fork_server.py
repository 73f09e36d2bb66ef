"""The program that checks uploads: imports everything once, then forks a child for each file and enforces its limits.

A child lives for one file, so a hostile file cannot affect the next, and it starts in milliseconds because modules are
already imported. It gets open descriptors (upload, task, result, parts, a socket for its exit status) and no paths;
rlimits end it when it exceeds time, memory or file size, and where the kernel has Landlock or seccomp it can open
nothing else, late imports included. This program starts no threads, because it forks.

Started as a file, with nothing but the standard library, by :mod:`codec_superb.server.ingest.checker`.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from dataclasses import dataclass, replace
from typing import NoReturn

OUT_OF_MEMORY = 77
"""Exit code of a child that could not get memory; a library may end it by a signal instead."""
OUR_FAULT = 78
"""Exit code of a child that the kernel did not confine although it offers to, or that lacks what it may not open."""
NO_ROOM = 79
"""Exit code of a child that could not write its result, because the disk is full."""
FILES = 4
"""Descriptors of a check, besides those of parts."""
MOST_PARTS = 50
"""Parts of a submission; SCM_MAX_FD, of a message, is 253."""
PART_SHARE = 0.1
"""Of the time for a file that each part may take: one of 200,000 rows takes some seconds."""
QUICK, WHOLE = b"q", b"c"
"""What the service asks for."""
NICENESS = 10
"""Niceness of a check, so that pages are served first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use."""

    seconds: float
    """Of wall clock, and of processor time."""
    memory: int
    """Bytes of address space."""
    written: int
    """Bytes of any file."""
    most_written: int
    """The same of a submission in parts, each of which may have ``written``."""
    look: float
    """Seconds of processor time of a first look, behind which others wait, and a fourth of its wall clock: what shares
    the machine with others takes longer."""
    processor: float | None = None
    """Seconds of processor time where they are fewer than ``seconds``."""

    def with_parts(self, parts: int) -> Limits:
        """Return those of a submission in so many parts; 0 for one file."""
        written = min(self.written * max(1, parts), max(self.written, self.most_written))
        return replace(self, seconds=seconds_for(self.seconds, parts), written=written)

    def of_a_look(self) -> Limits:
        """Return those of a first look."""
        return replace(self, seconds=min(self.seconds, 4 * self.look), processor=self.look)

    def apply(self) -> None:
        """Set them as resource limits of this process (setrlimit), which the kernel enforces."""
        os.nice(NICENESS)
        # the default action of SIGALRM ends the process (signal(7)), whatever C code it is in; fork(2) inherits no
        # timer
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        # setrlimit(2): whole seconds of processor time, after which the kernel sends SIGXCPU, at the hard limit SIGKILL
        whole = int(self.seconds) + 1 if self.processor is None else max(1, int(self.processor))
        for kind, limit in (
            (resource.RLIMIT_CPU, whole),
            (resource.RLIMIT_AS, self.memory),
            (resource.RLIMIT_FSIZE, self.written),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (limit, limit))


def seconds_for(seconds: float, parts: int) -> float:
    """Return the time of a check of so many parts, of which one file has ``seconds``."""
    return seconds * (1 + PART_SHARE * parts)


def main(arguments: list[str]) -> None:
    """Serve the socket whose descriptor is the first argument; the second is JSON: ``sys.path`` and limits."""
    settings = json.loads(arguments[1])
    sys.path[:] = settings["path"]
    limits = Limits(**settings["limits"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service handles Ctrl-C and ends this process
    import codec_superb.server.ingest.sandbox  # noqa: F401 -- for the children
    from codec_superb.server.ingest.examine import warm_up

    warm_up()
    gc.collect()
    gc.freeze()  # what is there stays shared between all children
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    _ForkServer(control, limits).serve()


class _ForkServer:
    """Makes children and reports how each ended."""

    def __init__(self, control: socket.socket, limits: Limits) -> None:
        self._control = control
        self._limits = limits
        self._children: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Work until the service is gone, then end with all children."""
        woken, wakes = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            self._control.sendall(b"r")
        except ConnectionError:
            return  # the service ended while this program began
        while True:
            watched: list[int] = [self._control.fileno(), woken]
            ready, _, _ = select.select(watched, [], [])
            if woken in ready:
                os.read(woken, 512)
                self._reap()
            if self._control.fileno() in ready and not self._take():
                os.killpg(0, signal.SIGKILL)  # this process leads its own group

    def _take(self) -> bool:
        """Start a check; whether the service is still there."""
        try:
            said, files, _, _ = socket.recv_fds(self._control, 1, FILES + MOST_PARTS)
        except ConnectionError:
            return False
        if not said:
            return False
        pid = os.fork()
        if pid == 0:
            self._be_child(files, quick=said == QUICK)
        for file in files[:-1]:
            os.close(file)
        self._children[pid] = socket.socket(fileno=files[-1])
        return True

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._children.pop(pid) as link:
                try:
                    link.sendall(status.to_bytes(4, "big"))
                except OSError:
                    continue  # the requesting side has closed its end

    def _be_child(self, files: list[int], *, quick: bool) -> NoReturn:
        """Check one file and end; never returns into the loop."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            for link in self._children.values():
                link.close()
            os.close(files[-1])
            limits = self._limits.with_parts(len(files) - FILES)
            (limits.of_a_look() if quick else limits).apply()
            sys.unraisablehook = lambda _: None  # a writer that is dropped without memory says so on the log's stderr
            from codec_superb.server.ingest.examine import run
            from codec_superb.server.ingest.sandbox import confine

            with open(files[0], "rb") as file, open(files[1], "rb") as task, open(files[2], "wb") as result:  # noqa: PTH123
                parts = [open(part, "rb") for part in files[3:-1]]  # noqa: PTH123, SIM115 -- until this process ends
                code = OUR_FAULT
                confine()
                code = 1
                run(file, task, result, parts)
            code = 0
        except MemoryError:
            code = OUT_OF_MEMORY
        except (ImportError, PermissionError):
            code = OUR_FAULT
            traceback.print_exc()
        except OSError as error:
            # EFBIG, of its own limit, is the file's fault
            code = NO_ROOM if error.errno in {errno.ENOSPC, errno.EDQUOT} else code
            traceback.print_exc()
        except BaseException:  # noqa: BLE001 -- the end of this process, whatever it was
            traceback.print_exc()
        finally:
            os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
