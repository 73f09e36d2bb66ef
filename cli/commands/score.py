"""``codec-superb score``: compute metrics on runs, or on two folders of audio made by other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json, print_table
from codec_superb.cli.options import (
    CategoryOption,
    ExecutorOption,
    JsonOption,
    MetricOption,
    OverwriteOption,
    PesqOption,
    ShardOption,
    SomeRunsArgument,
    WorkersOption,
)
from codec_superb.cli.outcomes import CLIPS_FAILED, as_data, exit_code, print_outcomes
from codec_superb.metrics.table import Backends, Category

if TYPE_CHECKING:
    from codec_superb.pipeline.scoring.fit import Fitted
    from codec_superb.pipeline.tables.rows import ClipRow


def command(
    runs: SomeRunsArgument = None,
    reference: Annotated[Path | None, typer.Option(help="Folder of original audio.")] = None,
    resynthesis: Annotated[Path | None, typer.Option(help="Folder of what a codec made of it, same paths.")] = None,
    metric: MetricOption = None,
    category: CategoryOption = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="Of two folders: resample, and cut or pad by up to 0.25 s; it is noted.")
    ] = False,
    pesq_backend: PesqOption = "fast",
    shard: ShardOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score runs; or, with --reference and --resynthesis, two folders paired by relative path."""
    folders = reference is not None and resynthesis is not None
    if folders == bool(runs) or (reference is None) != (resynthesis is None):
        raise typer.BadParameter("give either RUN… or both --reference DIR and --resynthesis DIR")
    if fit and not folders:
        raise typer.BadParameter("--fit is for --reference and --resynthesis: what a run has stored fits")
    if shard and folders:
        raise typer.BadParameter("--shard is for runs: two folders are scored whole")
    backends = (("pesq", str(pesq_backend)),)
    if reference is not None and resynthesis is not None:
        raise typer.Exit(
            _score_folders(
                reference, resynthesis, metric, category, workers, executor, backends, fit=fit, as_json=as_json
            )
        )
    from codec_superb.pipeline.runs.shard import Shard
    from codec_superb.pipeline.scoring.stage import score
    from codec_superb.pipeline.workers.executors import open_executor

    with TerminalProgress() as progress, open_executor(executor, workers, tell=progress.message) as pool:
        outcomes = score(
            runs or [], metrics=metric, shard=Shard.parse(shard) if shard else None, overwrite=overwrite,
            backends=backends, progress=progress, executor=pool,
        )  # fmt: skip
    print_outcomes(outcomes)
    if as_json:
        print_json(as_data(outcomes))
    raise typer.Exit(exit_code(outcomes))


def _score_folders(
    reference: Path,
    resynthesis: Path,
    metrics: list[str] | None,
    category: Category | None,
    workers: int | None,
    executor: str,
    backends: Backends,
    *,
    fit: bool,
    as_json: bool,
) -> int:
    """Score two folders of audio and print a row per clip; return the exit code."""
    from codec_superb.pipeline.scoring.folders import score_folders
    from codec_superb.pipeline.workers.executors import open_executor

    with TerminalProgress() as progress, open_executor(executor, workers, tell=progress.message) as pool:
        rows, fitted, ran = score_folders(
            reference, resynthesis, metrics=metrics, category=category, fit=fit, backends=backends,
            progress=progress, executor=pool,
        )  # fmt: skip
    if as_json:
        print_json(
            [
                row.model_dump(mode="json")
                | {"backends": {key: ran[key] for key in row.metrics if key in ran}}
                | {"fitted": fitted[row.clip]._asdict() if row.clip in fitted else None}
                for row in rows
            ]
        )
    else:
        keys = list(dict.fromkeys(key for row in rows for key in row.metrics))
        cells = [
            (
                row.clip,
                *([_fitted(row, fitted)] if fit else []),
                *(_cell(row.metrics[key].value, row.metrics[key].status) if key in row.metrics else "" for key in keys),
            )
            for row in rows
        ]
        means = (_mean([row.metrics[key].value for row in rows if key in row.metrics]) for key in keys)
        head = ("clip", *(["fitted"] if fit else []))
        print_table("", (*head, *keys), [*cells, ("mean", *([""] if fit else []), *means)])
    if fitted:
        note(_summary(rows, fitted))
    failed = [row for row in rows if row.status == "failed" or any(v.status == "failed" for v in row.metrics.values())]
    for row in failed:
        reasons = (
            [row.error] if row.error else [f"{k}: {v.reason}" for k, v in row.metrics.items() if v.status == "failed"]
        )
        typer.echo(f"failed: {row.clip}: {'; '.join(reasons)}", err=True)
    return CLIPS_FAILED if failed else 0


def _fitted(row: ClipRow, fitted: Mapping[str, Fitted]) -> str:
    """Say what was done to a resynthesis: ``48000 Hz, −312 samples``."""
    if row.clip not in fitted:
        return ""
    its = fitted[row.clip]
    done = [f"{its.from_rate} Hz"] if its.from_rate != row.sampling_rate else []
    return ", ".join([*done, *([f"{its.added_samples:+d} samples"] if its.added_samples else [])])


def _summary(rows: Sequence[ClipRow], fitted: Mapping[str, Fitted]) -> str:
    """Count what was fitted, and say by how much at most."""
    rates = {row.clip: row.sampling_rate or 1 for row in rows}
    resampled = sum(its.from_rate != rates[clip] for clip, its in fitted.items())
    changed = [abs(its.added_samples) / rates[clip] for clip, its in fitted.items() if its.added_samples]
    return (
        f"fitted to their references: {len(fitted)} of {len(rows)} resyntheses; {resampled} resampled, {len(changed)} "
        f"cut or padded at the end, by {max(changed, default=0.0) * 1000:.1f} ms at most"
    )


def _mean(values: Sequence[float | None]) -> str:
    """Average the values that exist, and say over how many clips where some have none."""
    from statistics import fmean

    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return f"{fmean(known):.4f}" + (f" ({len(known)})" if len(known) < len(values) else "")


def _cell(value: float | None, status: str) -> str:
    return status if value is None else f"{value:.4f}"
