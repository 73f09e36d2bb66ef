"""The public results that a submission is compared with: the newest of each other codec, on the same datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import PUBLIC, Codec, Result, Submission


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One other codec on one dataset in one category."""

    codec: str
    family: str
    kind: str
    kbps: float
    score: float
    low: float | None
    high: float | None


def neighbours_of(session: Session, submission: Submission) -> Mapping[tuple[str, str], Sequence[Neighbour]]:
    """Load them by category and dataset; rows without bitrate or score are left out."""
    datasets = sorted({row.dataset for row in submission.results if row.dataset})
    statement = (
        select(
            Codec.name, Submission.version, Submission.card["family"].as_string(), Submission.card["kind"].as_string(),
            Result.category, Result.dataset, Result.kbps, Result.score, Result.low, Result.high,
        )
        .join(Submission, Result.submission_id == Submission.id)
        .join(Codec, Submission.codec_id == Codec.id)
        .where(
            Submission.status.in_(PUBLIC), Submission.codec_id != submission.codec_id, Result.dataset.in_(datasets),
            Result.kbps > 0, Result.score.is_not(None),
        )
        .order_by(Codec.name, Submission.version)
    )  # fmt: skip
    newest: dict[tuple[str, str, str], Neighbour] = {}
    for name, _, family, kind, category, dataset, kbps, score, low, high in session.execute(statement):
        newest[category, dataset, name] = Neighbour(name, family, kind, kbps, score, low, high)
    found: dict[tuple[str, str], list[Neighbour]] = defaultdict(list)
    for (category, dataset, _), neighbour in newest.items():
        found[category, dataset].append(neighbour)
    return found
