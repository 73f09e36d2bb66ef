"""What `evaluate` costs in a training loop, against the sum of its parts, and the time to a first result.

    python perf/python_api.py           # a module, 20 clips of `mini`, mel and STOI; then fresh interpreters

The parts are what no loop can do without: decode the clips, run the module, compute the metrics, in one process.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import codec_superb as cs

LIMIT, KEYS, TRIES = 20, ["mel", "stoi"], 4
FIRST = {
    'evaluate("opus_12k", limit=4)': 'import codec_superb as cs; cs.evaluate("opus_12k", limit=4, progress=False)',
    "evaluate(function, limit=4)": (
        "import codec_superb as cs; cs.evaluate(lambda audio, rate: audio / 2, limit=4, name='half', progress=False)"
    ),
    "the same, mel and STOI": (
        "import codec_superb as cs; cs.evaluate(lambda audio, rate: audio / 2, limit=4, name='half', progress=False, "
        "metrics=['mel', 'stoi'])"
    ),
}


class Autoencoder(torch.nn.Module):
    """A small convolutional autoencoder at 16 kHz, untrained: 200,000 parameters."""

    sampling_rate = 16000

    def __init__(self) -> None:
        super().__init__()
        channels = (1, 32, 64, 128)
        pairs = list(itertools.pairwise(channels))
        down = [torch.nn.Conv1d(a, b, 8, 4, 2) for a, b in pairs]
        up = [torch.nn.ConvTranspose1d(b, a, 8, 4, 2) for a, b in reversed(pairs)]
        self.layers = torch.nn.Sequential(*down, *up)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Code and decode ``(1, 1, samples)``."""
        missing = -sound.shape[-1] % 64
        made: torch.Tensor = self.layers(torch.nn.functional.pad(sound, (0, missing)))
        return made[..., : sound.shape[-1]]


def parts(module: Autoencoder) -> None:
    """Decode, run and score the same clips, and nothing else."""
    result = cs.evaluate(module, limit=LIMIT, metrics=KEYS, progress=False)
    dataset = cs.open_dataset("mini", progress=False)
    names = [clip.id for clip in result.clips]

    def run() -> None:
        opened = cs.open_codec(module, progress=False)
        for name in names:
            clip = dataset[name]
            cs.score(clip.audio.mean(axis=0), opened(clip.audio.mean(axis=0), clip.rate), clip.rate, KEYS)

    told("the parts, in one process", run)


def told(what: str, action: Callable[[], Any]) -> None:
    """Print the first time and the quickest of the others, in seconds, and this process's processor time of it."""
    times = []
    for _ in range(TRIES):
        began, used = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - began, time.process_time() - used))
    quickest, used = (min(column) for column in zip(*times[1:], strict=True))
    first = f"first {times[0][0]:6.2f} s ({times[0][1]:5.2f} s here)"
    print(f"{what:42} {first}, then {quickest:6.2f} s ({used:5.2f} s here)", flush=True)


def main() -> None:
    """Measure and print."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads that wait for each other measure the rest of the machine
    module = Autoencoder()
    asked: dict[str, Any] = {"limit": LIMIT, "metrics": KEYS, "progress": False}
    told("evaluate(module), scored by workers", lambda: cs.evaluate(module, **asked))
    told("evaluate(module), all in this process", lambda: cs.evaluate(module, workers=0, **asked))
    parts(module)
    for what, program in FIRST.items():
        times = []
        for _ in range(2):
            began, used = time.perf_counter(), processor_time_of_children()
            subprocess.run([sys.executable, "-c", program], check=True)
            times.append((time.perf_counter() - began, processor_time_of_children() - used))
        clock, used = (min(column) for column in zip(*times, strict=True))
        print(f"{what:42} {clock:6.2f} s from a fresh interpreter ({used:5.2f} s of processor time)", flush=True)


def processor_time_of_children() -> float:
    """Return the processor time of processes that have ended, their own children included."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime


if __name__ == "__main__":
    main()
