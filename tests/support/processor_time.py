"""Seconds of processor time of each test, a line each: ``pytest -p support.processor_time``.

Counted are this process, its children that have ended, and all that run below it (workers, services, Chromium), which
neither ``--durations`` nor ``time`` sees. Each process writes ``PROCESSOR_TIME/PID.jsonl``; the folder is
``processor_time`` where the variable is not set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.processes import FORKED

_TICKS = os.sysconf("SC_CLK_TCK")
_FOLDER = Path(os.environ.get("PROCESSOR_TIME", "processor_time"))


def spent() -> float:
    """Return the seconds of this process and of all that it has started; a child that ends moves to its parent."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + sum(map(_seconds, _below()))


def _below() -> Iterator[int]:
    """Name the processes below this one, but not the others that run tests."""
    parents = [os.getpid()]
    while parents:
        for children in Path(f"/proc/{parents.pop()}/task").glob("*/children"):
            found = [pid for word in _read(children).split() if (pid := int(word)) not in FORKED]
            parents += found
            yield from found


def _seconds(process: int) -> float:
    """Return user and system time of a process and of its children that have ended: fields 14 to 17, proc(5)."""
    fields = _read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


def _write(name: str, seconds: float) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({"test": name, "seconds": round(seconds, 3)}) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Write what a test took, with the fixtures that were made for it."""
    before = spent()
    try:
        return (yield)
    finally:
        _write(item.nodeid, spent() - before)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Write what the imports of all tests took."""
    before = spent()
    try:
        return (yield)
    finally:
        _write("collection", spent() - before)
