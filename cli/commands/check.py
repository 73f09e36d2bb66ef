"""``codec-superb check``: does a submission say the truth about itself? The leaderboard asks the same question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption, plain_path

if TYPE_CHECKING:
    from codec_superb.pipeline.submission.check import KnownDataset
    from codec_superb.pipeline.submission.findings import CheckReport

FAULTS = 3


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.zip…", help="Submission files.")],
    as_json: JsonOption = False,
) -> None:
    """Check submission files: schema, rows, every aggregate recomputed; exit 3 when one has a fault."""
    from codec_superb.pipeline.submission.check import check

    known = known_datasets()
    reports = {file: check(file, known=known) for file in files}
    if as_json:
        print_json([{"file": str(file), **report.model_dump(mode="json")} for file, report in reports.items()])
    else:
        for file, report in reports.items():
            _say(file, report)
    if not all(report.ok for report in reports.values()):
        raise typer.Exit(FAULTS)


def known_datasets(names: Iterable[str] | None = None) -> dict[str, KnownDataset]:
    """Return what this machine knows of the named datasets that are prepared or indexed here."""
    from codec_superb.data_manifests import DatasetError, open_dataset
    from codec_superb.data_manifests.catalogue import manifest_names
    from codec_superb.pipeline.submission.check import KnownDataset

    known = {}
    for name in manifest_names() if names is None else names:
        try:
            dataset = open_dataset(name)
        except DatasetError:  # not on this machine: `check` says that it was not verified
            continue
        categories = {clip_id: dataset.clip(clip_id).category for clip_id in dataset.clip_ids()}
        known[name] = KnownDataset(dataset.manifest_hash, categories)
    return known


def _say(file: Path, report: CheckReport) -> None:
    verdict = "ok" if report.ok else f"{len(report.problems) + report.more} problems"
    about = f"{report.codec or 'unreadable'} on {', '.join(report.datasets) or 'nothing'}, {report.clips} clips"
    typer.echo(f"{plain_path(file)}: {verdict} ({about})")
    for problem in report.problems:
        typer.echo(f"  {problem.path}: expected {problem.expected}, got {problem.got}. {problem.how_to_fix}")
    if report.more:
        typer.echo(f"  and {report.more} more problems")
    for text in report.notes:
        typer.echo(f"  note: {text}")
