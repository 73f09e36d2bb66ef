"""The program of a worker process: receives a function and a task over its pipe and sends value after value.

It is started as a file, not as a module, and imports only the standard library before it receives the parent's
``sys.path``. It ends when its parent does, however that ended.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

GRACE_S = 0.5
"""Seconds that a worker may still run after its parent has ended."""


def _end_with_parent(descriptor: int) -> None:
    """Wait until the other end of the link is closed, then end the process."""
    poll = select.poll()
    poll.register(descriptor, 0)  # poll(2) always reports POLLHUP, even for an empty event mask
    poll.poll()
    time.sleep(GRACE_S)
    # the process leads a group of its own, of the programs that a codec started
    with suppress(ProcessLookupError):
        os.killpg(os.getpid(), signal.SIGKILL)
    # at once, whatever foreign code is doing: sys.exit would end this thread only
    os._exit(1)


def _portable(error: Exception) -> Exception:
    """Return ``error`` where it can be pickled, otherwise a RuntimeError with its text; a note has the traceback."""
    trace = "in a worker process:\n" + "".join(traceback.format_exception(error))
    try:
        error.add_note(trace)
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made one line above
    except Exception:  # noqa: BLE001 - unpickling calls the class with error.args, which may raise anything
        substitute = RuntimeError(f"{type(error).__name__}: {error}")
        substitute.add_note(trace)
        return substitute
    return error


def _load(module: str, function: str, argument: Any) -> None:
    """Call what a later task is going to need; what fails will fail there, and be told there."""
    with suppress(Exception):
        getattr(import_module(module), function)(argument)


def _answer(link: Connection) -> None:
    """Take one task and send its values; an exception ends the task and is sent instead."""
    try:
        function, task = link.recv()
        if function is None:
            _load(*task)
            return
        for value in function(task):
            link.send(("value", value))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001 - the parent decides what an error means
        link.send(("error", _portable(error)))
    else:
        link.send(("end", None))


def main(arguments: list[str]) -> None:
    """Serve tasks over the socket whose descriptor is the only argument, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the process group; the parent handles it
    faulthandler.enable()
    descriptor = int(arguments[0])
    # programs that a codec starts must not hold the link open
    os.set_inheritable(descriptor, False)
    link: Connection[Any, Any] = Connection(descriptor)
    sys.path[:] = link.recv()
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    link.send(("ready", None))
    try:
        while True:
            _answer(link)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


if __name__ == "__main__":
    main(sys.argv[1:])
