"""Describe the exit code or signal of a child process, for rows and errors."""

from __future__ import annotations

import signal


def how_it_ended(code: int) -> str:
    """Describe an exit code of :class:`subprocess.Popen`, where a signal N is the negative number -N (POSIX)."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = _signal_name(-code)
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _signal_name(number: int) -> str:
    """Return a name such as ``SIGKILL``; Python's ``signal.Signals`` names only the first and last real-time signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
