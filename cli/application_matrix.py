"""Application metrics as one table per dataset: a row per codec, the original audio first, and a column per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codec_superb.applications.table import COMPOSITES, PROBE_METRICS, is_benchmark, probe_of_metric
from codec_superb.cli.console import print_table
from codec_superb.web import text

if TYPE_CHECKING:
    from codec_superb.applications.probe import ProbeMetric
    from codec_superb.pipeline.comparison.results import Results

ORIGINAL = "(original)"
_SPARE = ("dnsmos_sig", "dnsmos_bak")
"""Metrics that are omitted on a narrow terminal: components of another metric."""


def as_data(results: Sequence[Results]) -> list[dict[str, Any]]:
    """Return each application metric of each codec with its ceiling and its model, as plain data."""
    return [
        {
            "codec": entry.card.name,
            "dataset": of.dataset,
            "figure": of.figure,
            "backend": _backend(entry, of.dataset, of.probe),
            "reference": of.reference.value,
            "value": of.resynthesis.value,
            "clips": of.n,
            "failed": of.failed,
            "left_out": of.left_out,
        }
        for entry in results
        for of in entry.aggregates.applications
    ]


def _backend(entry: Results, dataset: str, probe: str) -> str:
    found = entry.dataset(dataset)
    return next((used.backend for used in found.probes if used.probe == probe), "") if found else ""


def print_matrix(data: Sequence[dict[str, Any]], order: Sequence[str]) -> None:
    """Print a table for each dataset, and one for the tasks of a benchmark: of each the figure that stands for it.

    Codecs are in ``order``, the order of the ranking.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in data:
        if (benchmark := _benchmark(entry["figure"])) is not None:
            groups.setdefault((entry["dataset"], benchmark), []).append(entry)
    for (dataset, benchmark), chosen in groups.items():
        columns = list(dict.fromkeys((entry["figure"], entry["backend"]) for entry in chosen))
        cells = {(entry["codec"], entry["figure"], entry["backend"]): entry for entry in chosen}
        codecs = [codec for codec in dict.fromkeys(order) if any(entry["codec"] == codec for entry in chosen)]
        ceilings = [_number(_ceiling(chosen, *column), column[0]) for column in columns]
        rows = [(ORIGINAL, *ceilings), *((codec, *_values(cells, codec, columns)) for codec in codecs)]
        heads = [_head(figure).removeprefix(f"{benchmark}_") for figure, _ in columns]
        spare = [head for head, (figure, _) in zip(heads, columns, strict=True) if figure in _SPARE]
        title = f"{benchmark.upper() or 'applications'} ({dataset or 'all datasets'})"
        table: list[tuple[str, ...]] = [("codec", *heads), *rows]
        if benchmark and len(rows) < len(columns):  # names of tasks are long, and few codecs fit beside them
            table = [("task", *table[0][1:]), *table[1:]]
            table = list(zip(*table, strict=True))
        print_table(title, table[0], table[1:], spare=spare)
        models = dict.fromkeys(backend for _, backend in columns if backend)
        print(f"by {', '.join(models)}; docs/{benchmark or 'applications'}.md explains each number\n")


def _benchmark(figure: str) -> str | None:
    """Return the benchmark of a figure that stands for one of its tasks, '' for one of no benchmark, else None."""
    name = figure.partition("_")[0]
    if not is_benchmark(name):
        return ""
    return name if figure in COMPOSITES or probe_of_metric(figure).primary == figure else None


def _values(
    cells: dict[tuple[str, str, str], dict[str, Any]], codec: str, columns: Sequence[tuple[str, str]]
) -> list[str]:
    found = [(cells.get((codec, *column)), column[0]) for column in columns]
    return [_number(entry["value"], key) + ("*" if entry["failed"] else "") if entry else "" for entry, key in found]


def _ceiling(chosen: Sequence[dict[str, Any]], figure: str, backend: str) -> float | None:
    """Return the ceiling from the codec with most clips, since failed clips are missing from the ceiling too."""
    found = [entry for entry in chosen if (entry["figure"], entry["backend"]) == (figure, backend)]
    best: float | None = max(found, key=lambda entry: entry["clips"])["reference"]
    return best


def _row(figure: str) -> ProbeMetric:
    return PROBE_METRICS[figure] if figure in PROBE_METRICS else COMPOSITES[figure]


def _head(figure: str) -> str:
    row = _row(figure)
    return f"{row.key.removesuffix('_pct')}{' %' if row.unit == '%' else ''} {'↑' if row.higher_is_better else '↓'}"


def _number(value: float | None, figure: str) -> str:
    return text.number(value, _row(figure).decimals)
