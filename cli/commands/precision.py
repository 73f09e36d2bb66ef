"""``codec-superb precision``: the effect of lower precision or compilation of a neural codec on score and speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.commands.compare import print_comparison as say_comparison
from codec_superb.cli.console import TerminalProgress, note, print_json
from codec_superb.cli.options import (
    BatchOption,
    CategoryOption,
    DatasetOption,
    DeviceOption,
    ExecutorOption,
    JsonOption,
    LimitOption,
    MetricOption,
    OverwriteOption,
    WeightsOption,
    WorkersOption,
    plain_path,
)
from codec_superb.cli.outcomes import CLIPS_FAILED, SHOWN
from codec_superb.cli.selection import dataset_specs
from codec_superb.web.text import significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codec_superb.pipeline.precision import PrecisionReport, VariantFailure, VariantReport


def command(
    codec: Annotated[str, typer.Argument(metavar="CODEC", help="A neural codec of the main environment.")],
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME…",
            help="bfloat16, float16, compile, or both as bfloat16+compile.",
            show_default="bfloat16 float16",
        ),
    ] = None,
    dataset: DatasetOption = None,
    out: Annotated[Path, typer.Option("--out", help="Folder: <out>/<variant>/ for the runs.")] = Path("precision"),
    metric: MetricOption = None,
    category: CategoryOption = None,
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    batch: BatchOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    limit: LimitOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a codec in float32 and in other precisions, and report the paired differences of every metric and score."""
    if not dataset:
        raise typer.BadParameter("name at least one --dataset")
    from codec_superb.pipeline.output_file import write_output
    from codec_superb.pipeline.precision import DEFAULT_VARIANTS, Variant, measure_precision
    from codec_superb.pipeline.workers.executors import open_executor

    variants = [Variant.parse(name) for name in variant or DEFAULT_VARIANTS]
    with TerminalProgress() as progress, open_executor(executor, workers, device=device, tell=progress.message) as pool:
        report = measure_precision(
            codec, variants, dataset_specs(dataset), out=out, weights=weights, device=device, batch=batch,
            metrics=metric, executor=pool, limit=limit, overwrite=overwrite, category=category, progress=progress,
        )  # fmt: skip
    file = out / f"{report.codec}.json"
    write_output(file, report.model_dump_json(indent=1).encode())
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _say(report)
        typer.echo(f"\nreport: {plain_path(file)}")
    raise typer.Exit(0 if report.complete else CLIPS_FAILED)


def _say(report: PrecisionReport) -> None:
    typer.echo(f"{report.codec} on {report.device}, {report.processor}; weights: {report.weights}")
    if report.weights == "random":
        typer.echo("untrained weights: these differences do not hold for a trained model")
    _say_failed("float32", report.failed)
    for variant in report.variants:
        typer.echo(f"\n== {variant.variant} against float32")
        print_variant(variant)


def print_variant(report: VariantReport) -> None:
    """Print the comparison of one variant with float32."""
    if report.comparison is not None:
        say_comparison(report.comparison)
    if (tokens := report.tokens) is not None:
        first, last = tokens.by_codebook[0], tokens.by_codebook[-1]
        typer.echo(
            f"equal tokens: {tokens.equal:.2%} of {tokens.tokens} (first codebook {first:.2%}, last {last:.2%}); "
            f"all of them in {tokens.clips_equal} of {tokens.clips} clips"
        )
    if (speed := report.speed) is not None:
        typer.echo(
            f"speed: {significant(speed.ratio, 3)} times that of float32 ({significant(speed.variant_s, 3)} s against "
            f"{significant(speed.float32_s, 3)} s for {speed.clips} clips, both ways), "
            f"{significant(speed.median_ratio, 3)} times on the median clip"
        )
    for reason in report.left_out:
        typer.echo(f"left out: {reason}")
    _say_failed(report.variant, report.failed)


def _say_failed(variant: str, failed: Sequence[VariantFailure]) -> None:
    for entry in failed[:SHOWN]:
        note(f"  failed: {variant} / {entry.dataset} / {entry.clip} ({entry.stage}): {entry.reason}")
    if len(failed) > SHOWN:
        note(f"  and {len(failed) - SHOWN} more; all are in the report")
