"""Checks one submission file in the checking process and computes everything that the service stores of it.

Runs inside the limits that :mod:`codec_superb.server.ingest.fork_server` sets. Either an outcome is
written, which the service validates, or the process ends.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO

import av
import numpy as np

from codec_superb.applications.received import is_shipped
from codec_superb.applications.table import PROBE_METRICS
from codec_superb.pipeline.aggregates.evidence import probe_metric_function
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.aggregates.summary import summarise, summarise_dataset
from codec_superb.pipeline.statistics.jackknife import Jackknife, interval
from codec_superb.pipeline.submission.admission import check_admission
from codec_superb.pipeline.submission.check import OpenedSubmission, check_and_open
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Part, Submission
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows
from codec_superb.server.ingest.outcome import Accepted, BlockInfo, CheckOutcome, write_outcome
from codec_superb.server.ingest.task import OpenedTask

_EXAMPLE = ClipRow(clip="a", dataset="a", category="speech", status="ok")
av.logging.set_level(None)  # libav logs a damaged sample to stderr; the check reports it as a problem


_LATER = (
    "encodings.cp437", "encodings.idna", "av.subtitles.stream", "pyarrow.compute", "scipy.special", "soxr",
    "codec_superb.applications.mseb.limits", "codec_superb.applications.understanding.limits",
    "codec_superb.applications.text.search",
    "codec_superb.data_manifests.files",
)  # fmt: skip
"""What a check imports only for some files; when it runs it can open no file, and so import nothing."""


def warm_up() -> None:
    """Run each step of a check once, so that everything is imported before the process begins to fork."""
    for name in _LATER:
        import_module(name)
    table = io.BytesIO()
    write_table(table, [_EXAMPLE], ["pesq"], compression="zstd")
    rows = StoredRows.read(open_table(table, own=True))
    rows.has_repeated_clips()
    aggregate(rows.slim().by_clip(), metrics=["pesq"])
    for figure in PROBE_METRICS.values():
        probe_metric_function(figure)
    interval(Jackknife(np.zeros(()), (np.array([-1.0, 1.0]),), (np.array([0.5, 0.5]),)))


class _Lacking(Exception):
    """The file describes parts, and none of them were handed over."""


def run(file: BinaryIO, task: BinaryIO, result: BinaryIO, parts: Sequence[BinaryIO] = ()) -> None:
    """Check ``file`` and write the outcome into ``result``. Raises what is no fault of the file."""
    try:
        outcome = examine(file, OpenedTask(task), result, parts)
    except (MemoryError, ImportError, PermissionError):  # the last two: a module that was not imported in time
        raise
    except Exception as error:  # noqa: BLE001 -- a file that breaks the check is refused; it must not break the service
        outcome = _broken(error)
    if outcome.accepted is None:
        result.seek(0)
        result.truncate()
    write_outcome(result, outcome)


def examine(file: BinaryIO, task: OpenedTask, result: BinaryIO, parts: Sequence[BinaryIO] = ()) -> CheckOutcome:
    """Return the outcome; the blocks of clip rows are written into ``result`` as they are read."""

    def source(named: Sequence[Part], index: int) -> BinaryIO:
        if len(parts) != len(named):
            raise _Lacking(tuple(named))
        return parts[index]

    blocks = _Blocks(result)
    admission = partial(check_admission, known=task.known, public=task.task.public)
    try:
        report, opened = check_and_open(
            file, known=task.known, file_limit=task.task.file_limit, more=[admission], parts=source, each=blocks.add,
            slim=True,
        )  # fmt: skip
    except _Lacking as lacking:
        return CheckOutcome(problems=(), more=0, notes=(), accepted=None, parts=lacking.args[0])
    verdict = CheckOutcome(problems=report.problems, more=report.more, notes=report.notes, accepted=None)
    if opened is None or not report.ok:
        return verdict
    return verdict.model_copy(update={"accepted": _accept(opened, blocks.finish(opened.submission))})


def _accept(opened: OpenedSubmission, blocks: tuple[BlockInfo, ...]) -> Accepted:
    submission, rows, aggregates = opened.submission, opened.rows, opened.aggregates
    assert aggregates is not None  # else there is a problem
    ok = int(rows.equals("status", "ok").sum())
    return Accepted(
        submission=submission,
        categories=tuple(summarise(aggregates, category) for category in aggregates.categories),
        datasets=tuple(summarise_dataset(part) for part in aggregates.datasets),
        blocks=blocks,
        clips=len(rows),
        ok=ok,
        failed=len(rows) - ok,
        complete=all(part.complete for part in aggregates.datasets),
    )


class _Blocks:
    """Writes the rows of each dataset as a block, one dataset behind the other: in parts they come in that order."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._made: dict[str, BlockInfo] = {}
        self._open = ExitStack()
        self._dataset, self._begin, self._rows = "", 0, 0
        self._writer: Any = None

    def add(self, submission: Submission, rows: StoredRows) -> None:
        """Take the rows of a file."""
        shipped = {info.probe for dataset in submission.datasets for info in dataset.probes if is_shipped(info)}
        for dataset in submission.datasets:
            its = rows.where("dataset", {dataset.name})
            if (len(its) or not submission.parts) and dataset.name not in self._made:
                # what tasks kept that this program does not ship is left out: no other process can read it
                self._add(dataset.name, its.only(shipped).by_clip())

    def _add(self, dataset: str, rows: StoredRows) -> None:
        if dataset != self._dataset:
            self._end()
            self._dataset, self._begin, self._rows = dataset, self._out.tell(), 0
            self._open = ExitStack()
            self._writer = self._open.enter_context(rows.writer(self._out, compression="zstd"))
        rows.write_into(self._writer)
        self._rows += len(rows)

    def _end(self) -> None:
        self._open.close()
        if self._dataset:
            size = self._out.tell() - self._begin
            self._made[self._dataset] = BlockInfo(dataset=self._dataset, rows=self._rows, size=size)
        self._dataset = ""

    def finish(self, submission: Submission) -> tuple[BlockInfo, ...]:
        """Return what was written, a block for each dataset of a submission without problems."""
        self._end()
        return tuple(self._made[dataset.name] for dataset in submission.datasets)


def _broken(error: Exception) -> CheckOutcome:
    findings = Findings()
    findings.add(
        "the file", "a submission as pack writes it", f"{type(error).__name__}: {error}", "pack the runs again"
    )
    return CheckOutcome(problems=tuple(findings.problems), more=0, notes=(), accepted=None)
