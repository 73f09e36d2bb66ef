"""``codec-superb check``: validate submission files and recompute their aggregates, as the leaderboard does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.data_manifests.objects.store_path import Place
    from codec_superb.pipeline.submission.findings import CheckReport

FAULTS = 3


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILE.zip…", help="Submission files, or their URLs.")],
    as_json: JsonOption = False,
) -> None:
    """Check submission files: schema, rows, every aggregate recomputed; exit 3 when one has a fault."""
    from codec_superb.data_manifests.objects.store_path import place_of, readable
    from codec_superb.pipeline.submission.check import check
    from codec_superb.pipeline.submission.known_datasets import prepared_dataset
    from codec_superb.pipeline.submission.parts.reading import beside

    reports = {
        place: check(readable(place), known=prepared_dataset, parts=beside(place)) for place in map(place_of, files)
    }
    if as_json:
        print_json([{"file": str(file), **report.model_dump(mode="json")} for file, report in reports.items()])
    else:
        for file, report in reports.items():
            _say(file, report)
    if not all(report.ok for report in reports.values()):
        raise typer.Exit(FAULTS)


def _say(file: Place, report: CheckReport) -> None:
    verdict = "ok" if report.ok else count(len(report.problems) + report.more, "problem")
    about = f" ({report.codec} on {', '.join(report.datasets)}, {count(report.clips, 'clip')})" if report.codec else ""
    typer.echo(f"{plain_path(file)}: {verdict}{about}")
    for problem in report.problems:
        typer.echo(f"  {problem.path}: expected {problem.expected}, got {problem.got}. {problem.how_to_fix}")
    if report.more:
        typer.echo(f"  and {report.more} more problems, of which these are one of each kind")
    for text in report.notes:
        typer.echo(f"  note: {text}")
