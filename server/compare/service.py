"""Compares codecs by name: finds their submissions, computes missing pairs and assembles the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.comparison.results import Results
from codec_superb.server.codecs.facts import card_facts
from codec_superb.server.compare.listening import shared_samples
from codec_superb.server.compare.pairs import compare_pair
from codec_superb.server.compare.rates import compare_rates
from codec_superb.server.compare.repository import (
    category_results,
    newest_public,
    public_names,
    results_with_rows,
    revision,
)
from codec_superb.server.database.models import Submission
from codec_superb.server.database.results import to_summary
from codec_superb.server.errors import BadRequest, NotFound, ServerError
from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.server.submissions.applications import marked_applications
from codec_superb.web.report.applications import group_application_rows
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.compare.view import (
    FEWEST,
    MOST,
    CodecPair,
    ComparedApplication,
    ComparedCodec,
    ComparedFigure,
    Comparison,
    LeftOutItem,
)


def cleaned_names(names: Sequence[str], most: int | None = MOST) -> list[str]:
    """Clean a list of names: blanks and repetitions go, the order stays. Raises BadRequest for more than ``most``."""
    chosen = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if most is not None and len(chosen) > most:
        raise BadRequest(f"expected {FEWEST} to {most} codecs, got {len(chosen)}; leave out {len(chosen) - most}")
    return chosen


def find_submissions(session: Session, names: Sequence[str]) -> list[Submission]:
    """Find the submissions that stand for the codecs, in their order. Raises NotFound with near matches."""
    # PostgreSQL raises on a zero character in a query parameter, which no name contains.
    found = newest_public(session, [name for name in names if name.isprintable()])
    missing = [name for name in names if name not in found]
    if missing:
        raise _not_found(missing, public_names(session))
    return [found[name] for name in names]


def _not_found(missing: Sequence[str], known: Sequence[str]) -> ServerError:
    problems = []
    for name in missing:
        near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "see the leaderboard for those that there are"
        problems.append({
            "path": "codec", "expected": "a codec with public results", "got": name[:200], "how_to_fix": hint,
        })  # fmt: skip
    first = problems[0]
    return NotFound(
        f"no public results of the codec {first['got']!r}; {first['how_to_fix']} Figures of papers come without clips "
        "and cannot be compared clip by clip.",
        problems=problems,
    )


def compare(session: Session, names: Sequence[str], kept: SingleFlightCache) -> Comparison:
    """Compare 2 to 6 codecs, the first being the baseline.

    Raises BadRequest for another number of codecs, NotFound for an unknown one.
    """
    chosen = cleaned_names(names)
    if len(chosen) < FEWEST:
        raise BadRequest(f"expected {FEWEST} to {MOST} codecs, got {len(chosen)}; name them with codec=…&codec=…")
    submissions = find_submissions(session, chosen)
    baseline, *others = (_Side(session, submission) for submission in submissions)
    families = tuple(sorted({str(submission.card["family"]) for submission in submissions}))
    pairs = [
        kept.get(("pair", side.submission.id, baseline.submission.id), partial(_pair, side, baseline))
        for side in others
    ]  # fmt: skip
    rates_key = ("rates", revision(session), families)
    rates, notes = kept.get(rates_key, partial(compare_rates, session, families)) if len(families) > 1 else ([], [])
    applications, alone = compare_applications(session, submissions)
    return Comparison(
        codecs=_described(session, submissions),
        pairs=pairs,
        rates=rates,
        rates_left_out=notes,
        listening_clips=len(shared_samples(session, submissions)),
        applications=applications,
        applications_left_out=alone,
    )


@dataclass
class _Side:
    """A codec whose rows are read on first use."""

    session: Session
    submission: Submission

    @cached_property
    def results(self) -> Results:
        """Read all rows, once."""
        return results_with_rows(self.session, self.submission)


def _pair(codec: _Side, baseline: _Side) -> CodecPair:
    pair = compare_pair(codec.results, baseline.results)
    del codec.results  # 30 MB for 5,000 clips; the baseline's are needed for the next pair
    return pair


def _described(session: Session, submissions: Sequence[Submission]) -> list[ComparedCodec]:
    found = category_results(session, [submission.id for submission in submissions])
    return [
        ComparedCodec(
            name=submission.codec.name,
            title=str(submission.card["title"]),
            family=str(submission.card["family"]),
            submission=submission.id,
            version=submission.version,
            status=submission.status,
            submitter=submission.sender,
            results=[to_summary(row) for row in found[submission.id]],
            facts=card_facts(Card.model_validate(submission.card)),
        )
        for submission in submissions
    ]


def compare_applications(
    session: Session, submissions: Sequence[Submission]
) -> tuple[list[ComparedApplication], list[LeftOutItem]]:
    """Put the figures of codecs side by side, in their order; and list those that only one codec has.

    A dataset in another state is another dataset.
    """
    rows = [row for submission in submissions for row in _rows(session, submission)]
    order = {submission.codec.name: place for place, submission in enumerate(submissions)}
    compared, left_out = [], []
    for group in group_application_rows(rows):
        members = sorted(group.rows, key=lambda row: order[row.codec])
        name = group.dataset.rpartition("@")[0]
        if len(members) < FEWEST:
            where = f" on {name}" if name else ""
            reason = f"of {members[0].codec} alone: {group.model.name} answered for no other{where}"
            left_out.append(LeftOutItem(group.quantity.label, reason))
            continue
        figures = [ComparedFigure(row.codec, row.numbers, row.run_again is not False) for row in members]
        compared.append(ComparedApplication(group.quantity.key, name, group.model.backend, group.model.sha256, figures))
    return compared, left_out


def _rows(session: Session, submission: Submission) -> list[ApplicationRow]:
    """Read the figures of a codec; beside the name of a dataset stands its state, for the time of sorting."""
    columns = Submission.document["applications"], Submission.document["datasets"]
    applications, datasets = session.execute(select(*columns).where(Submission.id == submission.id)).one()
    states = {str(dataset["name"]): str(dataset["manifest_hash"]) for dataset in datasets}
    rows = marked_applications(session, submission, applications, datasets)
    return [_with_state(row, states) if row.numbers.dataset else row for row in rows]


def _with_state(row: ApplicationRow, states: Mapping[str, str]) -> ApplicationRow:
    dataset = row.numbers.dataset
    return replace(row, numbers=row.numbers.model_copy(update={"dataset": f"{dataset}@{states[dataset]}"}))
