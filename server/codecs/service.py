"""Puts a codec's page together from its newest public submission, its neighbours and the published tables."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.metrics.results import Operations
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.aggregates.rate import Rated
from codec_superb.pipeline.runs.info import is_imported
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.codecs import bibtex, facts, provenance, repository
from codec_superb.server.codecs.band import FACTOR, Band, axes, usual_band
from codec_superb.server.codecs.published import Published, entries_of, published_views
from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.datasets.credits import credited
from codec_superb.server.errors import NotFound
from codec_superb.server.private_sets.repository import rows_of
from codec_superb.server.storage.clip_blocks import Values, category_values
from codec_superb.server.storage.custom_results import custom_results
from codec_superb.server.submissions import repository as submissions
from codec_superb.server.submissions.applications import stored_applications, with_own_words
from codec_superb.server.submissions.conditions import categories_of, codec_result
from codec_superb.server.verification.attestations import not_compared
from codec_superb.web.figures.distribution import quantiles_of
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.site.codec.view import (
    BandNeighbour,
    BandView,
    CategoryView,
    CodecView,
    DatasetResult,
    Mark,
    SampleView,
    Spread,
    SubmissionView,
    VersionView,
)

SpreadsOf = Callable[[Category], Sequence[Spread]]

GAP = Mark(
    "gap stands out",
    "It scores less on a private dataset than codecs usually do: it may be fitted to the public one.",
    "warning",
)
_LONGEST_NAME = 200
"""Longest name in characters that is compared with all codec names to suggest similar ones."""


@dataclass(frozen=True, slots=True)
class NewestResults:
    """The newest public results of a codec."""

    submission: Submission
    card: Card
    datasets: tuple[SubmittedDataset, ...]
    not_again: tuple[tuple[str, str], ...]
    """Dataset and probe of what its badge does not cover."""

    def result(self, category: str, dataset: str = "") -> CodecResult | None:
        """Return the results of a category, over all datasets or on one; None where there are none."""
        for row in self.submission.results:
            if row.category == category and row.dataset == dataset:
                return codec_result(row, self.card, self._operations())
        return None

    @property
    def rated(self) -> dict[tuple[Category, str], Rated]:
        """Its results by category and dataset, with their rates."""
        places = {str(each): each for each in CATEGORIES}
        return {(places[row.category], row.dataset): row for row in self.submission.results}

    def _operations(self) -> dict[str, Operations]:
        return {entry.name: entry.operations for entry in self.datasets if entry.operations}

    def parts(self, category: str) -> list[CodecResult]:
        """Return the results on each dataset of a category, in the order of the submission."""
        found = (self.result(category, dataset.name) for dataset in self.datasets)
        return [part for part in found if part is not None]

    def title(self, dataset: str) -> str:
        """Name of a dataset for people."""
        return next((entry.title for entry in self.datasets if entry.name == dataset), dataset)


def newest_results(session: Session, name: str) -> NewestResults | None:
    """Find the newest public results of a codec; None for a codec without."""
    # PostgreSQL takes no zero character, and no name has one.
    found = repository.newest(session, name) if len(name) <= _LONGEST_NAME and "\0" not in name else None
    if found is None:
        return None
    document = credited(session, found.document)
    datasets = tuple(SubmittedDataset.model_validate(entry) for entry in document["datasets"])
    verified = {found.id: document["datasets"]} if found.status == "verified" else {}
    not_again = not_run_again(session, verified).get(found.id, [])
    return NewestResults(found, Card.model_validate(found.card), datasets, tuple(not_again))


def newest_results_or_not_found(session: Session, snapshot: Snapshot, name: str) -> NewestResults:
    """Find the newest public results of a codec. Raises NotFound with near matches."""
    found = newest_results(session, name)
    if found is None:
        raise unknown_codec(name, known_names(snapshot))
    return found


def known_names(snapshot: Snapshot) -> list[str]:
    """List the names of all codecs with public results."""
    return [entry.codec for entry in snapshot.runs]


def unknown_codec(name: str, known: Iterable[str]) -> NotFound:
    """Make the error for an unknown codec, with similar names."""
    names = sorted(known)
    if len(name) > _LONGEST_NAME:
        return NotFound(f"no codec has a name of {len(name)} letters; /api/v1/codecs lists all")
    by_lower = {each.lower(): each for each in names}
    near = [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, n=5, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else "/api/v1/codecs lists those that there are"
    return NotFound(
        f"no codec {name!r} has public results on datasets of the benchmark; {hint}; those on others are at /custom"
    )


def category_of(found: NewestResults, category: Category) -> CodecResult:
    """Return the results of a category over all datasets. Raises NotFound, naming the categories that exist."""
    result = found.result(category)
    if result is None:
        have = ", ".join(each for each in CATEGORIES if found.result(each) is not None)
        raise NotFound(f"{found.card.name} has results in {have or 'no category'}, not in {category}")
    return result


def band(snapshot: Snapshot, found: NewestResults, own: CodecResult) -> Band | None:
    """Find the codecs of about the same bitrate on the same datasets; None where the bitrate is not known."""
    states = {dataset.name: dataset.manifest_hash for dataset in found.datasets}
    return usual_band(own, states, found.submission.metrics, snapshot)


def values_of(session: Session, found: NewestResults, category: str, dataset: str) -> Mapping[str, Values]:
    """Read the values of single clips of one dataset."""
    block = repository.clip_block(session, found.submission.id, dataset)
    return {} if block is None else category_values(block, category)


def spreads(session: Session, found: NewestResults, category: str) -> list[Spread]:
    """Quantiles of each metric on each dataset, metric by metric in the order of the table."""
    by_dataset = {part.summary.datasets[0]: values_of(session, found, category, part.summary.datasets[0])
                  for part in found.parts(category)}  # fmt: skip
    made = []
    for key in METRICS:
        for dataset, values in by_dataset.items():
            summary = quantiles_of(values[key].tolist()) if key in values else None
            if summary is not None:
                made.append(Spread(dataset, key, summary))
    return made


def slices_of(found: NewestResults) -> list[ApplicationRow]:
    """Return the application metrics on the clips of one recording condition."""
    document = found.submission.document
    rows = stored_applications(found.card.name, document.get("slices"), document["datasets"], found.rated)
    return with_own_words(rows, found.not_again, found.submission.sender)


def applications_of(found: NewestResults) -> list[ApplicationRow]:
    """Return the application metrics on all clips of each dataset."""
    document = found.submission.document
    rows = stored_applications(found.card.name, document.get("applications"), document["datasets"], found.rated)
    return with_own_words(rows, found.not_again, found.submission.sender)


def published_entries(name: str, found: NewestResults | None) -> list[Published]:
    """Find the published tables that hold this configuration; of a measured codec, those of its own family."""
    return entries_of(name, None if found is None else found.card.family)


def view_of(
    session: Session,
    snapshot: Snapshot,
    found: NewestResults,
    published: Sequence[Published],
    *,
    base_url: str,
    today: date,
    spreads_of: SpreadsOf,
    samples: Sequence[SampleView],
) -> CodecView:
    """Make the view of a codec with public results; ``spreads_of`` gives the quantiles of a category, kept or made."""
    submission, card = found.submission, found.card
    private = rows_of(session, card.name)
    conditioned = [each.id for each in submissions.under_conditions(session, card.name)]
    versions, newest = submissions.decided_versions(session, card.name)
    citations = [bibtex.codec_citation(card), bibtex.result_citation(submission, card.title, base_url, today)]
    return CodecView(
        name=card.name,
        title=card.title,
        family=card.family,
        summary=facts.summary(card),
        marks=_marks(submission, card, imported=is_imported(stamp for of in found.datasets for stamp in of.provenance))
        + ([GAP] if any(row.stands_out for row in private) else []) + _gaps_of(not_compared(session, submission)),
        submission=SubmissionView(
            submission.id, submission.version, submission.status, submission.received.date().isoformat(),
            submission.sender, submission.complete,
        ),
        card=facts.card_facts(card),
        card_by=facts.said_by(card, submission.sender),
        categories=[view for each in CATEGORIES if (view := _category(snapshot, found, each, spreads_of)) is not None],
        private=private,
        conditions=categories_of(session, submissions.whole(session, conditioned), [submission]),
        custom=custom_results(submission.document),
        applications=applications_of(found),
        slices=slices_of(found),
        published=published_views(published),
        samples=samples,
        machines=provenance.machines(found.datasets),
        parameters=facts.parameters(card),
        stages=provenance.stages(submission, found.datasets),
        history=_history(newest),
        versions=versions,
        citations=citations + bibtex.dataset_citations(found.datasets),
        relatives=_relatives(snapshot, card),
    )  # fmt: skip


def _marks(submission: Submission, card: Card, *, imported: bool) -> list[Mark]:
    marks = {
        "verified": Mark(
            "verified",
            "The maintainers ran it again and found the same, but for times, counted operations and machine, which are "
            "its submitter's.",
            "good",
        ),
        "self-reported": Mark(
            f"self-reported by {submission.sender}",
            "Its numbers were recomputed from its clip rows; not run again here.",
        ),
    }
    found = [marks[submission.status]]
    if not submission.complete:
        found.append(Mark("partial", "Clips failed, or datasets were cut short: see the results.", "warning"))
    if imported:
        found.append(Mark("imported", "Resynthesised elsewhere: this program measured the sound, and did not make it."))
    if card.kind == "lossless":
        found.append(Mark("ceiling", "Lossless: the best that can be reached; not part of a Pareto front."))
    return found


def _gaps_of(probes: Sequence[str]) -> list[Mark]:
    words = f"Not run again, or not to the last byte, were {', '.join(probes)}: they are the submitter's."
    return [Mark("partly run again", words, "warning")] if probes else []


def _category(
    snapshot: Snapshot, found: NewestResults, category: Category, spreads_of: SpreadsOf
) -> CategoryView | None:
    overall = found.result(category)
    if overall is None:
        return None
    near = band(snapshot, found, overall)
    return CategoryView(
        category=category,
        overall=overall,
        datasets=[DatasetResult(part.summary.datasets[0], found.title(part.summary.datasets[0]), part)
                  for part in found.parts(category)],
        axes=axes(overall, near.members if near else ()),
        band=None if near is None else _band_view(near),
        spreads=spreads_of(category),
    )  # fmt: skip


def _band_view(near: Band) -> BandView:
    members = [BandNeighbour(row.codec, row.title, row.kbps, row.source) for row in near.members]
    return BandView(near.low, near.high, FACTOR, members, near.other_datasets, near.source)


def _history(versions: Sequence[Submission]) -> list[VersionView]:
    public = [each for each in versions if each.status != "withdrawn"]
    kinds = dict.fromkeys((each.custom, each.condition) for each in public)
    chains = ([each for each in public if (each.custom, each.condition) == kind] for kind in kinds)
    before = {later.id: earlier.id for chain in chains for later, earlier in pairwise(chain)}
    return [
        VersionView(
            each.id, each.version, each.received.date().isoformat(), each.status,
            # who sent what was taken back is not public any more
            *((each.sender, each.submitter) if each.status in PUBLIC else ("", "")),
            each.told_reason,
            each.decided.date().isoformat() if each.decided else "", before.get(each.id), each.custom, each.condition,
        )
        for each in versions
    ]  # fmt: skip


def _relatives(snapshot: Snapshot, card: Card) -> list[BandNeighbour]:
    members = [entry for entry in snapshot.runs if entry.family == card.family and entry.codec != card.name]
    found = [BandNeighbour(entry.codec, entry.title, entry.nominal_kbps, entry.source_label) for entry in members]
    return sorted(found, key=lambda each: (each.kbps is None, each.kbps or 0.0, each.name))
