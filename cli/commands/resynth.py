"""``codec-superb resynth``: run datasets through codecs."""

from __future__ import annotations

from pathlib import Path

import typer

from codec_superb.cli.console import TerminalProgress, print_json
from codec_superb.cli.options import (
    CategoryOption,
    CodecOption,
    DatasetOption,
    DeviceOption,
    JsonOption,
    LimitOption,
    OutOption,
    OverwriteOption,
    WorkersOption,
)
from codec_superb.cli.outcomes import as_data, exit_code, say
from codec_superb.cli.selection import codec_names


def command(
    codec: CodecOption = None,
    dataset: DatasetOption = None,
    out: OutOption = Path("runs"),
    category: CategoryOption = None,
    device: DeviceOption = "auto",
    workers: WorkersOption = None,
    limit: LimitOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Resynthesise datasets with codecs into <out>/<codec>/<dataset>/; what is finished is not done again."""
    if not codec or not dataset:
        raise typer.BadParameter("name at least one --codec and one --dataset")
    from codec_superb.pipeline.resynth import resynthesise

    with TerminalProgress() as progress:
        outcomes = resynthesise(
            codec_names(codec), dataset, out=out, device=device, workers=workers, limit=limit, overwrite=overwrite,
            category=category, progress=progress,
        )  # fmt: skip
    say(outcomes)
    if as_json:
        print_json(as_data(outcomes))
    raise typer.Exit(exit_code(outcomes))
