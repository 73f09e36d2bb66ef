"""Correlations of metrics: over codecs, by their means, or over single clips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import itemgetter

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import METRICS, Category
from codec_superb.pipeline.statistics.correlation import Correlations, Method, correlations
from codec_superb.pipeline.statistics.jackknife import Floats
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.against_rate import source_of
from codec_superb.server.charts.choices import checked_choice
from codec_superb.server.charts.defaults import complete_first, default_dataset, entries_of_commonest_state, of_clips
from codec_superb.server.charts.rows import datasets_with, source_text
from codec_superb.server.database.models import ClipBlock
from codec_superb.server.leaderboard.select import quantity_of
from codec_superb.server.storage.clip_blocks import Columns, block_columns
from codec_superb.web.figures.correlation import correlation_chart
from codec_superb.web.site.charts.choices import ChartData, ChartState, DataColumn, DrawnChart
from codec_superb.web.text import count

SEED = "1"
CODECS = 20
"""Most codecs whose clips are pooled."""
CLIPS = 1000
"""Most clips of each; the same ones of every codec."""
_NAMES: Mapping[Method, str] = {"pearson": "Pearson correlation", "spearman": "Spearman rank correlation"}


def metrics(snapshot: Snapshot, state: ChartState) -> DrawnChart:
    """Correlate scores, metrics and applications over codecs."""
    source = source_of(snapshot, state)
    dataset = checked_choice("dataset", state.dataset, ["", *datasets_with(snapshot, source, state.category)])
    every = snapshot.frame(state.category, dataset, source)
    frame = ResultFrame(state.category, dataset, complete_first(every.entries, (state.category, dataset)), every)
    partial = len(every) - len(frame)
    keys = list(frame.quantities())
    values = np.array([frame.numbers(key) for key in keys], dtype=np.float64).reshape(len(keys), len(frame)).T
    over = f"on {dataset}" if dataset else "over all datasets of each codec"
    caption = (
        f"{_NAMES[state.method]} between means in {state.category}, {over}, across {count(len(frame), 'codec')}. Each "
        f"cell rests on the codecs that have both values.{_left_out(partial)} {_DIRECTIONS} {source_text(source)}"
    )
    resolved = replace(state, source=source, dataset=dataset)
    return _drawn(resolved, keys, correlations(values, state.method), caption, "codecs")


def _left_out(partial: int) -> str:
    """Count what a few clips, or those that did not fail, gave: beside complete results it is no mean of the same."""
    are = "is" if partial == 1 else "are"
    return f" {count(partial, 'codec')} with partial results {are} left out." if partial else ""


def clips(snapshot: Snapshot, session: Session, state: ChartState) -> DrawnChart:
    """Correlate metrics over the clips of one dataset, those of several codecs pooled."""
    source, snapshot = of_clips(snapshot, state)
    dataset = default_dataset(snapshot, state.category, state.dataset)
    nothing = _Sample([], np.zeros((0, 0)), (), 0, 0)
    sample = _sample(snapshot, session, dataset, state.category) if dataset else nothing
    drawn = f"the same {sample.clips}" if sample.clips < sample.all_clips else f"all {sample.clips}"
    if (fewest := min(sample.each, default=sample.clips)) < sample.clips:
        drawn = f"{fewest} to {max(sample.each)} of {sample.clips}"
    caption = (
        f"{_NAMES[state.method]} between metrics on single clips of {dataset or 'no dataset'}, {state.category}: "
        f"{drawn} clips through each of {count(len(sample.each), 'codec')}, pooled. At most {CLIPS} clips and {CODECS} "
        f"codecs are drawn, by a hash with seed {SEED}; senders take turns, and partial results are drawn where there "
        f"are no complete ones. {_DIRECTIONS} {source_text(source)}"
    )
    found = correlations(sample.values, state.method)
    return _drawn(replace(state, source=source, dataset=dataset), sample.keys, found, caption, "clips")


_DIRECTIONS = "Of the distances (STFT, Mel) less is better: they are expected to correlate negatively with the others."


@dataclass(frozen=True, slots=True)
class _Sample:
    keys: list[str]
    values: Floats
    """Shape ``(codecs x clips, keys)``."""
    each: tuple[int, ...]
    """Of each codec the clips that are drawn."""
    clips: int
    """Those of all codecs together."""
    all_clips: int


def _sample(snapshot: Snapshot, session: Session, dataset: str, category: Category) -> _Sample:
    entries = entries_of_commonest_state(snapshot, dataset, category)
    chosen = _in_turns(complete_first(entries, (category, dataset)))[:CODECS]
    ids = [entry.submission for entry in chosen]
    statement = select(ClipBlock.data).where(ClipBlock.submission_id.in_(ids), ClipBlock.dataset == dataset)
    blocks = [block_columns(data, list(METRICS)) for data in session.scalars(statement)]
    known = sorted({clip for block in blocks for clip in _clips_of(block, category)}, key=_hash)
    drawn = set(known[:CLIPS])
    keys = [key for key in METRICS if any(key in block.values for block in blocks)]
    values = [_values(block, category, drawn, keys) for block in blocks]
    table = np.vstack(values) if values else np.zeros((0, len(keys)))
    present = [place for place in range(len(keys)) if np.isfinite(table[:, place]).any()]
    each = tuple(map(len, values))
    return _Sample([keys[place] for place in present], table[:, present], each, len(drawn), len(known))


def _in_turns(entries: Iterable[BoardEntry]) -> list[BoardEntry]:
    """Order codecs by hash, such that each sender has one before any has a second: names are the sender's to choose."""
    turns: Counter[str] = Counter()
    found: list[tuple[int, BoardEntry]] = []
    for entry in sorted(entries, key=lambda entry: _hash(entry.codec)):
        found.append((turns[entry.sender], entry))
        turns[entry.sender] += 1
    return [entry for _, entry in sorted(found, key=itemgetter(0))]


def _clips_of(block: Columns, category: Category) -> list[str]:
    return [clip for clip, own in zip(block.clips, block.categories, strict=True) if own == category]


def _values(block: Columns, category: Category, drawn: set[str], keys: Sequence[str]) -> Floats:
    rows = [
        place
        for place, (clip, own) in enumerate(zip(block.clips, block.categories, strict=True))
        if own == category and clip in drawn
    ]
    nothing = np.full(len(block.clips), np.nan)
    return np.column_stack([block.values.get(key, nothing)[rows] for key in keys])


def _hash(name: str) -> bytes:
    """Sort key by hash: unrelated to names, and the same on every machine."""
    # The unit separator of ASCII: seed and name cannot run together.
    return sha256(f"{SEED}\x1f{name}".encode()).digest()


def _drawn(state: ChartState, keys: Sequence[str], found: Correlations, caption: str, things: str) -> DrawnChart:
    labels = [quantity_of(key).label for key in keys]
    coefficients = [[float(value) if np.isfinite(value) else None for value in row] for row in found.coefficients]
    counts = [[int(n) for n in row] for row in found.n]
    columns = [
        DataColumn("first", "First"),
        DataColumn("second", "Second"),
        DataColumn("coefficient", "Coefficient", 3),
    ]
    rows = [
        (keys[one], keys[two], coefficients[one][two], counts[one][two])
        for one in range(len(keys))
        for two in range(one + 1, len(keys))
    ]
    matrix = ChartData(
        [DataColumn("metric", "Metric"), *(DataColumn(key, label, 2) for key, label in zip(keys, labels, strict=True))],
        [(label, *row) for label, row in zip(labels, coefficients, strict=True)],
    )
    figure = correlation_chart(labels, coefficients, counts, things)
    data = ChartData([*columns, DataColumn("n", "n", 0)], rows)
    title = f"{_NAMES[state.method]} of metrics over {things}"
    return DrawnChart(state, title, caption, figure, data, matrix)
