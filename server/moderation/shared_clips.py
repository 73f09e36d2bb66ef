"""Scores of two submissions on the clips that both have, from their stored rows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays, shared
from codec_superb.server.database.models import ClipBlock

FEWEST = 4
"""Clips below which the means of two runs of one codec say nothing: on three, GSM and Codec 2 at level 0 are up to 0.23
better on music than without, on one up to 0.64."""
MOST_ROWS = 500_000
"""Rows that are read for one submission: two of one file each have 400,000 at most, which take 0.3 s."""


class SharedScore(NamedTuple):
    """The scores of two submissions in one category of a dataset."""

    clips: int
    """Of the metric that the fewest clips of both have."""
    first: float
    second: float


class SharedClips:
    """Reads rows of pairs of submissions, up to :data:`MOST_ROWS` in all."""

    def __init__(self, session: Session) -> None:
        self._session, self._left = session, MOST_ROWS

    def scores(self, first: str, second: str, dataset: str) -> Mapping[str, SharedScore]:
        """Return the scores of each category with :data:`FEWEST` clips; none where too many rows would be read."""
        of_both = ClipBlock.submission_id.in_([first, second]), ClipBlock.dataset == dataset
        rows = self._session.scalar(select(func.sum(ClipBlock.rows)).where(*of_both)) or 0
        if rows > self._left:
            return {}
        self._left -= rows
        blocks = select(ClipBlock.submission_id, ClipBlock.data).where(*of_both)
        tables = {submission: _table(data) for submission, data in self._session.execute(blocks)}
        return dict(_scores(tables[first], tables[second])) if {first, second} == tables.keys() else {}


def _table(data: bytes) -> pa.Table:
    wanted = {"clip", "category", "status", "samples", *(key for each in CATEGORIES for key in overall_metrics(each))}
    with pq.ParquetFile(io.BytesIO(data), pre_buffer=False) as file:
        return file.read(columns=[name for name in file.schema_arrow.names if name in wanted], use_threads=False)


def _scores(first: pa.Table, second: pa.Table) -> Iterator[tuple[Category, SharedScore]]:
    for category in CATEGORIES:
        keys = overall_metrics(category)
        if not {*keys} <= {*first.column_names} & {*second.column_names}:
            continue
        own = [ClipArrays(table.filter(pc.equal(table["category"], category)), keys) for table in (first, second)]
        one, two = shared(own)
        # a clip of another length is another one, of another state of the dataset
        alike = np.asarray(one.number("samples") == two.number("samples"))
        values = np.stack([one.values(keys), two.values(keys)])[:, alike]
        values = np.where(np.isnan(values).any(axis=0), np.nan, values)
        clips = int(np.isfinite(values[0]).sum(axis=0).min())
        if clips >= FEWEST:
            means = np.nanmean(values, axis=1)
            scores = (float(dataset_score(dict(zip(keys, row, strict=True)), category)) for row in means)
            yield category, SharedScore(clips, *scores)
