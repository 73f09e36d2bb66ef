"""What other libraries log has the same form as our own events, and nothing is told twice."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

from codec_superb.server.operations import logs

Log = Callable[[], list[dict[str, Any]]]


def test_events_are_lines_of_json(log: Log) -> None:
    """An event has its time, level, logger and facts."""
    logs.get_logger("codec_superb.trial").info("checked", seconds=1.5, codec="opus_12k")
    (line,) = log()
    assert line.pop("at").endswith("Z")
    assert line == {
        "event": "checked", "seconds": 1.5, "codec": "opus_12k", "level": "info", "logger": "codec_superb.trial",
    }  # fmt: skip


def test_libraries_log_through_it(log: Log) -> None:
    """Plain loggers, remarks of the server and Python's warnings come out as the same lines."""
    logging.getLogger("uvicorn.error").error("failed with %s", "words")
    logging.getLogger("alembic.runtime.migration").info("a remark that nobody needs")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    first, second = log()
    assert (first["event"], first["level"], first["logger"]) == ("failed with words", "error", "uvicorn.error")
    assert "DeprecationWarning" in second["event"]


def test_what_was_told_is_not_told_again(log: Log) -> None:
    """The server's own report of an exception that we have logged is dropped; others stay."""
    told, new = ValueError("told"), ValueError("new")
    setattr(told, logs.LOGGED_MARK, True)
    for error in (told, new):
        logging.getLogger("uvicorn.error").error("exception", exc_info=error)
    (line,) = log()
    assert "ValueError: new" in line["exception"]


def test_text_is_for_people(log: Log) -> None:
    """The text format has no braces, and no colours where nobody looks."""
    stream = io.StringIO()
    logs.configure("text", stream)
    logs.get_logger("codec_superb.trial").warning("checked", codec="opus_12k")
    assert "checked" in stream.getvalue()
    assert "codec=opus_12k" in stream.getvalue()
    assert "{" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
