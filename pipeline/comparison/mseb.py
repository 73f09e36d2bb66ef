"""Results of a codec as MSEB's result files: a folder for each model that listened, a file a task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from codec_superb.applications.mseb.exchange import Encoding, exported
from codec_superb.applications.mseb.result_json import SUFFIX, MsebResult
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import PROBE_METRICS
from codec_superb.pipeline.comparison.results import ResultDataset, Results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables.rows import ClipRow


def mseb_files(results: Results) -> Mapping[str, Sequence[MsebResult]]:
    """Return the results of MSEB's tasks by ``<encoder>/<task>.jsonl``; none of a codec without such probes.

    Raises PipelineError for datasets whose tasks have one name. Results under a condition have none: MSEB has no name
    for it.
    """
    if results.condition is not None:
        return {}
    models = {(of.info.name, probe.probe): probe.backend for of in results.datasets for probe in of.probes}
    found: dict[str, Sequence[MsebResult]] = {}
    for measured in results.datasets:
        dataset = measured.info.name
        own = [each for each in _aggregates(results) if each.dataset == dataset]
        by_model: dict[str, list[ApplicationAggregate]] = {}
        for each in own:
            by_model.setdefault(models.get((dataset, each.probe), ""), []).append(each)
        for backend, members in by_model.items():
            size, flops = _mean_bytes(results, dataset, {each.probe for each in members}), _flops(measured)
            encoding = Encoding(results.card.name, backend, size, flops, results.card.homepage)
            for task, lines in exported(encoding, members, PROBE_METRICS).items():
                path = f"{encoding.name}/{task}{SUFFIX}"
                if path in found:
                    raise PipelineError(f"{path}: expected one dataset of that name, got {dataset} as another one")
                found[path] = lines
    return found


def _aggregates(results: Results) -> Sequence[ApplicationAggregate]:
    return (*results.aggregates.applications, *results.aggregates.slices)


def _flops(measured: ResultDataset) -> float | None:
    """Return the operations that encode the clip on which they were counted; None where some or all are not known."""
    counted = measured.operations
    if counted is None or counted.encode.per_second is None or counted.encode.unseen:
        return None
    return counted.encode.per_second * counted.seconds


def _mean_bytes(results: Results, dataset: str, probes: Collection[str]) -> float | None:
    """Return the mean payload of the clips that took part in any of the probes, which one model answered for."""
    sizes = [
        row.bits / 8
        for row in results.rows
        if row.dataset == dataset and row.bits is not None and _takes_part(row, probes)
    ]
    return sum(sizes) / len(sizes) if sizes else None


def _takes_part(row: ClipRow, probes: Collection[str]) -> bool:
    return any(found.status == "ok" for key, found in row.probes.items() if key in probes)
