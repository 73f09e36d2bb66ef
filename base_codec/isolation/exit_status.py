"""How a child program ended, in the words that rows and errors use."""

from __future__ import annotations

import signal


def how_it_ended(code: int) -> str:
    """Describe the exit code that :class:`subprocess.Popen` gives, where a signal is a number below 0."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = _signal_name(-code)
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _signal_name(number: int) -> str:
    """Return ``SIGKILL`` and its like; real-time signals have a number only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
