"""Submission files with every probe, or with some, for tests that look into them or change them."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, failed, write_run

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.submission.check import CheckReport
from codec_superb.pipeline.submission.pack import pack

ROWS = [*draw_rows(1, 30), failed("mini/broken")]
CARD = card()


@lru_cache(maxsize=16)
def _packed(keys: tuple[str, ...]) -> bytes:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), ROWS, card=CARD)
        probe_run(run, keys or PROBES)
        return pack([run], Path(folder) / "a.zip").read_bytes()


def packed(*keys: str) -> io.BytesIO:
    """Pack :data:`ROWS` with these probes, or with every probe, once for all tests.

    A check of a file with every probe takes half a second: a test of a few probes takes a file of those.
    """
    return io.BytesIO(_packed(keys))


def problems(report: CheckReport) -> str:
    """Say where the problems are, what was expected, and what came."""
    return " | ".join(f"{problem.path}: expected {problem.expected}, got {problem.got}" for problem in report.problems)
