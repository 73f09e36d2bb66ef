"""Filters, ranks, sorts and pages the codecs of a snapshot as a visitor chose: the whole answer of the leaderboard.

Filters choose the class in which ranks are given; a search only finds rows in it. Everything works on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.table import PROBE_METRICS
from codec_superb.metrics.results import UNCOUNTED
from codec_superb.metrics.table import METRICS, Category
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.board.ranks import Places, rank_ranges
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.originals import WORDS, other_originals, told_apart
from codec_superb.web.answered import Answered, most_answered
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE, SCORE_KEY, Quantity, from_metric
from codec_superb.web.rows import BoardRow
from codec_superb.web.senders import ENOUGH, Failures, fails_more, largest, sizes
from codec_superb.web.site.board.choices import COLUMNS, BoardState, BoardView, Choices, RankBasis, SourceFilter

PAGE_SIZE = 50
_MOST_ROWS = 4 * PAGE_SIZE
"""Rows that are kept of one choice of filters."""
_Mask = NDArray[np.bool_]
_Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The codecs of a frame that pass the filters, with their ranks."""

    frame: ResultFrame
    key: str
    """Quantity by which they are ranked."""
    passed: _Mask
    """Of all codecs of the frame."""
    best: Places
    """0 for a codec without a rank."""
    worst: Places
    datasets: tuple[str, ...]
    """What the ranks rest on."""
    combination: int
    """Number of that combination of datasets, their states and definitions; -1 where ranks do not ask for it."""
    basis: RankBasis
    apart: _Mask
    """Whose originals are not those of others, in an application."""
    rows: dict[int, BoardRow] = field(default_factory=dict, compare=False, repr=False)
    """Those that were shown, by position: in other orders, and by the API, they are the same."""


def select(snapshot: Snapshot, state: BoardState) -> BoardView:
    """Answer one page of the leaderboard."""
    ranked = rank(snapshot, state)
    order = ordered(ranked, state)
    start = (state.page - 1) * PAGE_SIZE
    return _view(snapshot, state, ranked, order, order[start : start + PAGE_SIZE], PAGE_SIZE)


def select_all(snapshot: Snapshot, state: BoardState) -> BoardView:
    """Answer with the rows of all pages, in order, as one page: what exports and charts hold."""
    ranked = rank(snapshot, state)
    order = ordered(ranked, state)
    return _view(snapshot, replace(state, page=1), ranked, order, order, max(1, len(order)))


def quantity_of(key: str) -> Quantity:
    """Describe the score, a metric or an application metric. Raises KeyError."""
    if key == SCORE_KEY:
        return SCORE
    return APPLICATIONS[key] if key in APPLICATIONS else from_metric(METRICS[key])


def rank(snapshot: Snapshot, state: BoardState) -> Ranked:
    """Apply the filters and rank what passes by the chosen quantity; kept for other pages and orders of the same."""
    chosen = replace(state.filters(), search="")
    found: Ranked = snapshot.ranked.get(chosen, lambda: _rank(snapshot, chosen))
    return found


def _rank(snapshot: Snapshot, state: BoardState) -> Ranked:
    frame = snapshot.frame(state.category, state.dataset, state.source, state.metric)
    passed = _passed(frame, state)
    counted = passed & frame.flags("counted")  # bitrates that nobody counted are shown, never ranked
    basis = _basis(state.source)
    low, high = frame.ends(state.metric)
    combination = -1
    datasets: tuple[str, ...] = ()
    apart = np.zeros(len(frame), np.bool_)
    whole = (frame.numbers("complete") == 1) & ~np.isnan(frame.numbers(state.metric))
    fit = counted & whole
    if state.metric in APPLICATIONS:  # figures of different models are not comparable: one model is ranked
        combination, datasets = most_common(frame, fit, state.metric)
        fit &= frame.combinations(state.metric).numbers == combination
        # whatever the filters leave: a forged one is not to be alone among few
        same = frame.flags("counted") & whole & (frame.combinations(state.metric).numbers == combination)
        apart = other_originals(frame, same, state.metric)
        fit &= ~apart
        fit &= ~with_more_failures(frame, fit, state.metric)
    elif basis == "intervals":
        # partial results have no rank, and choose no datasets for those that have one
        combination, datasets = most_common(frame, fit if fit.any() else counted, state.metric)
        fit &= frame.combinations(state.metric).numbers == combination
    elif basis == "values":
        datasets = most_common(frame, counted, state.metric)[1]
    if basis == "intervals":
        fit &= ~np.isnan(low)
    else:
        low = high = frame.numbers(state.metric)
    best, worst = np.zeros(len(frame), np.int64), np.zeros(len(frame), np.int64)
    better = quantity_of(state.metric).higher_is_better
    best[fit], worst[fit] = rank_ranges(low[fit], high[fit], higher_is_better=better)
    return Ranked(frame, state.metric, passed, best, worst, datasets, combination, basis, apart)


def _basis(source: SourceFilter) -> RankBasis:
    if source == "all":
        return "mixed"
    return "values" if source in TABLES else "intervals"


def _passed(frame: ResultFrame, state: BoardState) -> _Mask:
    passed = np.ones(len(frame), np.bool_)
    for key, low, high in (
        ("kbps", state.kbps_min, state.kbps_max),
        ("tokens_per_second", state.tps_min, state.tps_max),
    ):
        if low is None and high is None:
            continue
        rates = frame.rates_behind(key, state.metric)
        if low is not None:
            passed &= rates >= low  # False for NaN: an unknown bitrate lies in no range
        if high is not None:
            passed &= rates <= high
    if state.rates:
        passed &= np.isin(frame.numbers("sampling_rate"), state.rates)
    if state.open_weights:
        passed &= frame.flags("open_weights")
    if state.causal:
        passed &= frame.flags("causal")
    return passed


def with_more_failures(frame: ResultFrame, fit: _Mask, key: str) -> _Mask:
    """Find those of ``fit`` of which more clips of an application failed than :func:`fails_more` allows."""
    places, told = [], []
    for position in np.flatnonzero(fit).tolist():
        entry = frame.entries[position]
        if (row := entry.application(key, frame.category, frame.dataset)) is not None:
            places.append(position)
            told.append(Failures(entry.sender, row.numbers.failed, row.numbers.n + row.numbers.failed))
    found = np.zeros(len(frame), np.bool_)
    found[places] = fails_more(told)
    return found


def most_common(frame: ResultFrame, passed: _Mask, key: str) -> tuple[int, tuple[str, ...]]:
    """Choose the combination of datasets that most senders have, then the oldest account, then most codecs.

    Then the larger, the first by name; where all were run again, as :func:`largest` chooses. Where codecs have several
    results, what was chosen among all of them, as far as enough have it.

    One account with many codecs of its own would otherwise decide what is ranked, and take all others out of it. Of
    an application :func:`most_answered` decides.
    """
    combinations = frame.combinations(key)
    counts = np.bincount(combinations.numbers[passed], minlength=len(combinations.datasets))
    chosen = frame.usual_kind(key)
    if chosen in combinations.kinds:
        place = combinations.kinds.index(chosen)
        if counts[place] >= min(ENOUGH, counts.max(initial=0)):
            return place, combinations.datasets[place]
    if key in APPLICATIONS:
        told = _answered(frame, passed, key)
        usual = most_answered(told) if told else -1
        return usual, combinations.datasets[usual] if told else ()
    once = np.unique(np.stack([combinations.numbers[passed], frame.senders()[passed]]), axis=1)[0]
    senders = np.bincount(once, minlength=len(combinations.datasets))
    oldest = np.full(len(combinations.datasets), len(frame))
    ages = np.where([bool(entry.submitter or entry.since) for entry in frame.entries], frame.senders(), len(frame))
    np.minimum.at(oldest, combinations.numbers[passed], ages[passed])
    order = {
        i: (oldest[i], -counts[i], -len(names), combinations.texts[i], names)
        for i, names in enumerate(combinations.datasets) if counts[i]
    }  # fmt: skip
    if not order:
        return -1, ()
    there = [(int(combinations.numbers[place]), frame.entries[place]) for place in np.flatnonzero(passed).tolist()]
    if all(entry.source == "verified" for _, entry in there):
        known = sizes((kind, entry.sender, entry.codec) for kind, entry in there)
        usual = largest(known, order.__getitem__)
    else:
        usual = min(order, key=lambda i: (-senders[i], *order[i]))
    return usual, combinations.datasets[usual]


def _answered(frame: ResultFrame, passed: _Mask, key: str) -> list[Answered[int]]:
    numbers, found = frame.combinations(key).numbers, []
    for position in np.flatnonzero(passed).tolist():
        entry = frame.entries[position]
        if (row := entry.application(key, frame.category, frame.dataset)) is not None:
            confirmed = entry.source == "verified" and row.run_again is True
            found.append(Answered(int(numbers[position]), entry.sender, confirmed, entry.received, entry.codec))
    return found


def reason_without_rank(ranked: Ranked, position: int) -> str:
    """Say why the codec at ``position`` of the frame has no rank; '' when it has one."""
    if ranked.best[position]:
        return ""
    figures = ranked.frame.figures[position]
    if uncounted := UNCOUNTED.get(ranked.frame.entries[position].bit_source):
        return uncounted
    apart = _other_model if ranked.key in APPLICATIONS else _other_definition
    reason = apart(ranked, position)
    if reason:
        return reason
    if not figures.complete:
        return incomplete(figures.failed, figures.clips)
    if not np.isnan(ranked.frame.numbers(ranked.key)[position]):
        return _without_order(ranked, position)
    return f"no value of {quantity_of(ranked.key).label}"


def _without_order(ranked: Ranked, position: int) -> str:
    if ranked.basis == "intervals" and np.isnan(ranked.frame.ends(ranked.key)[0][position]):
        costs = ranked.key in PROBE_METRICS and not PROBE_METRICS[ranked.key].interval
        few = "no interval: all or nearly all clips are of one speaker or recording"
        return "its interval is not known, nor any order" if costs else few
    return WORDS if ranked.apart[position] else "incomplete: more clips failed than in results of others"


def _other_definition(ranked: Ranked, position: int) -> str:
    """Say that a codec was measured on other datasets or by another definition; '' where neither is so."""
    combinations = ranked.frame.combinations(ranked.key)
    own = int(combinations.numbers[position])
    if ranked.basis != "intervals" or own == ranked.combination:
        return ""
    if combinations.states[own] == combinations.states[ranked.combination]:
        if np.isnan(ranked.frame.numbers(ranked.key)[position]):  # without a metric of a score, for example
            return ""
        return f"{quantity_of(ranked.key).label} by another version of its definition"
    return _elsewhere(ranked.frame.figures[position].datasets, ranked.datasets)


def _other_model(ranked: Ranked, position: int) -> str:
    """Say that the application was run elsewhere or answered by another model; '' where neither is so."""
    frame, combinations = ranked.frame, ranked.frame.combinations(ranked.key)
    own, model = int(combinations.numbers[position]), frame.model(ranked.key, position)
    if not model or ranked.combination in {-1, own}:
        return ""
    there = frame.model(ranked.key, int(np.flatnonzero(combinations.numbers == ranked.combination)[0]))
    if model != there:
        return f"answered by {model}; ranked are those answered by {there}"
    if combinations.states[own] != combinations.states[ranked.combination]:
        return _elsewhere(combinations.datasets[own], ranked.datasets)
    return f"{model} was asked in another way than those ranked"


def _elsewhere(mine: Sequence[str], ranked: Sequence[str]) -> str:
    if sorted(mine) == sorted(ranked):
        return "run on another state of a dataset"
    missing = [name for name in ranked if name not in mine]
    if set(mine) < set(ranked):
        return f"run on {', '.join(mine)} only"
    return f"not run on {', '.join(missing)}" if missing else "run on further datasets besides those ranked"


def incomplete(failed: int, clips: int) -> str:
    """Say of what is not complete why."""
    if failed:
        return f"incomplete: {failed} of {clips} clips failed"
    return "incomplete: not all clips of the datasets were run, or a metric failed on some"


def ordered(ranked: Ranked, state: BoardState) -> _Indices:
    """Sort what passes and is found: by the chosen column, what has no value last, equals by name.

    Without a chosen column the quantity decides, best first, and codecs without a rank come behind those with one.
    """
    frame = ranked.frame
    found = np.flatnonzero(ranked.passed & _found(frame, state.search))
    key = state.sort or state.metric
    if key in {"codec", "family", "source"}:
        return _by_text(frame, found, key, descending=_descending(state, key))
    values = frame.numbers(key)[found]
    values = -values if _descending(state, key) else values
    behind = np.zeros(len(found), np.bool_) if state.sort else ranked.best[found] == 0
    return found[np.lexsort((values, np.isnan(values), behind))]  # stable: equals keep the order of names


def _descending(state: BoardState, key: str) -> bool:
    if state.descending is not None:
        return state.descending
    return COLUMNS[key] if key in COLUMNS else quantity_of(key).higher_is_better


def _by_text(frame: ResultFrame, found: _Indices, key: str, *, descending: bool) -> _Indices:
    """Sort by a text; rows without one stand last in both directions."""
    texts = frame.texts("title" if key == "codec" else key)
    there = [i for i in found.tolist() if texts[i]]
    there.sort(key=lambda i: texts[i].casefold(), reverse=descending)
    return np.array([*there, *(i for i in found.tolist() if not texts[i])], np.intp)


def _found(frame: ResultFrame, search: str) -> _Mask:
    if not search:
        return np.ones(len(frame), np.bool_)
    wanted = search.casefold()
    return np.array([wanted in text for text in frame.texts("search_text")], np.bool_)


def _view(
    snapshot: Snapshot, state: BoardState, ranked: Ranked, order: _Indices, shown: _Indices, page_size: int
) -> BoardView:
    received = ranked.frame.numbers("received")[order]
    known = received[~np.isnan(received)]
    return BoardView(
        state=state,
        rows=[_row(ranked, i, state) for i in shown.tolist()],
        total=len(order),
        page_size=page_size,
        ranked_datasets=ranked.datasets,
        choices=_choices(snapshot, ranked.frame, state.source),
        revision=str(snapshot.revision),
        updated=date.fromordinal(int(known.max())).isoformat() if len(known) else None,
        default_source=snapshot.default_source(state.category, state.metric),
        rank_basis=ranked.basis,
    )


def _row(ranked: Ranked, position: int, state: BoardState) -> BoardRow:
    row = ranked.rows.get(position)
    if row is None:
        best, worst = int(ranked.best[position]), int(ranked.worst[position])
        reason, entry = reason_without_rank(ranked, position), ranked.frame.entries[position]
        usual = bool(ranked.frame.combinations(ranked.key).numbers[position] == ranked.combination)
        row = board_row(entry, state.category, state.dataset, (best, worst) if best else None, reason, usual=usual)
        row = told_apart(row, ranked.key) if ranked.apart[position] else row
        if len(ranked.rows) < _MOST_ROWS:  # an export has all
            ranked.rows[position] = row
    return row


def _choices(snapshot: Snapshot, frame: ResultFrame, source: SourceFilter) -> Choices:
    return Choices(
        datasets=snapshot.datasets(source, frame.category),
        metrics=frame.quantities(),
        rates=frame.rates(),
        sources=[(source, label, len(snapshot.frame(frame.category, "", source))) for source, label in source_labels()],
        not_run_again=_not_run_again(snapshot, frame.category) if source == "verified" else 0,
    )


def _not_run_again(snapshot: Snapshot, category: Category) -> int:
    verified = {entry.codec for entry in snapshot.frame(category, "", "verified").entries}
    return sum(entry.codec not in verified for entry in snapshot.frame(category, "", "runs").entries)


def source_labels() -> list[tuple[SourceFilter, str]]:
    """List the sources in the order in which they are offered, with their names."""
    tables: list[tuple[SourceFilter, str]] = [(name, published_table(name).label) for name in TABLES]
    ours: list[tuple[SourceFilter, str]] = [
        ("runs", "Submissions"), ("verified", "Verified submissions"), ("self-reported", "Self-reported submissions"),
    ]  # fmt: skip
    return [*ours, *tables, ("all", "Everything, mixed")]
