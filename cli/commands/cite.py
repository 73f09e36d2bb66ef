"""``codec-superb cite``: BibTeX of everything that runs used."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path


def command(
    sources: Annotated[list[Path], typer.Argument(metavar="RUN|FILE…", help="Run folders or submission files.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="File to write, FILE.bib; else to stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print BibTeX of the codecs, datasets, metrics and models that runs used, from what their cards and tables say."""
    from codec_superb.cli.commands.report import load
    from codec_superb.cli.paper.citations import cited_by
    from codec_superb.pipeline.output_file import write_output
    from codec_superb.web.paper.bibtex import bibliography

    cited = cited_by(load(sources))
    text = bibliography(cited)
    if out is not None:
        write_output(out, text.encode())
        note(f"references: {plain_path(out)}")
    if as_json:
        print_json([asdict(one) for one in cited])
    elif out is None:
        typer.echo(text, nl=False)
