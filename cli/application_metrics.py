"""Application metrics in the terminal: a table per dataset and metric, a row per codec, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from codec_superb.applications.table import COMPOSITES, PROBE_METRICS
from codec_superb.cli.console import print_table
from codec_superb.web import text

if TYPE_CHECKING:
    from pathlib import Path

    from codec_superb.applications.probe import ProbeMetric
    from codec_superb.applications.results import ApplicationAggregate
    from codec_superb.metrics.results import Score
    from codec_superb.pipeline.runs.outcome import RunOutcome
    from codec_superb.pipeline.tables.rows import ClipRow, KeptRow

HEAD = ("codec", "reference", "value", "95 % interval", "loss", "95 % interval", "clips")


class CodecProbeMetric(NamedTuple):
    """One application metric of one codec."""

    codec: str
    backend: str
    """Model that made the predictions; '' for a metric over several probes."""
    numbers: ApplicationAggregate
    short_clips: tuple[str, ...] = ()
    """Clips below 2 s, of a model that repeats short clips."""


def measured_metrics(outcomes: Sequence[RunOutcome]) -> list[CodecProbeMetric]:
    """Compute the metrics of the requested probes, codec by codec."""
    from codec_superb.pipeline.aggregates.applications import aggregate_applications
    from codec_superb.pipeline.aggregates.evidence import only_probes, short_clips
    from codec_superb.pipeline.runs.folder import RunFolder

    by_codec: dict[Path, list[RunOutcome]] = {}
    for outcome in outcomes:
        by_codec.setdefault(outcome.path.parent, []).append(outcome)
    found: list[CodecProbeMetric] = []
    for runs in by_codec.values():
        rows: list[ClipRow] = []
        pairs: list[KeptRow] = []
        models: dict[tuple[str, str], str] = {}
        short: dict[tuple[str, str], tuple[str, ...]] = {}
        for run in runs:
            folder = RunFolder(run.path)
            infos = {key: info for key, info in folder.info().probes.items() if key in run.probes}
            models |= {(run.dataset, key): info.backend for key, info in infos.items()}
            its_rows, its_pairs = only_probes(folder.stored_rows(), folder.pairs(), infos)
            short |= {(run.dataset, key): short_clips(its_rows, info, run.dataset) for key, info in infos.items()}
            rows += its_rows
            pairs += its_pairs
        found += [
            CodecProbeMetric(runs[0].codec, models.get(place, ""), numbers, short.get(place, ()))
            for numbers in aggregate_applications(rows, pairs)
            for place in ((numbers.dataset, numbers.probe),)
        ]
    return found


def metrics_as_data(figures: Sequence[CodecProbeMetric]) -> list[dict[str, Any]]:
    """Return application metrics as plain data for ``--json``."""
    return [
        {
            "codec": of.codec,
            "backend": of.backend,
            **of.numbers.model_dump(mode="json"),
            "short_clips": list(of.short_clips),
        }
        for of in figures
    ]


def print_metrics(figures: Sequence[CodecProbeMetric]) -> None:
    """Print a table for each dataset and metric."""
    blocks: dict[tuple[str, str, str], list[CodecProbeMetric]] = {}
    for of in figures:
        blocks.setdefault((of.numbers.dataset, of.numbers.figure, of.backend), []).append(of)
    for (dataset, key, backend), members in blocks.items():
        row = PROBE_METRICS[key] if key in PROBE_METRICS else COMPOSITES[key]
        rows = [_cells(of, row) for of in sorted(members, key=lambda of: _place(of, row))]
        arrow = "↑" if row.higher_is_better else "↓"
        where = ", ".join(filter(None, (dataset, backend)))
        print_table(f"{row.label} {arrow} ({where})", HEAD, rows)
        print()


def short_notes(figures: Sequence[CodecProbeMetric]) -> list[str]:
    """Return, for each dataset and model that repeats short clips, how many it repeated."""
    found = {(of.backend, of.numbers.dataset): (len(of.short_clips), of.numbers.n) for of in figures if of.short_clips}
    return [
        f"{backend} on {dataset}: {short} of {n} clips are shorter than 2 s, which the model repeats: single scores "
        "depend on their length; --json names them"
        for (backend, dataset), (short, n) in found.items()
    ]


def ultra_notes(figures: Sequence[CodecProbeMetric]) -> list[str]:
    """Return for each codec why it has no UltraEval-Audio average: missing metrics, or other models."""
    from codec_superb.applications.ultra.protocol import protocol_deviations, readiness

    notes = []
    for codec in dict.fromkeys(of.codec for of in figures):
        own = [of for of in figures if of.codec == codec]
        found = {(of.numbers.dataset, of.numbers.figure): of.numbers.resynthesis.value for of in own}
        values = {place: value for place, value in found.items() if value is not None}
        models = {(of.numbers.dataset, of.numbers.probe): of.backend for of in own if of.backend}
        reasons = [readiness(values).explained(), *(f"{departure}." for departure in protocol_deviations(models))]
        if told := " ".join(filter(None, reasons)):
            notes.append(f"{codec}: {told}")
    return notes


def _place(of: CodecProbeMetric, row: ProbeMetric) -> tuple[bool, float, str]:
    value = of.numbers.resynthesis.value
    signed = 0.0 if value is None else -value if row.higher_is_better else value
    return value is None, signed, of.codec


def _cells(of: CodecProbeMetric, row: ProbeMetric) -> tuple[str, ...]:
    numbers = of.numbers
    clips = f"{numbers.n}" + (f" of {numbers.n + numbers.failed}" if numbers.failed else "")
    left_out = f", {numbers.left_out} left out" if numbers.left_out else ""
    return (
        of.codec,
        _number(numbers.reference, row),
        _number(numbers.resynthesis, row),
        _interval(numbers.resynthesis, row),
        _number(numbers.loss, row),
        _interval(numbers.loss, row),
        clips + left_out,
    )


def _number(score: Score, row: ProbeMetric) -> str:
    return text.number(score.value, row.decimals) + (f" {row.unit}" if row.unit and score.value is not None else "")


def _interval(score: Score, row: ProbeMetric) -> str:
    return text.interval(score.low, score.high, row.decimals)
