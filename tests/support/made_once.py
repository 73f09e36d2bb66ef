"""What is costly to make, made by the first process of a run of the tests that asks for it and read by the others."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import pytest

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> T:
    """Return what ``make`` returns for a folder that does not exist yet; it is called once, and pickled for the others.

    Nobody may change what lies in the folder.
    """
    folder = factory.getbasetemp()
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / f"{name}.pickle"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make(folder / name)))
        return cast("T", pickle.loads(kept.read_bytes()))
