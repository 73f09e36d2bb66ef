"""Limits of this process, for tests of disks that are full and files that cannot be opened."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limit(what: int, size: int) -> Iterator[None]:
    """Set a limit of this process: bytes of a file, open files.

    Around a few calls, not a whole test: what pytest prints may go to a file too.
    """
    before = resource.getrlimit(what)
    resource.setrlimit(what, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)
