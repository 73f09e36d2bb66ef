"""``compare``: two codecs on the clips they share, from run folders or submission files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.weights import describe_weights
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.metrics.results import UNCOUNTED, BitSource
from codec_superb.metrics.table import METRICS, Category
from codec_superb.pipeline.comparison.applications import PairedApplication, compare_applications
from codec_superb.pipeline.comparison.results import Results, combine, load_results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.folder import find_results
from codec_superb.pipeline.statistics.paired import PairedCategory, PairedDataset, compare_paired
from codec_superb.pipeline.statistics.ranks import Ranking, rank_codecs
from codec_superb.pipeline.tables.stored_rows import where
from codec_superb.record import Record


class LeftOut(Record):
    """Something that was not compared."""

    what: str
    """Dataset or metric; a probe with its dataset."""
    reason: str


class ComparisonReport(Record):
    """First codec against second; every difference is first minus second."""

    first: str
    second: str
    first_notes: tuple[str, ...] = ()
    """What is to be said beside the first: ``imported``, ``bitrate declared``, ``bitrate not stated``."""
    second_notes: tuple[str, ...] = ()
    datasets: tuple[PairedDataset, ...]
    """By dataset and category, with every metric that both have."""
    categories: tuple[PairedCategory, ...]
    """Overall score by category."""
    applications: tuple[PairedApplication, ...] = ()
    """By dataset and figure, where the same model answered for both."""
    left_out: tuple[LeftOut, ...]
    """Datasets, metrics and probes that cannot be compared, with the reason."""


def compare(first: Place, second: Place, *, across_conditions: bool = False) -> ComparisonReport:
    """Compare two codecs; each path is a run folder, a codec's folder with several runs, or a submission file.

    One codec may stand on both sides under different conditions; two codecs only with ``across_conditions``.
    PipelineError when a path holds more than one codec or the two share nothing.
    """
    one, two = load_one(first), load_one(second)
    if one.card.name != two.card.name and one.condition != two.condition and not across_conditions:
        raise PipelineError(
            f"expected two codecs under one condition, got {one.title} and {two.title}: the difference would be of "
            "codecs and conditions at once; ask for it with --across-conditions"
        )
    return compare_results(one, two, tests=True)


def compare_results(first: Results, second: Results, *, tests: bool = False) -> ComparisonReport:
    """Compare loaded results on the datasets, metrics and clips that both have.

    ``tests`` adds p-values and effect sizes of metrics, which need ``scipy.stats``.
    """
    datasets, left_out = _shared_datasets(first, second)
    if not datasets:
        reasons = "; ".join(f"{entry.what}: {entry.reason}" for entry in left_out)
        raise PipelineError(f"expected results on a dataset that both have, got none: {reasons}")
    metrics = []
    table = first.table() | second.table()
    for key in sorted({*first.metrics, *second.metrics}):
        reason = _metric_differs(key, first.metrics, second.metrics, table)
        if reason:
            left_out.append(LeftOut(what=key, reason=reason))
        else:
            metrics.append(key)
    rows = (where(entry.rows, "dataset", datasets) for entry in (first, second))
    paired = compare_paired(*rows, metrics=metrics, table=table, tests=tests)
    applications, apart = compare_applications(first, second, datasets)
    left_out += [LeftOut(what=f"{entry.probe} on {entry.dataset}", reason=entry.reason) for entry in apart]
    one, two = _names(first, second)
    return ComparisonReport(
        first=one,
        second=two,
        first_notes=_beside(first),
        second_notes=_beside(second),
        datasets=paired.datasets,
        categories=paired.categories,
        applications=applications,
        left_out=tuple(left_out),
    )


def _names(first: Results, second: Results) -> tuple[str, str]:
    """Name both codecs, with their settings or weights where one codec stands on both sides with different ones."""
    one, two = first.card, second.card
    if one.name != two.name or (one.settings == two.settings and one.weights == two.weights):
        return first.title, second.title
    differ = _settings if one.settings != two.settings else _weights
    return f"{first.title} ({differ(one)})", f"{second.title} ({differ(two)})"


def _beside(entry: Results) -> tuple[str, ...]:
    """Say what a codec's figures rest on, where that is not a run of the benchmark with counted bits."""
    rate = {"declared": "bitrate declared", "unknown": "bitrate not stated"}.get(entry.card.bit_source)
    return (*(["imported"] if entry.imported else []), *([rate] if rate else []))


def _settings(card: Card) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(card.settings.items())) or "usual settings"


def _weights(card: Card) -> str:
    return describe_weights(card.weights)


def rank_results(results: Sequence[Results]) -> dict[Category, Ranking]:
    """Rank codecs, one Results each (see :func:`~codec_superb.pipeline.comparison.results.combine`), by category.

    Results under a condition have no rank, and those of declared or unknown bitrates none among measured ones.
    Where codecs were run on different states of a dataset, the state that most of them have counts; the others are
    unranked as not run on it. So are rows with another version of a metric.
    """
    states: dict[str, list[str]] = {}
    results, apart = _counted([entry for entry in results if entry.condition is None])
    for entry in results:
        for dataset in entry.datasets:
            states.setdefault(dataset.info.name, []).append(_state(entry, dataset.info.name))
    # sorted first: of states that are equally common the choice does not depend on the order of results
    usual = {name: max(sorted(set(found)), key=found.count) for name, found in states.items()}
    rows = {
        entry.card.name: where(
            entry.rows,
            "dataset",
            {
                dataset.info.name
                for dataset in entry.datasets
                if _state(entry, dataset.info.name) == usual[dataset.info.name]
            },
        )
        for entry in results
    }
    rankings = rank_codecs(rows)
    return {
        category: replace(ranking, unranked={**ranking.unranked, **apart}) for category, ranking in rankings.items()
    }


def _counted(results: Sequence[Results]) -> tuple[list[Results], dict[str, str]]:
    """Return the results that are ranked together, and why the others are not."""
    ranked = ranked_source({entry.card.bit_source for entry in results})
    apart = {entry.card.name: UNCOUNTED[source] for entry in results if (source := entry.card.bit_source) != ranked}
    return [entry for entry in results if entry.card.bit_source == ranked], apart


def ranked_source(sources: Collection[BitSource]) -> BitSource:
    """Choose whose ranks are compared: codecs whose bits were counted; where none were, declared ones, else unknown."""
    return next((source for source in get_args(BitSource) if source in sources), "unknown")


def _state(results: Results, name: str) -> str:
    """Name what must be equal for two rows of a dataset to be compared in the overall score."""
    dataset = results.dataset(name)
    if dataset is None:
        return ""
    overall = {key for key, metric in METRICS.items() if metric.overall}
    versions = [f"{key}={version}" for key, version in sorted(dataset.metrics.items()) if key in overall]
    return " ".join([dataset.info.manifest_hash, *versions])


def load_one(path: Place) -> Results:
    """Load the results of the one codec at ``path``: a run, a codec's folder, or a submission file.

    PipelineError when there are several codecs.
    """
    places = [path] if path.is_file() else [run.path for run in find_results([path])]
    found = combine(load_results(place, slim=True) for place in places)
    if len(found) != 1:
        names = ", ".join(entry.title for entry in found)
        raise PipelineError(f"{path}: expected the results of one codec, got {names}; give one codec's folder")
    return found[0]


def _shared_datasets(first: Results, second: Results) -> tuple[set[str], list[LeftOut]]:
    shared, left_out = set(), []
    for name in sorted({dataset.info.name for entry in (first, second) for dataset in entry.datasets}):
        one, two = first.dataset(name), second.dataset(name)
        if one is None or two is None:
            owner = f"the first, {first.card.name}," if two is None else f"the second, {second.card.name},"
            left_out.append(LeftOut(what=name, reason=f"only {owner} was run on it"))
        elif one.info.manifest_hash != two.info.manifest_hash:
            reason = "the two were run on different clips of that name (their manifest hashes differ)"
            left_out.append(LeftOut(what=name, reason=reason))
        else:
            shared.add(name)
    return shared, left_out


def _metric_differs(key: str, first: Mapping[str, str], second: Mapping[str, str], table: Collection[str]) -> str:
    """Return why a metric cannot be compared; '' when it can."""
    if key not in table:
        return "unknown to this version"
    if key not in first or key not in second:
        return "only one of the two was scored with it"
    if first[key] != second[key]:
        return f"defined differently: version {first[key]} and version {second[key]}"
    return ""
