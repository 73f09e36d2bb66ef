"""``codec-superb compare``: compare two codecs on their shared clips, or one with its published figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.web.text import number, p_value, percent, signed

if TYPE_CHECKING:
    from codec_superb.pipeline.comparison.codecs import ComparisonReport
    from codec_superb.pipeline.statistics.effect import PairedTest
    from codec_superb.pipeline.statistics.paired import Difference

COLUMNS = ("", "first", "second", "difference", "95 % interval", "first better", "clips", "wins/losses")
TESTED = ("p", "effect r", "d_z", "clusters")

EXPLAINED = (
    "p: Wilcoxon's signed-rank test, two-sided, over clusters (speakers, recordings), not corrected for the number of "
    "metrics; effect r: matched-pairs rank-biserial correlation, d_z: Cohen's; positive where the first is better"
)

PUBLISHED_COLUMNS = ("", "ours", "95 % interval", "published", "difference")


def command(
    first: Annotated[
        str, typer.Argument(metavar="A", help="Run folder, a codec's folder, or submission file; or its URL.")
    ],
    second: Annotated[str | None, typer.Argument(metavar="B", help="The same of another codec.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Against the published figures of A's codec.")] = False,
    across: Annotated[bool, typer.Option("--across-conditions", help="Two codecs under different conditions.")] = False,
    table: Annotated[Path | None, typer.Option(help="The differences as a table, FILE.tex, .md or .csv.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two codecs, paired, on the clips both have: differences with 95 % intervals by speaker or recording."""
    if published == (second is not None):
        raise typer.BadParameter("give either a second codec, B, or --published")
    if table is not None and published:
        raise typer.BadParameter("--table is of two codecs: leave --published out")
    if second is None:
        _compare_published(first, as_json=as_json)
        return
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.comparison.codecs import compare

    report = compare(place_of(first), place_of(second), across_conditions=across)
    if table is not None:
        _write(report, table)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_comparison(report)


def _write(report: ComparisonReport, path: Path) -> None:
    from codec_superb.cli.paper.comparison import difference_rows
    from codec_superb.pipeline.output_file import write_output
    from codec_superb.web.paper.differences import difference_grid
    from codec_superb.web.paper.grid import written_grid

    first, second = (
        f"{name} ({', '.join(notes)})" if notes else name
        for name, notes in ((report.first, report.first_notes), (report.second, report.second_notes))
    )
    grid = difference_grid((report.first, report.second), (first, second), list(difference_rows(report)), EXPLAINED)
    write_output(path, written_grid(grid, path.name).encode())


def _compare_published(place: str, *, as_json: bool) -> None:
    """Print a codec's results beside the published figures of its configuration."""
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.comparison.codecs import load_one
    from codec_superb.pipeline.comparison.published import compare_published

    report = compare_published(load_one(place_of(place)))
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    for sentence in report.unlike:
        typer.echo(f"not as published: {sentence}")
    for table, sentences in report.differs.items():
        rows = [
            (
                f"{entry.where}: {entry.figure}", f"{entry.ours:.3f}",
                f"[{entry.low:.3f}, {entry.high:.3f}]" if entry.low is not None and entry.high is not None else "–",
                f"{entry.published:.3f}", signed(entry.difference, 3),
            )
            for entry in report.figures
            if entry.table == table
        ]  # fmt: skip
        if rows:
            print_table(f"{report.codec} and {table}", PUBLISHED_COLUMNS, rows)
            typer.echo("published, not re-run here: " + " ".join(sentences) + "\n")
    for left in report.left_out:
        typer.echo(f"not compared: {left.what}: {left.reason}")


def print_comparison(report: ComparisonReport) -> None:
    """Print the differences, a table for each dataset and category."""
    first, second = ", ".join(["first", *report.first_notes]), ", ".join(["second", *report.second_notes])
    typer.echo(f"{report.first} ({first}) against {report.second} ({second}); differences are first minus second")
    tested = any(metric.test for dataset in report.datasets for metric in dataset.metrics)
    for dataset in report.datasets:
        blank = ("",) * len(TESTED) if tested else ()
        rows = [("overall score", *_cells(dataset.score), str(dataset.shared), "", *blank)]
        rows += [
            (
                metric.metric, *_cells(metric.result), str(metric.n), f"{metric.wins}/{metric.losses}",
                *(_tested(metric.test) if tested else ()),
            )
            for metric in dataset.metrics
            if metric.result is not None or metric.only_first or metric.only_second
        ]  # fmt: skip
        typer.echo("")
        columns = (*COLUMNS, *TESTED) if tested else COLUMNS
        print_table(f"{dataset.dataset}, {dataset.category}", columns, rows, spare=TESTED if tested else ())
        if dataset.only_first or dataset.only_second:
            typer.echo(f"left out: {dataset.only_first} clips only first has, {dataset.only_second} only second has")
    if tested:
        typer.echo("")
        typer.echo(EXPLAINED)
    categories = [(entry.category, *_cells(entry.score), ", ".join(entry.datasets), "") for entry in report.categories]
    typer.echo("")
    print_table("overall score by category", (*COLUMNS[:-2], "datasets", ""), categories)
    _say_applications(report)
    for entry in report.left_out:
        typer.echo(f"not compared: {entry.what}: {entry.reason}")


def _tested(test: PairedTest | None) -> tuple[str, ...]:
    if test is None:
        return ("–",) * len(TESTED)
    effects = (signed(value, 2) for value in (test.rank_biserial, test.cohen_dz))
    return p_value(test.p), *effects, str(test.clusters)


def _say_applications(report: ComparisonReport) -> None:
    """Print the application metrics, a table per dataset, with the model's ceiling on the originals."""
    for dataset in dict.fromkeys(entry.dataset for entry in report.applications):
        rows = [
            (
                entry.figure, *_cells(entry.result), str(entry.n),
                "–" if entry.reference is None else f"{entry.reference:.3f}", entry.backend,
            )
            for entry in report.applications
            if entry.dataset == dataset
        ]  # fmt: skip
        typer.echo("")
        print_table(f"applications on {dataset}", (*COLUMNS[:-1], "originals", "model"), rows)
        for entry in report.applications:
            if entry.dataset == dataset and entry.mcnemar_p is not None:
                typer.echo(
                    f"{entry.figure}: {entry.lost} clips answered rightly with first only, {entry.gained} with second "
                    f"only (McNemar p {p_value(entry.mcnemar_p)})"
                )


def _cells(result: Difference | None) -> tuple[str, ...]:
    if result is None:
        return ("–",) * 5
    known = result.low is not None and result.high is not None  # a single clip has no interval
    interval = f"[{signed(result.low, 3)}, {signed(result.high, 3)}]" if known else "–"
    return (
        number(result.first, 3), number(result.second, 3), signed(result.difference, 3), interval,
        percent(result.first_better if known else None),
    )  # fmt: skip
