"""What the program logs during a test: pytest's own way costs each test two milliseconds (``pyproject.toml``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class Logged(logging.Handler):
    """Keeps the records that reach the root logger."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(record)

    @property
    def text(self) -> str:
        """All messages, a line each."""
        return "\n".join(record.getMessage() for record in list(self.records))


@contextmanager
def listening() -> Iterator[Logged]:
    """Keep what is logged from INFO up."""
    root, logged = logging.getLogger(), Logged()
    before = root.level
    root.addHandler(logged)
    root.setLevel(logging.INFO)
    try:
        yield logged
    finally:
        root.setLevel(before)
        root.removeHandler(logged)
