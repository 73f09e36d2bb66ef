"""Reads what the board shows from the database: which submissions count, and their figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import NOT_STATED
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.server.board.entries import BoardEntry, CodecFigures, has_open_weights, pack_estimate
from codec_superb.server.database.models import (
    COUNTED,
    STANDING,
    Account,
    BoardChange,
    Codec,
    Result,
    Revision,
    Submission,
)
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.people.access import ANONYMOUS
from codec_superb.server.storage.custom_tasks import FIELD, custom_tasks
from codec_superb.server.submissions.applications import by_dataset, stored_applications, with_own_words
from codec_superb.server.submissions.operations import stored_operations
from codec_superb.web.rows import CardFacts, source_label

_AT_ONCE = 10
"""Submissions of one query: what is read of a document has up to megabytes. 2,000 take as long by 10 as by 1,000."""

MOST_REPORTED = 5
"""Accounts whose word is shown beside that of the first, where that lacks a dataset or figures: a name has few."""


class Counted(NamedTuple):
    """A submission that counts, and all of it that can change."""

    submission: str
    status: str
    run_again: tuple[str, ...] = ()
    """Verified ones, the one that stands last: of each account the newest; under a name of an account the newest."""
    reported: tuple[str, ...] = ()
    """Under a name that nobody owns the self-reported ones behind it of other accounts, the first one first: of each
    account what stands for it and was not replaced by what was run again; at most :data:`MOST_REPORTED`."""

    @property
    def confirmed(self) -> str | None:
        """The verified one that stands; None where that is the submission itself, or there is none."""
        return None if self.status == "verified" or not self.run_again else self.run_again[-1]

    @property
    def behind(self) -> Sequence[str]:
        """The other verified ones, the best first."""
        return self.run_again[-2::-1]


def revision_number(session: Session) -> int:
    """Read the number that is counted up whenever the public data change."""
    return session.scalars(select(Revision.number)).one()


def counted_submissions(session: Session) -> dict[str, Counted]:
    """Find the public submission that stands for each codec on datasets of the benchmark, by codec name."""
    statement = (
        select(
            Codec.name,
            Submission.id,
            Submission.status,
            Submission.version,
            Submission.account_id,
            Codec.owner_id.is_(None),
        )
        .join(Codec, Submission.codec_id == Codec.id)
        .where(COUNTED)
        .order_by(Submission.codec_id, *STANDING)
    )
    return counted_by_codec(session.execute(statement))


def counted_by_codec(rows: Iterable[tuple[str, str, str, int, int | None, bool]]) -> dict[str, Counted]:
    """Choose from codec, submission, status, version, account and whether the name is nobody's, by standing."""
    # the last one of a codec stays in the dict
    found: dict[str, Counted] = {}
    run_again: dict[str, dict[int | str, str]] = {}
    versions: dict[tuple[str, int | str], int] = {}
    reported: dict[str, dict[int | str, tuple[str, int]]] = {}
    for codec, identity, status, version, account, nobodys in rows:
        its = run_again.setdefault(codec, {})
        whose = account or identity if nobodys else 0
        if status == "verified":
            its.pop(whose, None)  # the last one is the last of the dict
            its[whose] = identity
            versions[codec, whose] = max(version, versions.get((codec, whose), 0))
        elif nobodys:
            those = reported.setdefault(codec, {})
            those.pop(whose, None)
            those[whose] = identity, version
        found[codec] = Counted(identity, status, tuple(its.values()))
    for codec, those in reported.items():
        left = [
            identity
            for whose, (identity, version) in reversed(those.items())
            if identity != found[codec].submission and version > versions.get((codec, whose), 0)
        ]
        found[codec] = found[codec]._replace(reported=tuple(left[:MOST_REPORTED]))
    return found


def changed_since(session: Session, revision: int) -> set[str]:
    """Return the submissions of which a change was written down after a revision."""
    return set(session.scalars(select(BoardChange.submission_id).where(BoardChange.revision > revision)))


def load_entries(session: Session, submissions: Sequence[str]) -> Iterator[BoardEntry]:
    """Load submissions with all their figures, a few at a time."""
    for start in range(0, len(submissions), _AT_ONCE):
        wanted = submissions[start : start + _AT_ONCE]
        heads = session.execute(_heads().where(Submission.id.in_(wanted))).all()
        results: dict[str, list[Row[Any]]] = defaultdict(list)
        for row in session.execute(_results().where(Result.submission_id.in_(wanted))):
            results[row.submission_id].append(row)
        verified = {head.id: head.datasets or () for head in heads if head.status == "verified" and head.applications}
        own_word = not_run_again(session, verified)
        for head in heads:
            entry = _entry(head, results[head.id])
            yield _marked(entry, own_word[head.id]) if own_word.get(head.id) else entry


def _heads() -> Any:
    return (
        select(
            Submission.id,
            Codec.name.label("codec"),
            Submission.version,
            Submission.status,
            Submission.received,
            Submission.submitter,
            Account.name.label("account"),
            Account.created.label("since"),
            Submission.card,
            Submission.metrics,
            Submission.document["datasets"].label("datasets"),
            Submission.document["applications"].label("applications"),
            Submission.document[FIELD].label("custom_tasks"),
        )
        .join(Codec, Submission.codec_id == Codec.id)
        .outerjoin(Account, Submission.account_id == Account.id)
    )


def _results() -> Any:
    return select(*(column for column in Result.__table__.columns if column.name != "id"))


def _entry(head: Row[Any], results: Sequence[Row[Any]]) -> BoardEntry:
    card: Mapping[str, Any] = head.card
    states = {str(part["name"]): str(part["manifest_hash"]) for part in head.datasets or ()}
    codebooks, claimed = card.get("codebooks") is not None, _claimed_tokens(card)
    figures: dict[tuple[Category, str], CodecFigures] = {}
    for row in results:
        category = next(category for category in CATEGORIES if category == row.category)
        counted = claimed if row.tokens_per_second is None else row.tokens_per_second
        figures[category, row.dataset] = _figures(row, states, counted if codebooks else None)
    return BoardEntry(
        codec=head.codec,
        title=card["title"],
        family=card["family"],
        source=head.status,
        source_label=source_label(head.status, head.account or ANONYMOUS),
        source_url=None,
        submission=head.id,
        version=head.version,
        received=head.received.date().isoformat(),
        submitter=head.account or ANONYMOUS,
        since=head.since.isoformat() if head.since else "",
        submitter_in_file=head.submitter,
        kind=card["kind"],
        sampling_rate=card["sampling_rate"],
        nominal_kbps=card["nominal_kbps"],
        bit_source=card.get("bit_source", "measured"),
        open_weights=has_open_weights(card),
        causal=card["causal"],
        figures=figures,
        definitions=head.metrics,
        applications=by_dataset(stored_applications(head.codec, head.applications, head.datasets, figures)),
        operations=stored_operations(head.datasets or ()),
        card=_card_facts(card),
        custom_tasks=tuple(custom_tasks({FIELD: head.custom_tasks or ()})),
    )


def _marked(entry: BoardEntry, own_word: Collection[tuple[str, str]]) -> BoardEntry:
    """Mark the figures that nobody ran again, and keep what the badge covers apart."""
    marked = {
        dataset: dict(zip(rows, with_own_words([*rows.values()], own_word, entry.submitter), strict=True))
        for dataset, rows in entry.applications.items()
    }
    proved = {of: {key: row for key, row in rows.items() if row.run_again} for of, rows in marked.items()}
    return replace(entry, applications=marked, verified_part=replace(entry, applications=proved))


def _card_facts(card: Mapping[str, Any]) -> CardFacts:
    stated: dict[str, Any] = {
        name: card.get(name) for name in CardFacts._fields if card.get(name) not in (None, NOT_STATED)
    }
    return CardFacts(**stated)


def _claimed_tokens(card: Mapping[str, Any]) -> float | None:
    """Tokens per second as the card's frame rate and codebooks give them."""
    rate, codebooks = card.get("frame_rate"), card.get("codebooks")
    return None if rate is None or codebooks is None else rate * codebooks


def _figures(row: Row[Any], states: Mapping[str, str], tokens: float | None) -> CodecFigures:
    datasets = tuple(row.datasets)
    return CodecFigures(
        datasets=datasets,
        states=tuple(states.get(name, "") for name in datasets),
        complete=row.complete,
        clips=row.clips,
        ok=row.ok,
        failed=row.failed,
        seconds=row.seconds,
        kbps=row.kbps,
        tokens_per_second=tokens,
        compression_ratio=row.compression_ratio,
        encode_rtf=row.encode_rtf,
        decode_rtf=row.decode_rtf,
        largest_lag=row.largest_lag,
        clipped_samples=row.clipped_samples,
        score=(row.score, row.low, row.high),
        metrics={key: pack_estimate(values) for key, values in row.metrics.items()},
    )
