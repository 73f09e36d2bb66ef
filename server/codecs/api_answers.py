"""From typed rows to the answers of the API."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from typing import Any

from codec_superb.base_codec.card import Card
from codec_superb.server.codecs import schemas
from codec_superb.server.codecs.published import Entry
from codec_superb.server.database.models import Submission
from codec_superb.web.report_data import CodecResult
from codec_superb.web.site.codec import BandView, CategoryView, CodecView


def summary(submission: Submission) -> schemas.CodecSummary:
    """Describe a codec for the list."""
    card = submission.card
    return schemas.CodecSummary(
        name=submission.codec.name, title=card["title"], family=card["family"], kind=card["kind"],
        nominal_kbps=card["nominal_kbps"], submission=submission.id, version=submission.version,
        status=submission.status, received=submission.received.isoformat(),
        categories=[
            schemas.CategoryScore(category=row.category, score=row.score, kbps=row.kbps, complete=row.complete)
            for row in submission.results
            if row.dataset == ""
        ],
    )  # fmt: skip


def detail(view: CodecView, submission: Submission, card: Card, published: list[Entry]) -> schemas.CodecDetail:
    """Describe a codec with results."""
    return schemas.CodecDetail(
        name=view.name, title=view.title, family=view.family, card=card.model_dump(mode="json"),
        submission=submission.id, version=submission.version, status=submission.status,
        submitter=submission.submitter, received=submission.received.isoformat(), complete=submission.complete,
        file_sha256=submission.file_sha256, datasets=submission.document["datasets"],
        categories=[_category(each) for each in view.categories],
        samples=[_sample(submission.id, each.number, asdict(each)) for each in view.samples],
        history=[
            schemas.Version(
                submission=each.id, version=each.version, status=each.status, received=each.received,
                submitter=each.submitter, reason=each.reason,
            )
            for each in view.history
        ],
        published=[published_figures(entry) for entry in published],
    )  # fmt: skip


def literature_detail(view: CodecView, published: list[Entry]) -> schemas.CodecDetail:
    """Describe a codec that only published tables know."""
    return schemas.CodecDetail(
        name=view.name, title=view.title, family=view.family, card=None, submission=None, version=None, status=None,
        submitter=None, received=None, complete=None, file_sha256=None, datasets=[], categories=[], samples=[],
        history=[], published=[published_figures(entry) for entry in published],
    )  # fmt: skip


def published_figures(entry: Entry) -> schemas.PublishedFigures:
    """Give a table's figures with their source."""
    table, codec = entry
    return schemas.PublishedFigures(
        table=table.name, id=codec.id, citation=table.citation, url=table.url, statement=table.statement,
        kbps=codec.kbps, scores={str(key): value for key, value in codec.scores.items()},
        metrics={str(key): dict(value) for key, value in codec.metrics.items()},
        applications=dict(codec.applications),
        dataset_applications={key: dict(value) for key, value in codec.dataset_applications.items()},
    )  # fmt: skip


def sample_path(submission: str, number: int) -> str:
    """Address below which everything of a sample lies."""
    return f"/api/v1/submissions/{submission}/samples/{number}"


def _sample(submission: str, number: int, fields: dict[str, Any]) -> schemas.ListeningSample:
    path = sample_path(submission, number)
    kept = {name: fields[name] for name in ("clip", "dataset", "category", "licence", "attribution")}
    pictures = {name: f"{path}/spectrogram/{name}.png" for name in ("reference", "resynthesis", "difference")}
    return schemas.ListeningSample(
        **kept, reference=f"{path}/reference.ogg", resynthesis=f"{path}/resynthesis.ogg", spectrograms=pictures
    )


def _category(view: CategoryView) -> schemas.CategoryResults:
    return schemas.CategoryResults(
        category=view.category,
        overall=_results(view.overall),
        datasets=[_results(part.result) for part in view.datasets],
        band=None if view.band is None else _band(view.band),
    )


def _band(band: BandView) -> schemas.BitrateBand:
    members = [schemas.BandMember(name=each.name, title=each.title, kbps=each.kbps) for each in band.members]
    return schemas.BitrateBand(low=band.low, high=band.high, members=members, other_datasets=band.other_datasets)


def _results(result: CodecResult) -> schemas.Results:
    return schemas.Results(
        datasets=list(result.datasets), complete=result.complete, clips=result.clips, failed=result.failed,
        kbps=None if isnan(result.kbps) else result.kbps, tokens_per_second=result.tokens_per_second,
        compression_ratio=result.compression_ratio, encode_rtf=result.encode_rtf, decode_rtf=result.decode_rtf,
        largest_lag=result.largest_lag, clipped_samples=result.clipped_samples,
        score=schemas.Estimate(**asdict(result.score)),
        metrics={key: schemas.Estimate(**asdict(estimate)) for key, estimate in result.metrics.items()},
    )  # fmt: skip
