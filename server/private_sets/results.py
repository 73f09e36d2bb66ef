"""Stores what a private run gave, reduced to what visitors may see: rows of clips come in, and go no further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.results import NO_SCORE, Score
from codec_superb.metrics.table import overall_metrics
from codec_superb.pipeline.comparison.unpaired import UnpairedScores, unpaired_scores
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.database.models import ClipBlock, PrivateDataset, PrivateResult, Result
from codec_superb.server.database.session import bump_revision
from codec_superb.server.people.audit import record
from codec_superb.server.private_sets.overlap import FEWEST
from codec_superb.server.private_sets.queue import categories_of
from codec_superb.server.storage.clip_blocks import block_rows

DIGITS = 3
"""Decimals that are kept: a score of 20 clips moves by more with one of them, unless it is like the others."""
FEWEST_SOURCES = 5
"""Speakers or recordings without which no interval is kept: from a score and its interval over two of ten clips each
follows the score of either, within 0.0011 in 20 drawn sets."""
WORKER = "verify worker"
"""Actor in the audit log."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What is kept of a private run."""

    submission: str
    dataset: str
    """Name of the private dataset."""
    results: Sequence[PrivateResult]
    words: str
    """What moderators are told: counts alone."""


def reduced(session: Session, submission: str, dataset: PrivateDataset, rows: Sequence[ClipRow]) -> Reduced:
    """Reduce the rows of a private run to a score and a gap a category, rounded; nothing is stored yet.

    Of a category with fewer than :data:`~codec_superb.server.private_sets.overlap.FEWEST` clips, or with fewer behind
    a metric of its score, nothing is kept. There is no gap where clips of either side failed, and no interval of clips
    of fewer than :data:`FEWEST_SOURCES` speakers or recordings.
    """
    public = _public_rows(session, submission, dataset.compared_with)
    results, told = [], []
    for category in categories_of(dataset):
        private = [row for row in rows if row.category == category]
        beside = [row for row in public if row.category == category]
        found = unpaired_scores(beside, private)
        if found.fewest < FEWEST:
            told.append(f"{category}: nothing kept, fewer than {FEWEST} clips behind a metric")
            continue
        complete = all(_whole(row) for row in private)
        comparable = bool(beside) and complete and _public_is_complete(session, submission, dataset, category)
        few = len({row.cluster or row.clip for row in private if row.status == "ok"}) < FEWEST_SOURCES
        own = _rounded(found.second, bare=few)
        gap = _rounded(_between(found, own) if comparable else NO_SCORE, bare=few)
        kept = {"clips": len(private), "complete": complete, "score": own.value, "low": own.low, "high": own.high}
        results.append(
            PrivateResult(
                submission_id=submission, private_dataset_id=dataset.id, category=category, summary=kept,
                gap=gap.value, gap_low=gap.low, gap_high=gap.high,
            )
        )  # fmt: skip
        told.append(
            f"{category}: {len(private)} clips"
            + ("" if comparable else ", no gap: a side is incomplete")
            + (f", no interval: fewer than {FEWEST_SOURCES} speakers or recordings" if few else "")
        )
    return Reduced(submission, dataset.name, results, "; ".join(told))


def store(session: Session, found: Reduced) -> None:
    """Store what is kept, in the transaction that ends the job."""
    session.add_all(found.results)
    record(session, WORKER, "private.measured", found.submission, dataset=found.dataset)
    session.flush()
    bump_revision(session)


def _public_rows(session: Session, submission: str, dataset: str) -> list[ClipRow]:
    block = session.scalars(
        select(ClipBlock.data).where(ClipBlock.submission_id == submission, ClipBlock.dataset == dataset)
    ).one_or_none()
    return [] if block is None else block_rows(block, dataset)


def _public_is_complete(session: Session, submission: str, dataset: PrivateDataset, category: str) -> bool:
    wanted = select(Result.complete).where(
        Result.submission_id == submission, Result.dataset == dataset.compared_with, Result.category == category
    )
    return bool(session.scalars(wanted).one_or_none())


def _whole(row: ClipRow) -> bool:
    """Whether the clip has a resynthesis and no metric of its score failed on it."""
    values = (row.metrics.get(key) for key in overall_metrics(row.category))
    return row.status == "ok" and all(entry is not None and entry.status != "failed" for entry in values)


def _between(found: UnpairedScores, own: Score) -> Score:
    """Return the difference between the scores as they are shown, with its interval moved along.

    Rounded by itself it would tell further digits: the public score is known to all of them, and its sender may change
    them with each version.
    """
    gap, public = found.difference, found.first.value
    if gap.value is None or public is None or own.value is None:
        return NO_SCORE
    moved = round(public, DIGITS) - own.value - gap.value
    return Score(**{name: None if end is None else end + moved for name, end in gap.model_dump().items()})


def _rounded(score: Score, *, bare: bool) -> Score:
    """Round a score; a ``bare`` one is left without its interval."""
    values = (score.value, None, None) if bare else (score.value, score.low, score.high)
    value, low, high = (None if each is None else round(each, DIGITS) for each in values)
    return Score(value=value, low=low, high=high)
