"""Loads the results of one codec from a run folder or a submission file, for ``compare`` and the report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codec_superb.applications.results import ProbeInfo
from codec_superb.base_codec.card import UNESSENTIAL, Card
from codec_superb.base_codec.weights import describe_weights
from codec_superb.data_manifests.objects.store_path import Place, readable
from codec_superb.metrics.results import Operations
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.pipeline.aggregates.evidence import only_probes
from codec_superb.pipeline.aggregates.metrics import Aggregates, aggregate
from codec_superb.pipeline.conditions.record import Condition, suffix_of
from codec_superb.pipeline.errors import PipelineError, RunFolderError, SubmissionError
from codec_superb.pipeline.runs.folder import open_run
from codec_superb.pipeline.runs.info import CustomMetric, DatasetInfo, Provenance, is_imported, titled
from codec_superb.pipeline.submission.check import check_and_open
from codec_superb.pipeline.submission.parts.reading import beside
from codec_superb.pipeline.submission.scrub import scrub
from codec_superb.pipeline.tables.rows import ClipRow, KeptRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

_FOLDERS = re.compile(r"…[/\\](?:[^\s/\\\"']+[/\\])*")
"""The folders left in a shortened path: how many ``pack`` removes depends on which ones it knows."""


@dataclass(frozen=True, slots=True)
class ResultDataset:
    """One dataset of a codec's results."""

    info: DatasetInfo
    """``location`` is None for everything that comes from a submission."""
    custom: bool
    """A custom folder of audio, never compared with a named dataset."""
    metrics: dict[str, str]
    """Metric key to version of its definition."""
    provenance: tuple[Provenance, ...]
    source: Place
    """Run folder or submission file."""
    probes: tuple[ProbeInfo, ...] = ()
    """How applications were run on it, sorted by probe."""
    custom_metrics: Mapping[str, CustomMetric] = field(default_factory=dict)
    """Those of ``metrics`` that are not of the benchmark's table."""
    operations: Operations | None = None
    """What the codec computes for one of its clips."""


@dataclass(frozen=True, slots=True)
class Results:
    """One codec on one or more datasets."""

    card: Card
    datasets: tuple[ResultDataset, ...]
    """Sorted by name."""
    rows: Sequence[ClipRow]
    metrics: dict[str, str]
    """Metric key to version, over all datasets."""
    aggregates: Aggregates
    """Computed here from ``rows`` and ``pairs``."""
    pairs: tuple[KeptRow, ...] = ()
    """Trials and ranks of probes."""
    condition: Condition | None = None
    """What all of it was made under; None for clean runs."""

    @property
    def title(self) -> str:
        """Codec, with the condition where there is one."""
        return titled(self.card, self.condition)

    @property
    def imported(self) -> bool:
        """Whether any of it was resynthesised elsewhere and taken over."""
        return is_imported(stamp for of in self.datasets for stamp in of.provenance)

    def table(self) -> dict[str, Metric]:
        """Return the metric table, and the custom metrics of these results as they describe themselves."""
        found = ((key, one.row(key, of.metrics[key])) for of in self.datasets for key, one in of.custom_metrics.items())
        return METRICS | dict(found)

    def dataset(self, name: str) -> ResultDataset | None:
        """Find a dataset by name."""
        return next((dataset for dataset in self.datasets if dataset.info.name == name), None)


def load_results(path: Place, *, slim: bool = False) -> Results:
    """Load a scored run folder or a submission file.

    Aggregates are computed from the rows; ``slim`` holds of a submission's what numbers follow from, half of it.
    RunFolderError for a run that is missing or not scored; SubmissionError for a file that does not pass its check.
    """
    return _from_submission(path, slim=slim) if path.is_file() else _from_run(path)


def combine(results: Iterable[Results]) -> list[Results]:
    """Join the results of each codec over datasets; one entry a codec and condition, sorted by name, the clean first.

    PipelineError when a codec comes with two different cards, with one dataset twice, or with two versions of a metric.
    """
    by_codec: dict[tuple[str, str], list[Results]] = {}
    for entry in results:
        by_codec.setdefault((entry.card.name, suffix_of(entry.condition)), []).append(entry)
    return [_join(by_codec[name]) for name in sorted(by_codec)]


def _from_run(path: Place) -> Results:
    run = open_run(path)
    info = run.info()
    if info.status != "scored":
        raise RunFolderError(f"{path}: expected a scored run, got one that is {info.status}; call score first")
    dataset = ResultDataset(
        info=info.dataset,
        custom=info.dataset.location is not None,
        metrics=dict(info.metrics),
        provenance=info.provenance,
        source=path,
        probes=tuple(probe for _, probe in sorted(info.probes.items())),
        custom_metrics=info.custom_metrics,
        operations=info.operations,
    )
    rows, pairs = only_probes(run.stored_rows(), run.pairs(), info.probes)
    return _results(info.card, [dataset], rows, pairs, info.condition)


def _from_submission(path: Place, *, slim: bool) -> Results:
    # a file from elsewhere: nothing of it is shown before every number was recomputed
    report, opened = check_and_open(readable(path), parts=beside(path), slim=slim)
    if opened is None or not report.ok:
        first = report.problems[0]
        others = len(report.problems) + report.more - 1
        raise SubmissionError(
            f"{path} does not pass its check: {first.path}: expected {first.expected}, got {first.got}"
            f"{f' (and {others} more)' if others else ''}; {first.how_to_fix}"
        )
    submission = opened.submission
    shared = set(DatasetInfo.model_fields) & set(type(submission.datasets[0]).model_fields)
    datasets = [
        ResultDataset(
            info=DatasetInfo.model_validate(dataset.model_dump(include=shared)),
            custom=submission.kind == "custom",
            metrics=dict(submission.metrics),
            provenance=dataset.provenance,
            source=path,
            probes=dataset.probes,
            custom_metrics=submission.custom_metrics,
            operations=dataset.operations,
        )
        for dataset in submission.datasets
    ]
    return _results(
        submission.codec, datasets, opened.rows, opened.pairs, submission.condition, computed=opened.aggregates
    )


def _results(
    card: Card,
    datasets: Sequence[ResultDataset],
    rows: Sequence[ClipRow],
    pairs: Sequence[KeptRow],
    condition: Condition | None,
    *,
    computed: Aggregates | None = None,
) -> Results:
    """Put results together; aggregates that a check has ``computed`` from the same rows are not computed again."""
    metrics: dict[str, str] = {}
    for dataset in datasets:
        for key, version in dataset.metrics.items():
            if metrics.setdefault(key, version) != version:
                raise PipelineError(
                    f"{card.name}: {key} has version {version} on {dataset.info.name} and {metrics[key]} elsewhere; "
                    "run score again"
                )
    if computed is None:
        clips = {dataset.info.name: dataset.info.clips for dataset in datasets}
        backends = {(dataset.info.name, used.probe): used.backend for dataset in datasets for used in dataset.probes}
        computed = aggregate(rows, metrics=sorted(metrics), expected=clips, pairs=pairs, backends=backends)
    ordered = tuple(sorted(datasets, key=lambda dataset: dataset.info.name))
    return Results(card, ordered, rows, dict(sorted(metrics.items())), computed, tuple(pairs), condition)


def _join(parts: Sequence[Results]) -> Results:
    first = parts[0]
    if len(parts) == 1:
        return first
    names: dict[str, Place] = {}
    for part in parts:
        if apart := _apart(first.card, part.card):
            places = f"{first.datasets[0].source} and {part.datasets[0].source}"
            raise PipelineError(
                f"{part.card.name}: expected one card, got two that differ in {apart} ({places}): these are two codecs "
                "of one name; give one of them, or run both again"
            )
        for dataset in part.datasets:
            other = names.setdefault(dataset.info.name, dataset.source)
            if other != dataset.source:
                raise PipelineError(
                    f"{part.card.name} on {dataset.info.name} comes twice: {other} and {dataset.source}; give one"
                )
    datasets = [dataset for part in parts for dataset in part.datasets]
    pairs = [pair for part in parts for pair in part.pairs]
    stored = [part.rows for part in parts if isinstance(part.rows, StoredRows)]
    rows = StoredRows.joined(stored) if len(stored) == len(parts) else [row for part in parts for row in part.rows]
    return _results(first.card, datasets, rows, pairs, first.condition)


def _apart(one: Card, other: Card) -> str:
    """Return the fields in which two cards of one name differ; '' where they describe one codec."""
    first, second = _identity(one), _identity(other)
    differing = [name for name in first if first[name] != second[name]]
    words = {"weights": f"weights ({describe_weights(one.weights)}; {describe_weights(other.weights)})"}
    return ", ".join(words.get(name, name) for name in differing)


def _identity(card: Card) -> dict[str, str]:
    """Return the fields of a card as JSON: weights by their hashes, and of paths the last part, as submissions may.

    Weights of one hash are equal whatever their source; whether they are untrained is kept.
    """
    fields = card.model_dump(mode="json", exclude=set(UNESSENTIAL))
    if card.delay_source == "found":  # by each run for itself
        fields |= {"delay_samples": None, "delay_source": "declared"}
    if card.weights is not None and card.weights.sha256 is not None:
        fields["weights"] = [card.weights.sha256, card.weights.config_sha256, card.weights.source == "random"]
    # a submission has its paths shortened, a run folder has not: compared as `pack` would write them
    told_as = {name: scrub(json.dumps(value, sort_keys=True, ensure_ascii=False)) for name, value in fields.items()}
    return {name: _FOLDERS.sub("", text) for name, text in told_as.items()}
