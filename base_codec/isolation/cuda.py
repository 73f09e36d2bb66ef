"""The graphics card of this machine, asked of NVIDIA's driver without PyTorch, which only private environments hold."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import NamedTuple

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.isolation.lock import Lock

_ASK = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
number, version = ctypes.c_int(), ctypes.c_int()
if driver.cuInit(0) == driver.cuDeviceGetCount(ctypes.byref(number)) == 0:
    driver.cuDriverGetVersion(ctypes.byref(version))
    print(number.value, version.value // 1000, version.value % 1000 // 10)
"""
"""CUDA driver API: a version is 1000 * major + 10 * minor."""
_TIMEOUT_S = 60.0
"""A driver that starts its devices anew for the first process takes seconds."""


class Cards(NamedTuple):
    """What the driver says."""

    number: int
    """Graphics cards that programs may use (``CUDA_VISIBLE_DEVICES`` is honoured)."""
    cuda: tuple[int, int]
    """The newest version of CUDA that the driver supports."""


@functools.cache
def cards_here() -> Cards | None:
    """Return the graphics cards of this machine, None where there is no driver or no card.

    A process of its own asks: once a process has asked, its forks cannot use the card. The answer is kept.
    """
    try:
        asked = subprocess.run(
            [sys.executable, "-I", "-c", _ASK], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if asked.returncode or not asked.stdout.strip():
        return None
    number, major, minor = map(int, asked.stdout.split())
    return Cards(number, (major, minor)) if number else None


def refuse_cuda(lock: Lock) -> None:
    """Raise RefusedSetting where the packages of ``lock``, one for CUDA, find no graphics card that they run on."""
    if lock.cuda is None:
        return
    cards = cards_here()
    if cards is None or cards.cuda < lock.cuda:
        found = "none" if cards is None else f"a driver for CUDA {'.'.join(map(str, cards.cuda))}"
        raise RefusedSetting(
            f"{lock.name}: expected an NVIDIA graphics card with a driver for CUDA {'.'.join(map(str, lock.cuda))}, "
            f"found {found}; take --device cpu or --device auto"
        )
