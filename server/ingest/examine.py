"""Checks one submission file in the checking process and computes everything that the service stores of it.

Runs inside the limits that :mod:`codec_superb.server.ingest.fork_server` sets. Either an outcome is
written, which the service validates, or the process ends.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import BinaryIO

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
    aggregate(rows.by_clip(), metrics=["pesq"])
    for figure in PROBE_METRICS.values():
        probe_metric_function(figure)
    interval(Jackknife(np.zeros(()), (np.array([-1.0, 1.0]),), (np.array([0.5, 0.5]),)))


def run(file: BinaryIO, task: BinaryIO, result: BinaryIO) -> None:
    """Check ``file`` and write the outcome into ``result``. Raises what is no fault of the file."""
    try:
        outcome, blocks = examine(file, OpenedTask(task))
    except (MemoryError, ImportError, PermissionError):  # the last two: a module that was not imported in time
        raise
    except Exception as error:  # noqa: BLE001 -- a file that breaks the check is refused; it must not break the service
        outcome, blocks = _broken(error), []
    write_outcome(result, outcome, blocks)


def examine(file: BinaryIO, task: OpenedTask) -> tuple[CheckOutcome, Sequence[bytes]]:
    """Return the outcome and, without problems, the blocks of clip rows."""
    admission = partial(check_admission, known=task.known, public=task.task.public)
    report, opened = check_and_open(file, known=task.known, file_limit=task.task.file_limit, more=[admission])
    verdict = CheckOutcome(problems=report.problems, more=report.more, notes=report.notes, accepted=None)
    if opened is None or not report.ok:
        return verdict, []
    accepted, blocks = _accept(opened)
    return verdict.model_copy(update={"accepted": accepted}), blocks


def _accept(opened: OpenedSubmission) -> tuple[Accepted, list[bytes]]:
    submission, rows, aggregates = opened.submission, opened.rows, opened.aggregates
    assert aggregates is not None  # else there is a problem
    shipped = {info.probe for dataset in submission.datasets for info in dataset.probes if is_shipped(info)}
    # what tasks kept that this program does not ship is left out: no other process can read it
    blocks = [_block(rows.where("dataset", {dataset.name}).only(shipped)) for dataset in submission.datasets]
    sizes = [d.selected for d in submission.datasets]
    ok = rows.texts("status").count("ok")
    accepted = Accepted(
        submission=submission,
        categories=tuple(summarise(aggregates, category) for category in aggregates.categories),
        datasets=tuple(summarise_dataset(part) for part in aggregates.datasets),
        blocks=tuple(
            BlockInfo(dataset=dataset.name, rows=count, size=len(block))
            for dataset, count, block in zip(submission.datasets, sizes, blocks, strict=True)
        ),
        clips=len(rows),
        ok=ok,
        failed=len(rows) - ok,
        complete=all(part.complete for part in aggregates.datasets),
    )
    return accepted, blocks


def _block(rows: StoredRows) -> bytes:
    out = io.BytesIO()
    rows.by_clip().write(out, compression="zstd")
    return out.getvalue()


def _broken(error: Exception) -> CheckOutcome:
    findings = Findings()
    findings.add(
        "the file", "a submission as pack writes it", f"{type(error).__name__}: {error}", "pack the runs again"
    )
    return CheckOutcome(problems=tuple(findings.problems), more=0, notes=(), accepted=None)
