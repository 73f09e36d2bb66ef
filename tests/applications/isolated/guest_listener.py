"""A guest for tests: says how many samples it heard, or does to a clip what that number, modulo 100, asks for."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

import numpy as np


def killed():  # noqa: ANN201
    """Say something, then die as a process does that the system kills for its memory."""
    print("Traceback: about to be killed", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def greedy():  # noqa: ANN201
    """Ask for 4 GiB where 2 are allowed."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
    np.ones(1 << 29)


def unhappy():  # noqa: ANN201
    """Raise as a model does that does not like a clip."""
    raise ValueError("this clip is not to my taste")


DEADLY = {1: killed, 2: lambda: os._exit(9), 3: lambda: time.sleep(60), 4: unhappy, 5: greedy}
ANSWERS = {
    6: np.array([0.25, 0.75], dtype=np.float64),
    7: np.array([[1.0]]),
    8: np.array([np.nan]),
    9: None,
    10: b"bytes",
    11: np.zeros(0),
    12: "你好 \ud800",
}


class Guest:
    """Behaves, but where a clip's length asks for a fault."""

    def __init__(self, description, device):  # noqa: ANN001, ANN204
        self.description = description
        if description["weights"].endswith("broken"):
            raise FileNotFoundError("no file model.bin in /nowhere")

    def predict(self, samples):  # noqa: ANN001, ANN201
        """Return a text, or what the length asks for."""
        fault = samples.size % 100
        if fault in DEADLY:
            DEADLY[fault]()
        if fault in ANSWERS:
            return ANSWERS[fault]
        return (
            f"{samples.size} samples, {samples.dtype}, loudest {abs(samples).max():.2f}, {self.description['threads']}"
        )
