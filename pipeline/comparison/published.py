"""A codec's own results beside the figures published for the same configuration, where both rest on the same dataset.

The tables differ from ours in known ways (see their ``differs``), which are shown with the figures. A result that has
no comparable published figure is named with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import FiniteFloat

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.weights import describe_weights
from codec_superb.metrics.results import Score
from codec_superb.metrics.table import Category
from codec_superb.pipeline.aggregates.metrics import CategoryAggregate, DatasetAggregate
from codec_superb.pipeline.comparison.codecs import LeftOut
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable
from codec_superb.pipeline.literature.tables import literature, published_as
from codec_superb.record import Record

SCORE = "score"
_APPLICATIONS: Mapping[str, tuple[str, ...]] = {
    "ultra_error_rate_pct": ("asr_wer_pct", "asr_cer_pct"),
    "ultra_sim_pct": ("sim_pct",),
    "ultra_utmos": ("utmos",),
    "ultra_dnsmos_p835": ("dnsmos_ovrl",),
    "ultra_dnsmos_p808": ("dnsmos_p808",),
}
"""Names of published figures and ours; those of Table 3 are named as ours."""
_PROTOCOL = {
    "asr_wer_pct": "librispeech", "asv_eer_pct": "voxceleb1", "asv_mindcf": "voxceleb1", "er_accuracy_pct": "iemocap",
}  # fmt: skip
"""Datasets behind the applications of Table 3, which states them in its text."""


class PublishedDifference(Record):
    """One number of ours beside the published one."""

    table: str
    """Label of the published table."""
    row: str
    """Id of the codec in it."""
    where: str
    """Dataset, or category over all of its datasets."""
    category: Category | None
    """None for applications."""
    figure: str
    """``score``, a metric key, or the key of an application's figure."""
    ours: FiniteFloat
    low: FiniteFloat | None
    """95 % interval of ours."""
    high: FiniteFloat | None
    published: FiniteFloat
    difference: FiniteFloat
    """Ours minus published."""


class PublishedReport(Record):
    """One codec's results beside what was published for it."""

    codec: str
    unlike: tuple[str, ...]
    """How the codec that was run differs from the catalogue's, which the tables are of: its weights and settings."""
    figures: tuple[PublishedDifference, ...]
    differs: dict[str, tuple[str, ...]]
    """By table: how its figures differ from ours, a sentence each."""
    left_out: tuple[LeftOut, ...]


def compare_published(results: Results) -> PublishedReport:
    """Set results beside every published figure of the same codec on the same dataset.

    Raises PipelineError where nothing was published for the codec, naming codecs for which something was.
    """
    rows = published_as(results.card.name, results.card.family)
    if not rows:
        known = sorted({name for table in literature() for row in table.codecs for name in row.runs_as})
        raise PipelineError(
            f"no published table has {results.card.name}; there are figures for {', '.join(known)} (see `codecs show`)"
        )
    figures, left_out = [], []
    for table, row in rows:
        found = list(_figures(table, row, results))
        figures += found
        if not found:
            names = sorted({*_datasets_of(table, row)} - {d.info.name for d in results.datasets})
            reason = f"it rests on {', '.join(names)}, on which there is no complete run here"
            left_out.append(LeftOut(what=f"{table.label}, {row.id}", reason=reason))
    return PublishedReport(
        codec=results.card.name,
        unlike=tuple(_unlike(results.card)),
        figures=tuple(figures),
        differs={table.label: table.differs for table, _ in rows},
        left_out=tuple(left_out),
    )


def _unlike(card: Card) -> Iterator[str]:
    """Return how a codec with a name of the catalogue differs, or may differ, from the catalogue's."""
    usual = registry.card(card.name)
    ours, theirs = card.weights, usual.weights
    if ours is not None and ours.source == "random":
        yield "its weights are untrained (random): none of its figures says anything about the codec"
    elif ours is not None and theirs is not None and not _is_published(ours, theirs):
        published = describe_weights(theirs)
        yield f"its weights are {describe_weights(ours)}; the published ones are {published}, which may be others"
    for key, value in card.settings.items():
        if usual.settings.get(key) != value:
            yield f"it was run with {key} {value}; the usual is {usual.settings.get(key, 'none')}"


def _is_published(ours: Weights, theirs: Weights) -> bool:
    """Whether weights are those of the card: of one hash where both have one, else of one source and commit."""
    # the content decides where both are known; a copy of a repository is not another model
    if theirs.sha256 is not None and ours.sha256 is not None:
        return ours.sha256 == theirs.sha256
    return ours.source == theirs.source and theirs.revision in {None, ours.revision}


def _datasets_of(table: PublishedTable, row: PublishedCodec) -> Iterator[str]:
    for names in table.datasets.values():
        yield from names
    yield from row.dataset_applications


def _figures(table: PublishedTable, row: PublishedCodec, results: Results) -> Iterator[PublishedDifference]:
    for part in results.aggregates.datasets:
        if part.complete:
            yield from _dataset(table, row, part)
    for category in results.aggregates.categories:
        yield from _category(table, row, category)
    for figure in results.aggregates.applications:
        # failed clips are often the hardest: without them a figure is too good
        if not figure.failed:
            yield from _application(table, row, figure)


def _dataset(table: PublishedTable, row: PublishedCodec, part: DatasetAggregate) -> Iterator[PublishedDifference]:
    """Overall score of a dataset; and its metrics, where the category of the table rests on that dataset alone."""
    score = row.dataset_scores.get(part.category, {}).get(part.dataset)
    yield from _beside(table, row, part.dataset, part.category, SCORE, part.score, score)
    if table.datasets.get(part.category) == (part.dataset,):
        for key, published in row.metrics.get(part.category, {}).items():
            if mine := part.metrics.get(key):
                value = Score(value=mine.mean, low=mine.low, high=mine.high)
                yield from _beside(table, row, part.dataset, part.category, key, value, published)


def _category(table: PublishedTable, row: PublishedCodec, mine: CategoryAggregate) -> Iterator[PublishedDifference]:
    """Overall score of a category, where it rests on the very datasets of the table."""
    names = table.datasets.get(mine.category, ())
    if mine.complete and len(names) > 1 and set(names) == set(mine.datasets):
        published = row.scores.get(mine.category)
        yield from _beside(table, row, mine.category, mine.category, SCORE, mine.score, published)


def _application(
    table: PublishedTable, row: PublishedCodec, mine: ApplicationAggregate
) -> Iterator[PublishedDifference]:
    for key, published in row.dataset_applications.get(mine.dataset, {}).items():
        if mine.figure in _APPLICATIONS.get(key, (key,)):
            yield from _beside(table, row, mine.dataset, None, mine.figure, mine.resynthesis, published)
    if _PROTOCOL.get(mine.figure) == mine.dataset:
        published_overall = row.applications.get(mine.figure)
        yield from _beside(table, row, mine.dataset, None, mine.figure, mine.resynthesis, published_overall)


def _beside(
    table: PublishedTable, row: PublishedCodec, where: str, category: Category | None, figure: str, mine: Score,
    published: float | None,
) -> Iterator[PublishedDifference]:  # fmt: skip
    if mine.value is None or published is None:
        return
    yield PublishedDifference(
        table=table.label,
        row=row.id,
        where=where,
        category=category,
        figure=figure,
        ours=mine.value,
        low=mine.low,
        high=mine.high,
        published=published,
        difference=mine.value - published,
    )
