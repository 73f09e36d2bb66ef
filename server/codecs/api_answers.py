"""Converts typed rows of codecs into the answers of the API."""

from __future__ import annotations

from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.codecs import schemas
from codec_superb.server.codecs.pages import FoundCodec
from codec_superb.server.codecs.published import Published
from codec_superb.server.codecs.service import NewestResults, applications_of, slices_of
from codec_superb.server.database.models import Submission
from codec_superb.server.leaderboard.answers import application_answer
from codec_superb.web.mseb.choose import is_mseb
from codec_superb.web.site.codec.view import BandView, CategoryView, SampleView


def summary(entry: BoardEntry) -> schemas.CodecSummary:
    """Describe a codec of the board for the list."""
    return schemas.CodecSummary(
        name=entry.codec, title=entry.title, family=entry.family, kind=entry.kind, nominal_kbps=entry.nominal_kbps,
        bit_source=entry.bit_source, submission=entry.submission or "", version=entry.version, status=entry.source,
        submitter=entry.submitter, received=entry.received or "",
        categories=[
            schemas.CategoryScore(
                category=category, score=figures.score[0], kbps=figures.kbps, complete=figures.complete
            )
            for (category, dataset), figures in entry.figures.items()
            if dataset == ""
        ],
    )  # fmt: skip


def detail(found: FoundCodec) -> schemas.CodecDetail:
    """Describe a codec, with results or from published tables alone."""
    view, measured = found.view, found.measured
    submission = measured.submission if measured else None
    return schemas.CodecDetail(
        name=view.name, title=view.title, family=view.family,
        card=measured.card.model_dump(mode="json") if measured else None,
        submission=_version(submission) if submission else None,
        datasets=[entry.model_dump(mode="json") for entry in measured.datasets] if measured else [],
        categories=[_category(each) for each in view.categories],
        samples=[_sample(submission.id, each) for each in view.samples] if submission else [],
        history=[
            schemas.CodecVersion(
                submission=each.id, version=each.version, status=each.status, received=each.received,
                submitter=each.submitter, submitter_in_file=each.submitter_in_file, reason=each.reason,
                custom=each.custom,
            )
            for each in view.history
        ],
        published=[published_figures(entry) for entry in found.published],
    )  # fmt: skip


def _version(submission: Submission) -> schemas.CurrentVersion:
    return schemas.CurrentVersion(
        submission=submission.id, version=submission.version, status=submission.status,
        received=submission.received.isoformat(), submitter=submission.sender,
        submitter_in_file=submission.submitter, reason=submission.reason or "",
        complete=submission.complete, file_sha256=submission.file_sha256, metrics=submission.metrics,
    )  # fmt: skip


def published_figures(entry: Published) -> schemas.PublishedFigures:
    """Give a table's figures with their source."""
    table, codec = entry
    return schemas.PublishedFigures(
        table=table.name, id=codec.id, citation=table.citation, url=table.url, statement=table.statement,
        kbps=codec.kbps, scores={str(key): value for key, value in codec.scores.items()},
        metrics={str(key): dict(value) for key, value in codec.metrics.items()},
        applications=dict(codec.applications),
        dataset_applications={key: dict(value) for key, value in codec.dataset_applications.items()},
    )  # fmt: skip


def _sample(submission: str, sample: SampleView) -> schemas.ListeningSample:
    path = f"/api/v1/submissions/{submission}/samples/{sample.number}"
    return schemas.ListeningSample(
        clip=sample.clip, dataset=sample.dataset, category=sample.category, licence=sample.licence,
        attribution=sample.attribution, reference=f"{path}/reference.ogg", resynthesis=f"{path}/resynthesis.ogg",
        spectrograms={name: f"{path}/spectrogram/{name}.png" for name in ("reference", "resynthesis", "difference")},
    )  # fmt: skip


def _category(view: CategoryView) -> schemas.CodecCategory:
    return schemas.CodecCategory(
        category=view.category,
        overall=view.overall.summary,
        datasets=[part.result.summary for part in view.datasets],
        band=None if view.band is None else _band(view.band),
    )


def _band(band: BandView) -> schemas.BitrateBand:
    members = [schemas.BandMember(name=each.name, title=each.title, kbps=each.kbps) for each in band.members]
    return schemas.BitrateBand(
        low=band.low, high=band.high, members=members, other_datasets=band.other_datasets, source=band.source
    )


def mseb(found: NewestResults) -> schemas.CodecMseb:
    """Answer with a codec's figures of MSEB."""
    return schemas.CodecMseb(
        codec=found.card.name,
        figures=[application_answer(row) for row in applications_of(found) if is_mseb(row)],
        slices=[application_answer(row) for row in slices_of(found) if is_mseb(row)],
    )
