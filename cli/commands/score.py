"""``codec-superb score``: compute metrics on runs, or on two folders of audio made by other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from codec_superb.cli.console import TerminalProgress, print_json, print_table
from codec_superb.cli.options import (
    CategoryOption,
    JsonOption,
    MetricOption,
    OverwriteOption,
    PesqOption,
    WorkersOption,
)
from codec_superb.cli.outcomes import CLIPS_FAILED, as_data, exit_code, print_outcomes
from codec_superb.metrics.table import Backends, Category


def command(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN…", help="Run folders, or folders of them.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Folder of original audio.")] = None,
    resynthesis: Annotated[Path | None, typer.Option(help="Folder of what a codec made of it, same paths.")] = None,
    metric: MetricOption = None,
    category: CategoryOption = None,
    pesq_backend: PesqOption = "fast",
    workers: WorkersOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score runs; or, with --reference and --resynthesis, two folders paired by relative path."""
    folders = reference is not None and resynthesis is not None
    if folders == bool(runs) or (reference is None) != (resynthesis is None):
        raise typer.BadParameter("give either RUN… or both --reference DIR and --resynthesis DIR")
    backends = (("pesq", str(pesq_backend)),)
    if reference is not None and resynthesis is not None:
        raise typer.Exit(_score_folders(reference, resynthesis, metric, category, workers, backends, as_json=as_json))
    from codec_superb.pipeline.scoring.stage import score

    with TerminalProgress() as progress:
        outcomes = score(
            runs or [], metrics=metric, workers=workers, overwrite=overwrite, backends=backends, progress=progress
        )
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
    backends: Backends,
    *,
    as_json: bool,
) -> int:
    """Score two folders of audio and print a row per clip; return the exit code."""
    from codec_superb.pipeline.scoring.folders import score_folders

    with TerminalProgress() as progress:
        rows, ran = score_folders(
            reference, resynthesis, metrics=metrics, category=category, workers=workers, backends=backends,
            progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(
            [
                row.model_dump(mode="json") | {"backends": {key: ran[key] for key in row.metrics if key in ran}}
                for row in rows
            ]
        )
    else:
        keys = list(dict.fromkeys(key for row in rows for key in row.metrics))
        cells = [
            (
                row.clip,
                *(_cell(row.metrics[key].value, row.metrics[key].status) if key in row.metrics else "" for key in keys),
            )
            for row in rows
        ]
        means = (_mean([row.metrics[key].value for row in rows if key in row.metrics]) for key in keys)
        print_table("", ("clip", *keys), [*cells, ("mean", *means)])
    failed = [row for row in rows if row.status == "failed" or any(v.status == "failed" for v in row.metrics.values())]
    for row in failed:
        reasons = (
            [row.error] if row.error else [f"{k}: {v.reason}" for k, v in row.metrics.items() if v.status == "failed"]
        )
        typer.echo(f"failed: {row.clip}: {'; '.join(reasons)}", err=True)
    return CLIPS_FAILED if failed else 0


def _mean(values: Sequence[float | None]) -> str:
    """Average the values that exist, and say over how many clips where some have none."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return f"{fmean(known):.4f}" + (f" ({len(known)})" if len(known) < len(values) else "")


def _cell(value: float | None, status: str) -> str:
    return status if value is None else f"{value:.4f}"
