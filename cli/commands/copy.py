"""``codec-superb copy``: finished runs and datasets into a store, and from one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json
from codec_superb.cli.options import JsonOption


def command(
    source: Annotated[str, typer.Argument(metavar="FOLDER|URL", help="Runs or a dataset: a folder, or its URL.")],
    target: Annotated[str, typer.Argument(metavar="URL|FOLDER", help="Where to; one of the two is a URL.")],
    as_json: JsonOption = False,
) -> None:
    """Copy finished runs or a dataset into an object store, or from one; what is there already is not copied again."""
    from codec_superb.data_manifests.objects.urls import is_url
    from codec_superb.pipeline.runs.stored import get, put

    if is_url(source) == is_url(target):
        raise typer.BadParameter("name a folder and a URL (s3://BUCKET/PATH), in the order of the copy")
    with TerminalProgress() as progress:
        copied = put(Path(source), target, progress) if is_url(target) else get(source, Path(target), progress)
    note(f"{copied} files copied, all others were there")
    if as_json:
        print_json({"copied": copied})
