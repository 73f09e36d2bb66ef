"""``codec-superb check-judge``: how far a judge agrees with answers that are labelled for this project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import TerminalProgress, print_json
from codec_superb.cli.options import JsonOption


def command(
    judge: Annotated[str, typer.Argument(metavar="NAME", help="Configuration of the judge, as for probe --judge.")],
    weights: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of configurations.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Test a judge: its agreement with 63 labelled answers, and how often places decide."""
    from codec_superb.applications.understanding.judging.agreement import agreement, trial_requests
    from codec_superb.applications.understanding.judging.judge import TextJudge
    from codec_superb.pipeline.probing.judging import Judge

    with TerminalProgress() as progress:
        asked = Judge(TextJudge(judge, weights), progress)
        try:
            found = agreement(asked.ask(trial_requests(), "labelled answers"))
        finally:
            asked.close()
    if as_json:
        print_json(found._asdict())
        return
    typer.echo(f"agreement with {found.answers} labels: {found.accuracy:.1f} %; unreadable: {found.unread}")
    typer.echo(f"Cohen's kappa: {found.kappa:.2f} [{found.kappa_low:.2f}, {found.kappa_high:.2f}]")
    for kind, accuracy in found.by_kind.items():
        typer.echo(f"  {kind}: {accuracy:.1f} %")
    typer.echo(f"judged by place: {found.order_pct:.1f} % of pairs")
