"""View model of a moderator's submission page: results as rows of text, card and provenance as pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import CATEGORIES, METRICS
from codec_superb.pipeline.submission.schema import Sample, SubmittedDataset
from codec_superb.server.database.models import Result, Submission
from codec_superb.server.database.results import to_summary
from codec_superb.web import text
from codec_superb.web.quantity import SCORE, from_metric

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One category: a row over all of its datasets, and one for each."""

    category: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ModeratedSample:
    """One clip to listen to."""

    clip: str
    dataset: str
    category: str
    credit: str


@dataclass(frozen=True, slots=True)
class ModeratedSubmission:
    """The parts of the page."""

    tables: Sequence[ResultTable]
    card: Pairs
    provenance: Sequence[tuple[str, Pairs]]
    """By dataset."""
    samples: Sequence[ModeratedSample]


def submission_view(submission: Submission) -> ModeratedSubmission:
    """Return the view model of a submission; its document must have been loaded."""
    document = submission.document
    datasets = [SubmittedDataset.model_validate(entry) for entry in document.get("datasets", ())]
    return ModeratedSubmission(
        tables=[table for category in CATEGORIES if (table := _table(category, submission.results)) is not None],
        card=[(name, _plain(value)) for name, value in submission.card.items() if value not in (None, [], {})],
        provenance=[(dataset.name, list(_provenance(dataset))) for dataset in datasets],
        samples=[_sample(Sample.model_validate(entry)) for entry in document.get("samples", ())],
    )


def _table(category: str, results: Sequence[Result]) -> ResultTable | None:
    chosen = sorted((row for row in results if row.category == category), key=lambda row: row.dataset)
    if not chosen:
        return None
    keys = [key for key in METRICS if any(key in row.metrics for row in chosen)]
    head = ["dataset", "clips", "kbps", "score", *(from_metric(METRICS[key]).title for key in keys)]
    head += ["largest lag", "clipped samples", "encoding", "decoding"]
    return ResultTable(category, head, [_row(row, keys) for row in chosen])


def _row(row: Result, keys: Sequence[str]) -> list[str]:
    failed = f", {row.failed} failed" if row.failed else ""
    partial, metrics = "" if row.complete else ", partial", to_summary(row).metrics
    return [
        row.dataset or "all",
        f"{row.ok} of {row.clips}{failed}{partial}",
        text.MISSING if row.kbps is None else text.kbps(row.kbps),
        _estimate(SCORE.decimals, row.score, row.low, row.high),
        *(_metric(key, metrics.get(key)) for key in keys),
        text.MISSING if row.largest_lag is None else str(row.largest_lag),
        str(row.clipped_samples),
        text.significant(row.encode_rtf),
        text.significant(row.decode_rtf),
    ]


def _metric(key: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return text.MISSING
    shown = _estimate(from_metric(METRICS[key]).decimals, estimate.mean, estimate.low, estimate.high)
    counts = (("undefined", estimate.undefined), ("failed", estimate.failed))
    missing = [f"{number} {name}" for name, number in counts if number]
    return f"{shown} ({', '.join(missing)})" if missing else shown


def _estimate(decimals: int, value: float | None, low: float | None, high: float | None) -> str:
    return f"{text.number(value, decimals)} {text.interval(low, high, decimals)}".strip()


def _provenance(dataset: SubmittedDataset) -> Iterator[tuple[str, str]]:
    yield "clips", f"{dataset.selected} of {dataset.clips}, {dataset.ok} ok, {dataset.failed} failed"
    yield "manifest", dataset.manifest_hash
    for stamp in dataset.provenance:
        dirty = ", with local changes" if stamp.dirty else ""
        yield stamp.stage, f"{stamp.command} ({stamp.started})"
        yield "program", f"{stamp.tool_version}, commit {stamp.commit or 'of a release'}{dirty}"
        yield "machine", f"{stamp.python} on {stamp.platform}, {stamp.processor}, {stamp.device}"
        yield "packages", ", ".join(f"{name} {version}" for name, version in sorted(stamp.packages.items()))


def _sample(sample: Sample) -> ModeratedSample:
    return ModeratedSample(
        clip=sample.clip, dataset=sample.dataset, category=sample.category,
        credit=f"{sample.attribution}, {sample.licence}",
    )  # fmt: skip


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
