"""The codecs of the published tables as entries of the board."""

from __future__ import annotations

import math
from functools import cache

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import Score
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable, TableName
from codec_superb.pipeline.literature.tables import literature
from codec_superb.server.board.entries import BoardEntry, CodecFigures, by_codec
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow, ProbeModel


@cache
def published_entries() -> dict[TableName, tuple[BoardEntry, ...]]:
    """Entries by table, ordered by name; the codec is called ``<table>:<id>``."""
    return {table.name: by_codec([_entry(table, codec) for codec in table.codecs]) for table in literature()}


@cache
def published_entry(codec: str) -> BoardEntry:
    """Return the entry of a name, ``<table>:<id>``."""
    return next(entry for entries in published_entries().values() for entry in entries if entry.codec == codec)


def _entry(table: PublishedTable, codec: PublishedCodec) -> BoardEntry:
    figures: dict[tuple[Category, str], CodecFigures] = {}
    for category in CATEGORIES:
        datasets = table.datasets.get(category, ())
        if datasets:
            score = codec.scores.get(category)
            figures[category, ""] = _figures(table, codec, category, datasets, score)
        for dataset in datasets:
            score = codec.dataset_scores.get(category, {}).get(dataset)
            figures[category, dataset] = _figures(table, codec, category, (dataset,), score)
    return BoardEntry(
        codec=f"{table.name}:{codec.id}",
        title=codec.name,
        family=codec.family,
        source="published",
        source_label=table.label,
        source_url=table.url,
        submission=None,
        version=0,
        received=None,
        submitter="",
        kind="neural",
        sampling_rate=codec.sampling_rate,
        nominal_kbps=codec.kbps,
        open_weights=None,
        causal=None,
        figures=figures,
        applications={name: _applications(table, codec, name) for name in ("", *codec.dataset_applications)},
    )


def _figures(
    table: PublishedTable, codec: PublishedCodec, category: Category, datasets: tuple[str, ...], score: float | None
) -> CodecFigures:
    """Figures without intervals and counts, which the tables do not have; the bitrate is the stated one."""
    whole = len(datasets) == len(table.datasets[category])  # metrics are published over all datasets of a table
    metrics = codec.metrics.get(category, {}) if whole else {}
    return CodecFigures(
        datasets=datasets,
        states=(table.name,) * len(datasets),
        complete=True,
        clips=0,
        ok=0,
        failed=0,
        seconds=0.0,
        kbps=codec.kbps,
        tokens_per_second=None,
        compression_ratio=None,
        encode_rtf=None,
        decode_rtf=None,
        largest_lag=None,
        clipped_samples=0,
        score=(score, None, None),
        metrics={key: (value, None, None, 0, 0, 0, None) for key, value in metrics.items()},
    )


def _applications(table: PublishedTable, codec: PublishedCodec, dataset: str) -> dict[str, ApplicationRow]:
    """Figures of applications as published: the models are the paper's, and the table stands for them."""
    values = codec.dataset_applications[dataset] if dataset else codec.applications
    ceilings = {} if dataset else table.ceiling
    model, kbps = ProbeModel(f"published: {table.label}"), math.nan if codec.kbps is None else codec.kbps
    return {
        key: ApplicationRow(
            codec=f"{table.name}:{codec.id}",
            numbers=_numbers(key, dataset, ceilings.get(key), value),
            model=model,
            kbps=kbps,
            published=True,
        )
        for key, value in values.items()
    }


def _numbers(key: str, dataset: str, ceiling: float | None, value: float) -> ApplicationAggregate:
    """Store a published figure without intervals and counts; the table does not say by which probe."""
    reference, resynthesis, loss = (
        Score(value=number, low=None, high=None) for number in (ceiling, value, _loss(key, ceiling, value))
    )
    return ApplicationAggregate(
        probe="", figure=key, dataset=dataset, n=0, left_out=0, failed=0, pairs=0,
        reference=reference, resynthesis=resynthesis, loss=loss,
    )  # fmt: skip


def _loss(key: str, ceiling: float | None, value: float) -> float | None:
    if ceiling is None:
        return None
    return ceiling - value if APPLICATIONS[key].higher_is_better else value - ceiling
