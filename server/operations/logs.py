"""Structured logs: one line of JSON (or of text, for a terminal) per request and per event, from every library."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

QUIET = ("alembic", "asyncio", "multipart", "uvicorn")
"""Libraries whose messages below the level warning are not logged."""
LOGGED_MARK = "_codec_superb_told"
"""Attribute of an exception whose traceback has been logged."""


def get_logger(name: str) -> BoundLogger:
    """Return a structured logger, used as ``log.info("checked", seconds=1.2)``.

    Without configuration, events go to Python's logging like those of any library.
    """
    made: BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=BoundLogger,
        context_class=dict,
    ).bind()
    return made


def configure(log_format: str, stream: TextIO | None = None) -> None:
    """Send all log records of this process to ``stream`` (default: stderr), as ``json`` or ``text``."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[structlog.contextvars.merge_contextvars],
            processors=_processors(log_format, colours=handler.stream.isatty()),
        )
    )
    handler.addFilter(_once)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def _processors(log_format: str, *, colours: bool) -> Sequence[Any]:
    facts = [
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
    ]
    if log_format == "text":
        return [*facts, structlog.dev.ConsoleRenderer(colors=colours, timestamp_key="at")]
    return [*facts, structlog.processors.EventRenamer("event"), structlog.processors.JSONRenderer(default=str)]


def _once(record: logging.LogRecord) -> bool:
    """Drop uvicorn's record of an exception that was already logged with its request id."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not (record.name.startswith("uvicorn") and getattr(error, LOGGED_MARK, False))
