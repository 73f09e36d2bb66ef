"""Query the public results that a submission is compared with: the newest of each other codec on its datasets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES, overall_metrics
from codec_superb.server.database.models import COUNTED, EVER_NAMED, PUBLIC, STOOD, Codec, Result, Submission
from codec_superb.server.moderation.damage import is_beside_undamaged
from codec_superb.server.moderation.score_deviation import BAND
from codec_superb.server.moderation.score_envelope import CROWD, ComparedResult

# SQLite takes 32,766 parameters in a statement by default, and took 999 before 3.32
_MOST_NAMED = 500
"""Largest number of ids in the IN clause of a statement."""
FEWEST_EQUAL, NEAR = 2, 0.005
"""Means of metrics that are no accident, and how far from a score results are looked at."""
_MOST_READ = 5_000
_ROUNDING = 1.001
"""Margin of the band in SQL; the exact comparison at its ends is done in Python."""


def neighbours_of(session: Session, submission: Submission) -> Mapping[tuple[str, str], Sequence[ComparedResult]]:
    """Load the results of the same family and those of similar bitrate, by category and dataset.

    They are clean ones, whatever the submission was made under. Results without bitrate or score are left out; a custom
    submission, and one that is compared with the damaged sound, is compared with none.
    """
    if submission.custom or (submission.condition and not is_beside_undamaged(submission)):
        return {}
    others = {entry.submission: entry for entry in _others(session, submission)}
    newest: dict[tuple[str, str, str], tuple[int, ComparedResult]] = {}
    for identity, category, dataset, kbps, score, low, high in session.execute(_near(submission, others.values())):
        other = others.get(identity)
        if other is None:
            continue
        key = (category, dataset, other.codec)
        if key not in newest or newest[key][0] < other.version:
            newest[key] = other.version, other.result(kbps, score, low, high)
    found: dict[tuple[str, str], list[ComparedResult]] = defaultdict(list)
    for (category, dataset, _), (_, neighbour) in sorted(newest.items()):
        found[category, dataset].append(neighbour)
    for row in submission.results:
        if row.dataset and row.kbps:
            near = found[row.category, row.dataset]
            near += _next_ones(session, row, row.kbps, near, others)
    return found


def _next_ones(
    session: Session, row: Result, kbps: float, near: Sequence[ComparedResult], others: Mapping[str, _Other]
) -> list[ComparedResult]:
    """Return the next codecs at higher bitrates where fewer than a crowd have similar ones, then those at lower ones.

    At an empty bitrate too somebody must be there to compare with.
    """
    known = {other.codec for other in near}
    above = [other for other in near if other.kind != "lossless" and not other.own and other.kbps >= kbps / BAND]
    senders = {other.sender for other in above}
    found: list[ComparedResult] = []
    for sign in (1, -1):
        if len(senders) >= CROWD:
            break
        for identity, rate, score, low, high in session.execute(_beside(row, kbps, sign)):
            other = others.get(identity)
            if other is not None and other.kind != "lossless" and other.codec not in known and len(senders) < CROWD:
                known.add(other.codec)
                found.append(other.result(rate, score, low, high))
                senders |= set() if other.own else {other.sender}
    return found


def _beside(row: Result, kbps: float, sign: int) -> Executable:
    """Select the results at higher (``sign`` 1) or lower (-1) bitrates, the nearest first.

    A few of each account: many of one hide nobody's.
    """
    turn = func.row_number().over(
        partition_by=(case((_COUNTS, Submission.id), else_=None), case((_COUNTS, None), else_=Submission.account_id)),
        order_by=sign * Result.kbps,
    )
    found = (
        select(Result.submission_id, Result.kbps, Result.score, Result.low, Result.high, turn.label("turn"))
        .join(Submission, Result.submission_id == Submission.id)
        .join(Codec, Submission.codec_id == Codec.id)
        .where(COUNTED, Result.dataset == row.dataset, Result.category == row.category)
        .where(Result.kbps > kbps if sign > 0 else Result.kbps.between(0, kbps), Result.kbps > 0)
        .where(Result.score.is_not(None), Result.submission_id != row.submission_id)
        .subquery()
    )
    columns = found.c.submission_id, found.c.kbps, found.c.score, found.c.low, found.c.high
    return select(*columns).where(found.c.turn <= CROWD).order_by(sign * found.c.kbps).limit(_MOST_NAMED)


class Twin(NamedTuple):
    """A codec with the same values."""

    codec: str
    kbps: float | None
    """Measured; None where it was not."""
    later: bool
    """Whether it came after the same values of this account or codec, and so is no original; nor is, unless it was
    confirmed, what is under a name that came after the account's own: whoever runs another's code would hold that."""
    confirmed: bool
    """Run again, or accepted by a moderator."""


def twins_of(session: Session, submission: Submission) -> Mapping[tuple[str, str], Sequence[Twin]]:
    """Return the codecs of other accounts with half of the score's means to the last digit, by category and dataset.

    All that ever were public under the same condition are looked at: who withdraws rows has not given them away, and
    may bring them back.
    No two codecs have one mean over clips of several metrics, unless they return the same sound. What the account, or
    the same codec in other hands, had before is no copy: such a twin is marked as later.
    """
    own = {(row.category, row.dataset): row for row in submission.results if row.dataset and row.score is not None}
    if submission.custom or not own:
        return {}
    near = [
        and_(
            Result.category == row.category, Result.dataset == row.dataset,
            Result.score.between(row.score - NEAR, row.score + NEAR),
        )
        for row in own.values() if row.score is not None
    ]  # fmt: skip
    values = (
        select(
            Result.category,
            Result.dataset,
            Result.metrics,
            Submission.received,
            Codec.name,
            Submission.codec_id,
            Result.kbps,
            (Submission.status.in_(PUBLIC) & ((Submission.status == "verified") | Submission.decided_by.is_not(None))),
        )
        .join(Submission, Result.submission_id == Submission.id)
        .join(Codec, Submission.codec_id == Codec.id)
        .where(EVER_NAMED, Submission.condition == submission.condition, or_(*near))
        .limit(_MOST_READ)
    )
    others = values.where(
        Submission.codec_id != submission.codec_id,
        # in SQL nothing is equal or unequal to NULL, which stands for an upload without an account
        Submission.account_id.is_distinct_from(submission.account_id),
    )
    before: _Had | None = None
    first: datetime | None = None
    found: dict[tuple[str, str], list[Twin]] = defaultdict(list)
    for category, dataset, metrics, received, codec, codec_id, kbps, confirmed in session.execute(
        others.order_by(Codec.name)
    ).all():
        means = _means(category, own[category, dataset].metrics)
        equal = means.items() & _means(category, metrics).items()
        if len(equal) >= FEWEST_EQUAL and 2 * len(equal) >= len(means):
            if before is None:
                before, first = _had(session, submission, values), _first_public(session, submission)
            # all of them at once: half of one's own and half of another's is a copy of the other half
            later = any(at < received and equal <= had.items() for at, had in before[category, dataset])
            if not confirmed and first is not None:
                began = _began(session, codec_id, EVER_NAMED)
                later |= began is not None and first < began
            found[category, dataset].append(Twin(codec, kbps, later, bool(confirmed)))
    return found


def _first_public(session: Session, submission: Submission) -> datetime | None:
    """Return since when the account has had public results of the codec; None for an anonymous upload."""
    if submission.account_id is None:
        return None
    return _began(session, submission.codec_id, STOOD & (Submission.account_id == submission.account_id))


def _began(session: Session, codec_id: int, which: ColumnElement[bool]) -> datetime | None:
    first = select(func.min(Submission.public_since)).where(Submission.codec_id == codec_id, which)
    found: datetime | None = session.scalar(first)
    return found


_Had = Mapping[tuple[str, str], Sequence[tuple[datetime, Mapping[str, float]]]]
"""When means were received, by category and dataset."""


def _had(session: Session, submission: Submission, values: Select[Any]) -> _Had:
    """Return when the account had which values itself, or the codec before it was given to the account.

    What a moderator holds or took back shows nothing, nor does what another account took back under the name.
    """
    public = Submission.status.in_(PUBLIC) & (Submission.codec_id == submission.codec_id)
    own = STOOD & (Submission.account_id == submission.account_id)
    # that of an anonymous upload is nobody's
    values = values.where(public if submission.account_id is None else or_(public, own))
    found: dict[tuple[str, str], list[tuple[datetime, Mapping[str, float]]]] = defaultdict(list)
    for category, dataset, metrics, received, *_ in session.execute(values.order_by(Submission.received)):
        found[category, dataset].append((received, _means(category, metrics)))
    return found


def _means(category: str, metrics: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    keys = next(overall_metrics(known) for known in CATEGORIES if known == category)
    return {key: mean for key in keys if (mean := metrics.get(key, {}).get("mean")) is not None}


class _Other(NamedTuple):
    """A public submission of another codec."""

    submission: str
    codec: str
    version: int
    family: str
    kind: str
    own: bool
    sender: str | int

    def result(self, kbps: float, score: float, low: float | None, high: float | None) -> ComparedResult:
        """Return a result of it."""
        return ComparedResult(self.codec, self.family, self.kind, kbps, score, low, high, self.own, self.sender)


_COUNTS: ColumnElement[bool] = or_(Submission.status == "verified", Submission.account_id.is_(None))
"""Whether a submission counts by itself, not as one of its account's."""


def _others(session: Session, submission: Submission) -> list[_Other]:
    statement = (
        select(
            Submission.id, Codec.name, Submission.version,
            Submission.card["family"].as_string(), Submission.card["kind"].as_string(),
            and_(Submission.account_id == submission.account_id, Submission.status == "self-reported"),
            case((_COUNTS, None), else_=Submission.account_id),
        )
        .join(Codec, Submission.codec_id == Codec.id)
        .where(COUNTED, Submission.codec_id != submission.codec_id)
    )  # fmt: skip
    return [
        _Other(identity, codec, version, family, kind, own, identity if account is None else account)
        for identity, codec, version, family, kind, own, account in session.execute(statement)
    ]


def _near(submission: Submission, others: Collection[_Other]) -> Executable:
    """Select the results on the same datasets, restricted to relevant ones, since there may be tens of thousands.

    Of a codec with several public versions all results are selected, so that the newest can be determined.
    """
    rows = [row for row in submission.results if row.dataset]
    statement = select(
        Result.submission_id, Result.category, Result.dataset, Result.kbps, Result.score, Result.low, Result.high
    ).where(Result.dataset.in_(sorted({row.dataset for row in rows})), Result.kbps > 0, Result.score.is_not(None))
    versions = Counter(other.codec for other in others)
    family = submission.card["family"]
    whole = [other.submission for other in others if other.family == family or versions[other.codec] > 1]
    rates = [row.kbps for row in rows if row.kbps]
    if len(whole) > _MOST_NAMED or not rates:
        return statement
    band = Result.kbps.between(min(rates) / BAND / _ROUNDING, max(rates) * BAND * _ROUNDING)
    return statement.where(or_(band, Result.submission_id.in_(whole)))
