"""Distribution of a metric over the clips of one dataset, for up to six codecs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as count_from

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry, board_row
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.choices import checked_choice
from codec_superb.server.charts.defaults import complete_first, default_dataset, entries_of_commonest_state, of_clips
from codec_superb.server.charts.rows import source_text
from codec_superb.server.database.models import ClipBlock
from codec_superb.server.errors import BadRequest
from codec_superb.server.leaderboard.select import quantity_of
from codec_superb.server.storage.clip_blocks import block_columns
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.distribution import Quantiles, distribution_chart, quantiles_of
from codec_superb.web.quantity import SCORE_KEY, Quantity
from codec_superb.web.rows import CodecResult
from codec_superb.web.site.charts.choices import MOST_CODECS, ChartData, ChartState, DataColumn, DrawnChart
from codec_superb.web.theme import family_styles


def distribution(snapshot: Snapshot, session: Session, state: ChartState) -> DrawnChart:
    """Draw boxes of one metric over the clips of a dataset."""
    source, snapshot = of_clips(snapshot, state)
    dataset = default_dataset(snapshot, state.category, state.dataset)
    entries = entries_of_commonest_state(snapshot, dataset, state.category) if dataset else []
    chosen = _chosen(entries, state, dataset)
    keys = metric_keys(snapshot, state.category, dataset)
    quantity = quantity_of(checked_choice("metric", state.metric or _usual(keys), keys) if keys else "stft")
    summaries = _summaries(session, chosen, dataset, state.category, quantity)
    results = [board_row(entry, state.category, dataset, None, "").result for entry in chosen]
    figure = distribution_chart(results, summaries, quantity, family_styles(row.family for row in results))
    everyone = "" if state.codec or len(chosen) == len(entries) else f" These {len(chosen)} of {len(entries)} codecs "
    caption = (
        f"{quantity.title} on the single clips of {dataset or 'no dataset'}, {state.category}: the box holds the "
        "middle half with the median, the whiskers go from 5 % to 95 %, the circles are the extremes; right is better."
        f"{everyone}{_HOW if everyone else ''} "
        f"{source_text(source)}"
    )
    names = tuple(entry.codec for entry in chosen)
    resolved = replace(state, source=source, dataset=dataset, metric=quantity.key, codec=names)
    return DrawnChart(
        resolved, f"{quantity.label} from clip to clip", caption, figure, _data(results, summaries, quantity)
    )


_HOW = "are spread over the bitrates, senders alike and complete results first; name others to see them."


def metric_keys(snapshot: Snapshot, category: Category, dataset: str) -> list[str]:
    """List the metrics that single clips of a dataset have: no scores, no applications."""
    keys = snapshot.frame(category, dataset, "runs").quantities() if dataset else ()
    return [key for key in keys if key != SCORE_KEY and key not in APPLICATIONS]


def _usual(keys: Sequence[str]) -> str:
    return "pesq" if "pesq" in keys else keys[0]


def _chosen(entries: Sequence[BoardEntry], state: ChartState, dataset: str) -> list[BoardEntry]:
    """Find the named codecs, or take some that are spread over the bitrates."""
    names = list(dict.fromkeys(name.strip() for name in state.codec if name.strip()))
    if len(names) > MOST_CODECS:
        raise BadRequest(f"expected at most {MOST_CODECS} codecs, got {len(names)}")
    by_name = {entry.codec: entry for entry in entries}
    if names:
        return [by_name[checked_choice("codec", name, list(by_name))] for name in names]
    whole = complete_first(entries, (state.category, dataset))
    return _spread(sorted(whole, key=lambda entry: _rate(entry, state.category, dataset)))


def _spread(known: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Take the ends and places between them, at even distances where each sender has the same width.

    No sender has more places than are needed to fill them: many codecs of one account would take all.
    """
    senders = Counter(entry.sender for entry in known)
    width = [1 / senders[entry.sender] for entry in known]
    places = np.cumsum(width) - np.array(width) / 2
    wanted = min(MOST_CODECS, len(known))
    most = next(n for n in count_from(0) if sum(min(n, own) for own in senders.values()) >= wanted)
    chosen: list[int] = []
    for place in np.roll(np.linspace(places[0], places[-1], wanted), 1) if known else ():  # both ends first
        taken = Counter(known[one].sender for one in chosen)
        free = [one for one, entry in enumerate(known) if one not in chosen and taken[entry.sender] < most]
        chosen.append(min(free, key=lambda one: abs(places[one] - place)))
    return [known[one] for one in sorted(chosen)]


def _rate(entry: BoardEntry, category: Category, dataset: str) -> tuple[float, str]:
    kbps = entry.figures[category, dataset].kbps
    return (math.inf if kbps is None else kbps, entry.codec)


def _summaries(
    session: Session, entries: Sequence[BoardEntry], dataset: str, category: Category, quantity: Quantity
) -> dict[str, Quantiles]:
    names = {entry.submission: entry.codec for entry in entries}
    statement = select(ClipBlock.submission_id, ClipBlock.data).where(
        ClipBlock.submission_id.in_(names), ClipBlock.dataset == dataset
    )
    found = {}
    for submission, data in session.execute(statement):
        block = block_columns(data, [quantity.key])
        values = block.values.get(quantity.key, np.zeros(0))
        mine = [
            float(value)
            for value, own in zip(values, block.categories, strict=False)
            if own == category and math.isfinite(value)
        ]
        summary = quantiles_of(mine)
        if summary is not None:
            found[names[submission]] = summary
    return found


def _data(results: Sequence[CodecResult], summaries: dict[str, Quantiles], quantity: Quantity) -> ChartData:
    parts = ("minimum", "p5", "q1", "median", "q3", "p95", "maximum")
    labels = ("Least", "5 %", "25 %", "Median", "75 %", "95 %", "Most")
    columns = [
        DataColumn("codec", "Codec"),
        DataColumn("source", "Source"),
        DataColumn("kbps", "kbps", 2),
        DataColumn("n", "Clips", 0),
    ]
    columns += [DataColumn(part, label, quantity.decimals) for part, label in zip(parts, labels, strict=True)]
    rows = []
    for row in sorted(results, key=lambda row: row.kbps):
        summary = summaries.get(row.codec)
        values = [getattr(summary, part) for part in parts] if summary else [None] * len(parts)
        kbps = None if math.isnan(row.kbps) else row.kbps
        rows.append((row.codec, row.source, kbps, summary.n if summary else 0, *values))
    return ChartData(columns, rows)
