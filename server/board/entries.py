"""A codec on the board with all its figures in compact form, and how it becomes a row of the board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple

from codec_superb.metrics.results import BitSource, Estimate, Operations, ResultSummary, Score
from codec_superb.metrics.table import METRICS, Category, overall_metrics
from codec_superb.web.applications import belongs_to
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import NO_CARD, ApplicationRow, BoardRow, CardFacts, CodecResult, Source
from codec_superb.web.senders import StateVote, largest, sent, sizes, usual_state
from codec_superb.web.site.custom import CustomTaskRow

PackedEstimate = tuple[float | None, float | None, float | None, int, int, int, float | None]
"""Mean, low, high, n, undefined, failed, sd: the fields of :class:`Estimate`. A plain tuple, because there are half a
million of them on a full board, and CPython's garbage collector untracks tuples of numbers."""
PackedScore = tuple[float | None, float | None, float | None]
"""Value, low, high: the fields of :class:`Score`, likewise."""
_NOTHING = (None,)
_ESTIMATE = ("mean", "low", "high", "n", "undefined", "failed", "sd")
pack_estimate: Callable[[Mapping[str, Any]], PackedEstimate] = itemgetter(*_ESTIMATE)
"""Packs the JSON of one metric of a result."""


class CodecFigures(NamedTuple):
    """What one codec reached in one category, over its datasets or on one of them: a packed :class:`ResultSummary`."""

    datasets: tuple[str, ...]
    states: tuple[str, ...]
    """State of each dataset: the hash of its manifest, or the name of a published table."""
    complete: bool
    clips: int
    ok: int
    failed: int
    seconds: float
    kbps: float | None
    tokens_per_second: float | None
    compression_ratio: float | None
    encode_rtf: float | None
    decode_rtf: float | None
    largest_lag: int | None
    clipped_samples: int
    score: PackedScore
    metrics: Mapping[str, PackedEstimate]

    def summary(self, category: Category) -> ResultSummary:
        """Unpack."""
        same = {name: getattr(self, name) for name in _SAME}
        value, low, high = self.score
        metrics = {key: Estimate(**dict(zip(_ESTIMATE, packed, strict=True))) for key, packed in self.metrics.items()}
        return ResultSummary(**same, category=category, score=Score(value=value, low=low, high=high), metrics=metrics)


_SAME = tuple(name for name in CodecFigures._fields if name not in {"states", "score", "metrics"})


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One codec: the newest public submission of it, or a codec of a published table."""

    codec: str
    title: str
    family: str
    source: Source
    source_label: str
    source_url: str | None
    submission: str | None
    version: int
    received: str | None
    submitter: str
    """Account that sent it, or ``anonymous``; '' for published figures."""
    kind: str
    sampling_rate: int | None
    nominal_kbps: float | None
    open_weights: bool | None
    causal: bool | None
    figures: Mapping[tuple[Category, str], CodecFigures]
    """By category and dataset; '' for all datasets together."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """Metric key to version of the definition that its values follow."""
    applications: Mapping[str, Mapping[str, ApplicationRow]] = field(default_factory=dict)
    """By dataset ('' for all datasets together) and figure; see :mod:`codec_superb.server.submissions.applications`."""
    operations: Mapping[str, Operations] = field(default_factory=dict)
    """By dataset."""
    card: CardFacts = NO_CARD
    also: tuple[str, ...] = ()
    """See :attr:`BoardRow.also`."""
    bit_source: BitSource = "measured"
    """Where its bitrates come from; those of published tables stand apart by their source."""
    since: str = ""
    """When the account was made, ISO; '' without one. Where a past state hides the sender, all of it."""
    submitter_in_file: str = ""
    """Whom the file names, in its own words."""
    verified_part: BoardEntry | None = None
    """Of a verified one with figures that nobody ran again: the same without them; what the verified ones show."""
    custom_tasks: tuple[CustomTaskRow, ...] = ()
    """Figures of tasks that this board does not ship: shown on a page of their own, never ranked."""
    _rows: dict[tuple[Category, str], BoardRow] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Rows without rank that have been shown; an entry lives as long as its submission counts."""

    @property
    def counted(self) -> bool:
        """Whether its bits were counted, so that it is ranked."""
        return self.bit_source == "measured"

    @property
    def sender(self) -> str:
        """Who counts once where what most have is chosen: an account, whatever was run again; a published codec.

        In the order of these texts the oldest account is first, and last what came without one.
        """
        since = self.since or "~"
        return f"{since} {self.submitter}" if self.submitter else self.since or f"{self.source}:{self.codec}"

    def state_of(self, dataset: str) -> str:
        """Return the state of a dataset that it was run on; '' for all datasets together, and where it was not."""
        found = (own.states[0] for (_, name), own in self.figures.items() if name == dataset and name)
        return next(found, "")

    def has_value(self, key: str, category: Category, dataset: str) -> bool:
        """Whether it has a score, a metric or an application."""
        own = self.figures.get((category, dataset))
        if own is None:
            return False
        if key == SCORE_KEY:
            return own.score[0] is not None
        if key in METRICS:
            return own.metrics.get(key, _NOTHING)[0] is not None
        return self.application(key, category, dataset) is not None

    def is_ranked_on(self, category: Category, metric: str = SCORE_KEY) -> bool:
        """Whether it has complete results of a category at counted bits with a score, or an application."""
        own = self.figures.get((category, ""))
        if own is None or not own.complete or not self.counted:
            return False
        return own.score[0] is not None if metric == SCORE_KEY else self.application(metric, category, "") is not None

    def is_complete_on(self, dataset: str) -> bool:
        """Whether no clip of a dataset, of any category, is lacking."""
        return all(own.complete for (_, name), own in self.figures.items() if name == dataset)

    @property
    def lossless(self) -> bool:
        """Whether it returns its input exactly."""
        return self.kind == "lossless"

    @property
    def search_text(self) -> str:
        """Text that a search matches."""
        return f"{self.codec}\n{self.title}\n{self.family}".casefold()

    def definitions_behind(self, key: str, category: Category) -> tuple[str | None, ...]:
        """Versions of all definitions that a score or a metric follows: its own, or those of the score's metrics."""
        keys = overall_metrics(category) if key == SCORE_KEY else (key,)
        # an overall score rests on several definitions: a change of any makes another score
        return tuple(self.definitions.get(each) for each in keys)

    def applications_on(self, category: Category, dataset: str) -> dict[str, ApplicationRow]:
        """Figures of applications on clips of a category, over all ('') or on one dataset."""
        keys = self.applications.get(dataset, {})
        return {key: row for key in keys if (row := self.application(key, category, dataset)) is not None}

    def application(self, key: str, category: Category, dataset: str) -> ApplicationRow | None:
        """One of them; None where there is none. Tables of papers have one for all categories."""
        if self.source != "published" and not belongs_to(key, category):
            return None
        return self.applications.get(dataset, {}).get(key)


def has_open_weights(card: Mapping[str, Any]) -> bool | None:
    """Whether the codec's weights are publicly available; None where its card does not state it.

    Classical and lossless codecs: yes. Neural ones: yes where the card names a hub repository or a web address as the
    source of the weights; no for a local folder and for untrained weights (``random``).
    """
    if card.get("kind") != "neural":
        return True
    weights = card.get("weights")
    if not weights:
        return None
    source = str(weights.get("source", ""))
    local = source.startswith(("/", ".", "~", "file:", "local:", "\\")) or source[1:2] == ":"
    return not (local or source in {"", "random", "local"})


def board_row(
    entry: BoardEntry, category: Category, dataset: str, rank: tuple[int, int] | None, unranked: str,
    *, usual: bool = False,
) -> BoardRow:  # fmt: skip
    """Make the row of the board; ``usual`` where it rests on what is ranked."""
    row = entry._rows.get((category, dataset))  # noqa: SLF001 -- its own
    if row is None:
        row = entry._rows[category, dataset] = _row_without_rank(entry, category, dataset)  # noqa: SLF001 -- its own
    if rank is None and not unranked and not usual:
        return row
    return replace(row, result=replace(row.result, rank=rank, usual=usual), unranked=unranked)


def _row_without_rank(entry: BoardEntry, category: Category, dataset: str) -> BoardRow:
    figures, applications = entry.figures[category, dataset], entry.applications_on(category, dataset)
    # a verified part has fewer; a newer attestation may cover others, be they as many
    covered = hash(tuple((key, row.run_again) for key, row in applications.items()))
    place = f"{category}/{dataset}/{covered}"
    return BoardRow(
        result=CodecResult(
            codec=entry.codec,
            title=entry.title,
            family=entry.family,
            nominal_kbps=entry.nominal_kbps,
            lossless=entry.lossless,
            bit_source=entry.bit_source,
            summary=figures.summary(category),
            operations={name: entry.operations[name] for name in figures.datasets if name in entry.operations},
            source=entry.source_label,
            sender=entry.sender,
            states=dict(zip(figures.datasets, figures.states, strict=True)),
            definitions=entry.definitions,
        ),
        source=entry.source,
        source_label=entry.source_label,
        source_url=entry.source_url,
        submission=entry.submission,
        received=entry.received,
        submitter=entry.submitter,
        submitter_in_file=entry.submitter_in_file,
        sampling_rate=entry.sampling_rate,
        kind=entry.kind,
        open_weights=entry.open_weights,
        causal=entry.causal,
        undefined=most_undefined(figures),
        unranked="",
        applications=applications,
        card=entry.card,
        also=entry.also,
        identity=f"{entry.submission or entry.codec}/{entry.source}/{place}/{'/'.join(entry.also)}",
    )


def most_undefined(figures: CodecFigures) -> int:
    """Return the largest number of undefined clips of any metric."""
    return max((values[4] for values in figures.metrics.values()), default=0)


def on_usual_state(entries: Sequence[BoardEntry], dataset: str) -> list[BoardEntry]:
    """Return of each codec the first one run on the state of a dataset that most senders have: clips differ else.

    Of as many the one that more senders have complete results on, then more codecs, then the newest. Where all were run
    again :func:`largest` chooses, that of the oldest account before others. ``entries`` may hold several of a codec,
    the one that stands in front: whoever ran it on another state takes it off no page.
    """
    newest_first = sorted(entries, key=lambda entry: entry.received or "", reverse=True)
    if not newest_first:
        return []
    usual = usual_state(
        StateVote(
            entry.state_of(dataset),
            entry.sender,
            entry.codec,
            entry.is_complete_on(dataset),
            entry.source == "verified",
        )
        for entry in newest_first
    )
    first = {entry.codec: entry for entry in reversed(entries) if entry.state_of(dataset) == usual}
    return list(by_codec([*first.values()]))


def on_page(entries: Sequence[BoardEntry], dataset: str) -> list[BoardEntry]:
    """Return those of :func:`on_usual_state` with the figures of probes that they lack and others of the codec have.

    Of verified ones alone, and what was run again of them: true runs of several accounts add to each other, where the
    one in front has another probe of the page alone.
    """
    others: dict[str, list[BoardEntry]] = {}
    for entry in entries:
        if entry.source == "verified":
            others.setdefault(entry.codec, []).append(entry)
    return [_filled(entry, others.get(entry.codec, ()), dataset) for entry in on_usual_state(entries, dataset)]


def _filled(entry: BoardEntry, verified: Sequence[BoardEntry], dataset: str) -> BoardEntry:
    """Add to a verified entry what the other ``verified`` ones of its codec have on the same state of a dataset."""
    others = [other for other in verified if other is not entry] if entry.source == "verified" else []
    own = entry.applications.get(dataset, {})
    found, state, whole = dict(own), entry.state_of(dataset), entry.is_complete_on(dataset)
    for other in others:
        if other.state_of(dataset) != state or (whole and not other.is_complete_on(dataset)):
            continue
        there = {row.numbers.probe for row in found.values()}
        found |= {
            key: replace(row, sender=other.sender)
            for key, row in other.applications.get(dataset, {}).items()
            if row.numbers.probe not in there and row.run_again
        }
    return entry if len(found) == len(own) else replace(entry, applications={**entry.applications, dataset: found})


def by_senders(found: Iterable[tuple[str, BoardEntry]]) -> list[tuple[str, int]]:
    """List names of datasets, with how many codecs have results on them.

    Those of most senders first, of as many those of the oldest account, then '', then those of more codecs. Where all
    were run again the one that :func:`largest` chooses goes before all of them.
    """
    told = list(found)
    counts = sent((kind, entry.sender) for kind, entry in told)
    again = all(entry.source == "verified" for _, entry in told)
    codecs: dict[str, set[str]] = {}
    for kind, entry in told:
        codecs.setdefault(kind, set()).add(entry.codec)

    def order(kind: str) -> tuple[object, ...]:
        return counts[kind].first, bool(kind), -len(codecs[kind]), kind

    ordered = sorted(counts, key=lambda kind: (-counts[kind].senders, *order(kind)))
    if again and ordered:
        first = largest(sizes((kind, entry.sender, entry.codec) for kind, entry in told), order)
        ordered = [first, *(kind for kind in ordered if kind != first)]
    return [(kind, len(codecs[kind])) for kind in ordered]


def by_codec(entries: Sequence[BoardEntry]) -> tuple[BoardEntry, ...]:
    """Sort key of entries: the codec name, which also orders ties."""
    return tuple(sorted(entries, key=lambda entry: entry.codec))
