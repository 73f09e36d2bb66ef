"""What is public of private datasets, read from the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.results import Score
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.comparison.unpaired import FEWEST_OTHERS, stands_out
from codec_superb.server.board.repository import counted_submissions
from codec_superb.server.database.models import SHOWN, Account, Codec, PrivateDataset, PrivateResult, Result, Submission
from codec_superb.server.people.access import ANONYMOUS
from codec_superb.server.private_sets.overlap import FEWEST
from codec_superb.web.site.private_sets import PrivateRow, PrivateSetView


@dataclass(frozen=True, slots=True)
class _Found:
    """One stored result with what belongs to it."""

    result: PrivateResult
    dataset: PrivateDataset
    codec: str
    title: str
    family: str
    version: int
    status: str
    account: str | None
    public: Score
    current: bool
    """Whether the version stands for the codec on the board."""

    @property
    def gap(self) -> Score:
        return Score(value=self.result.gap, low=self.result.gap_low, high=self.result.gap_high)

    @property
    def place(self) -> tuple[int, str]:
        """Private dataset and category."""
        return self.result.private_dataset_id, self.result.category


def set_views(session: Session) -> list[PrivateSetView]:
    """Describe all private datasets: those in use first, then the newest."""
    rows: dict[str, list[PrivateRow]] = defaultdict(list)
    for row in all_rows(session):
        rows[row.dataset].append(row)
    found = session.scalars(select(PrivateDataset).order_by(PrivateDataset.added.desc(), PrivateDataset.id.desc()))
    in_use_first = sorted(found, key=lambda dataset: dataset.retired is not None)
    return [_view(dataset, rows[dataset.name]) for dataset in in_use_first]


def all_rows(session: Session) -> list[PrivateRow]:
    """List the newest result of each codec of the board, by category, the largest gap first."""
    found = _stored(session)
    gaps = _gaps_of_families(found)
    rows = [_row(each, gaps[each.place]) for each in found]
    return sorted(rows, key=lambda row: (CATEGORIES.index(row.category), *_largest_first(row.gap.value), row.codec))


def _largest_first(gap: float | None) -> tuple[bool, float]:
    """Sort key of gaps: zero is one, and what has none comes last."""
    return gap is None, -(gap or 0.0)


def rows_of(session: Session, codec: str) -> list[PrivateRow]:
    """List the newest results of one codec."""
    has_some = (
        select(PrivateResult.id)
        .join(Submission, Submission.id == PrivateResult.submission_id)
        .join(Codec, Codec.id == Submission.codec_id)
        .where(Codec.name == codec)
    )
    if session.scalars(has_some.limit(1)).first() is None:  # of most codecs: the others need those of all
        return []
    return [row for row in all_rows(session) if row.codec == codec]


def _stored(session: Session) -> list[_Found]:
    statement = (
        select(
            PrivateResult, PrivateDataset, Codec.name,
            Submission.card["title"].as_string().label("title"), Submission.card["family"].as_string().label("family"),
            Submission.version, Submission.status, Account.name.label("account"),
            Result.score, Result.low, Result.high,
        )
        .join(PrivateDataset, PrivateDataset.id == PrivateResult.private_dataset_id)
        .join(Submission, Submission.id == PrivateResult.submission_id)
        .join(Codec, Codec.id == Submission.codec_id)
        .outerjoin(Account, Account.id == Submission.account_id)
        .outerjoin(
            Result,
            (Result.submission_id == Submission.id)
            & (Result.category == PrivateResult.category)
            & (Result.dataset == PrivateDataset.compared_with),
        )
        .where(SHOWN, Submission.custom.is_(False), Submission.condition == "")
    )  # fmt: skip
    stored = session.execute(statement).all()
    standing = {codec: of.submission for codec, of in counted_submissions(session).items()} if stored else {}
    return _newest(
        _Found(
            row.PrivateResult, row.PrivateDataset, row.name, row.title, row.family,
            row.version, row.status, row.account,
            Score(value=row.score, low=row.low, high=row.high), standing[row.name] == row.PrivateResult.submission_id,
        )
        for row in stored
        if row.name in standing and row.PrivateResult.summary["clips"] >= FEWEST
    )  # fmt: skip


def _newest(found: Iterable[_Found]) -> list[_Found]:
    """Keep the version that stands for a codec, or else the last that was run: sending another erases nothing."""
    last: dict[tuple[int, str, str], _Found] = {}
    for each in sorted(found, key=lambda each: (each.current, each.version)):
        last[*each.place, each.codec] = each
    return list(last.values())


def _gaps_of_families(found: Sequence[_Found]) -> Mapping[tuple[int, str], Mapping[str, float]]:
    """Return the median gap of each family, by dataset and category, over verified rows: others anybody can write.

    Many variants of one codec count once.
    """
    gaps: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        if each.result.gap is not None and each.status == "verified":
            gaps[each.place][each.family].append(each.result.gap)
    families = {place: {name: median(own) for name, own in by.items()} for place, by in gaps.items()}
    return defaultdict(dict, families)


def _row(found: _Found, gaps: Mapping[str, float]) -> PrivateRow:
    others = [gap for family, gap in gaps.items() if family != found.family]
    summary = found.result.summary
    return PrivateRow(
        dataset=found.dataset.name,
        codec=found.codec,
        title=found.title,
        version=found.version,
        current=found.current,
        source=found.status,
        submitter=found.account or ANONYMOUS,
        category=_category(found.result.category),
        clips=summary["clips"],
        compared_with=found.dataset.compared_with,
        public=found.public,
        private=Score(value=summary["score"], low=summary["low"], high=summary["high"]),
        gap=found.gap,
        complete=found.result.gap is not None,
        typical=median(others) if len(others) >= FEWEST_OTHERS else None,
        stands_out=stands_out(found.gap, others),
    )


def _view(dataset: PrivateDataset, rows: Sequence[PrivateRow]) -> PrivateSetView:
    categories = [category for category in CATEGORIES if dataset.counts.get(category)]
    opened = dataset.opened is not None
    return PrivateSetView(
        name=dataset.name,
        counts={category: dataset.counts[category] for category in categories},
        seconds={category: dataset.seconds[category] for category in categories if category in dataset.seconds},
        compared_with=dataset.compared_with,
        commitment=dataset.commitment,
        added=dataset.added.date().isoformat(),
        rotates=dataset.rotates.date().isoformat() if dataset.rotates else "",
        retired=dataset.retired.date().isoformat() if dataset.retired else "",
        salt=dataset.salt if opened else "",
        manifest_hash=dataset.manifest_hash if opened else "",
        rows=rows,
    )


def _category(name: str) -> Category:
    return next(category for category in CATEGORIES if category == name)
