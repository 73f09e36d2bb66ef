"""Which submissions are run on a private dataset: the newest of each codec, once a version, by a maintainer's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, overall_metrics
from codec_superb.pipeline.runs.info import is_imported
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.server.board.repository import counted_submissions
from codec_superb.server.database.models import PrivateDataset, PrivateResult, Submission, VerificationJob
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.people.audit import record
from codec_superb.server.private_sets.overlap import FEWEST
from codec_superb.server.private_sets.registry import find_or_not_found
from codec_superb.server.verification.jobs import enqueue as enqueue_job


@dataclass(frozen=True, slots=True)
class Queued:
    """What became of one codec."""

    codec: str
    submission: str
    left_out: str = ""
    """Why it was not queued; '' where it was."""


@dataclass(frozen=True, slots=True)
class PrivateTask:
    """What a worker needs for one job."""

    submission: str
    card: Card
    dataset: PrivateDataset
    categories: Sequence[Category]
    """Those with enough clips."""


def enqueue(session: Session, name: str, codecs: Sequence[str] | None, *, actor: str) -> list[Queued]:
    """Queue the newest public submission of each of ``codecs`` (None: of all) for a run on a private dataset.

    A version that was run, is waiting or is running is left out, and one without results on the public dataset. Raises
    NotFound for a name that is none, Conflict for a retired dataset.
    """
    dataset = find_or_not_found(session, name)
    if dataset.retired is not None:
        raise Conflict(f"expected a private dataset in use, got {name}, which is retired")
    newest = counted_submissions(session)
    wanted = sorted(newest) if codecs is None else list(dict.fromkeys(codecs))
    if unknown := [codec for codec in wanted if codec not in newest]:
        raise NotFound(f"no public results of {', '.join(unknown)}; the board's API lists all codecs at /api/v1/codecs")
    made = []
    for codec in wanted:
        submission = newest[codec].submission
        left_out = _why_not(session, dataset, submission)
        if not left_out:
            enqueue_job(session, submission, "private", clips=0, private_dataset_id=dataset.id)
        made.append(Queued(codec, submission, left_out))
    chosen = [entry.codec for entry in made if not entry.left_out]
    record(session, actor, "private.enqueued", name, codecs=len(chosen))
    return made


def task_of(session: Session, job: VerificationJob) -> PrivateTask:
    """Describe a job for the worker. Raises BadRequest where it cannot be done: the text is for moderators."""
    dataset = session.get_one(PrivateDataset, job.private_dataset_id)
    submission = session.get_one(Submission, job.submission_id)
    if dataset.retired is not None:
        raise BadRequest(f"{dataset.name} was retired")
    categories = categories_of(dataset)
    keys = {key for category in categories for key in overall_metrics(category)}
    others = sorted(key for key in keys if submission.metrics.get(key, METRICS[key].version) != METRICS[key].version)
    if others:
        raise BadRequest(f"the submission follows other definitions of {', '.join(others)}: it must be sent anew")
    return PrivateTask(submission.id, Card.model_validate(submission.card), dataset, categories)


def categories_of(dataset: PrivateDataset) -> list[Category]:
    """List the categories of a private dataset that have enough clips to be shown."""
    return [category for category in CATEGORIES if dataset.counts.get(category, 0) >= FEWEST]


def _why_not(session: Session, dataset: PrivateDataset, submission: str) -> str:
    measured = select(PrivateResult.id).where(
        PrivateResult.submission_id == submission, PrivateResult.private_dataset_id == dataset.id
    )
    if session.scalars(measured.limit(1)).first() is not None:
        return "this version was run: once only"
    jobs = select(VerificationJob.state).where(
        VerificationJob.submission_id == submission,
        VerificationJob.private_dataset_id == dataset.id,
        VerificationJob.state.in_(("queued", "running")) | (VerificationJob.outcome == "measured"),
    )
    if (state := session.scalars(jobs.limit(1)).first()) is not None:
        return f"its job is {state}"
    found = session.get_one(Submission, submission)
    parts = [SubmittedDataset.model_validate(entry) for entry in found.document["datasets"]]
    if is_imported(stamp for part in parts for stamp in part.provenance):
        return "its sound was made elsewhere and imported"
    if all(part.name != dataset.compared_with for part in parts):
        return f"it has no results on {dataset.compared_with}"
    return ""
