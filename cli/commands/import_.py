"""``codec-superb import``: make a run out of sound that was resynthesised elsewhere."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.commands.tokens import print_statistics
from codec_superb.cli.console import TerminalProgress, note, print_json
from codec_superb.cli.options import (
    CategoryOption,
    ExecutorOption,
    JsonOption,
    LimitOption,
    OutOption,
    OverwriteOption,
    WorkersOption,
)
from codec_superb.cli.outcomes import CLIPS_FAILED, SHOWN, as_data, print_outcomes
from codec_superb.cli.selection import dataset_spec

if TYPE_CHECKING:
    from codec_superb.pipeline.importing.stage import Imported

NOTED_LAG_MS = 0.5
"""Lag from which on the terminal mentions it, in milliseconds: metrics that compare samples suffer from less."""
_DIGITS = 9
"""Of a codebook's size: tokens are below 2**31."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the resyntheses, named like the clips.")],
    name: Annotated[str | None, typer.Option(help="Name of the codec: lower-case letters, digits, _ and dots.")] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME|DIR|FILE", help="The dataset whose clips were resynthesised.")
    ] = None,
    kbps: Annotated[float | None, typer.Option(help="Bitrate of the codec, shown as declared.")] = None,
    bits: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Bits of each clip: columns clip (or path) and bits.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of tokens (.npy, .pt), shape (codebooks, frames); or beside the files."
        ),
    ] = None,
    codebook_size: Annotated[
        str | None, typer.Option(metavar="N[,N…]", help="Entries of the codebooks that the tokens come from.")
    ] = None,
    card: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Fields of the codec's card.")] = None,
    resample: Annotated[
        bool, typer.Option("--resample", help="Resample files of another rate to that of their references.")
    ] = False,
    out: OutOption = Path("runs"),
    category: CategoryOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    limit: LimitOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a run of files that a codec resynthesised elsewhere, paired with a dataset's clips by their names."""
    if dataset is None:
        raise typer.BadParameter("name the --dataset whose clips were resynthesised")
    from codec_superb.pipeline.importing.card import Stated
    from codec_superb.pipeline.importing.stage import import_sound
    from codec_superb.pipeline.workers.executors import open_executor

    stated = Stated(name, card, kbps, _sizes(codebook_size))
    with TerminalProgress() as progress, open_executor(executor, workers, tell=progress.message) as pool:
        done = import_sound(
            folder, dataset_spec(dataset), stated=stated, out=out, bits=bits, tokens=tokens, resample=resample,
            category=category, limit=limit, overwrite=overwrite, progress=progress, executor=pool,
        )  # fmt: skip
    print_outcomes([done.outcome])
    for line in _facts(done):
        note(line)
    if as_json:
        statistics = None if done.statistics is None else asdict(done.statistics)
        taken_over = None if done.taken_over is None else done.taken_over.model_dump()
        more = {"strangers": done.strangers, "taken_over": taken_over, "lag_ms": done.lag, "tokens": statistics}
        print_json({**as_data([done.outcome])[0], "bits": done.card.bit_source, **more})
    elif done.statistics is not None:
        print_statistics(done.statistics)
    if not done.complete:
        raise typer.Exit(CLIPS_FAILED)


def _sizes(given: str | None) -> tuple[int, ...]:
    if given is None:
        return ()
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise typer.BadParameter(
            f"--codebook-size: expected whole numbers such as 1024 or 1024,512, got {given[:80]!r}"
        )
    if max(map(len, parts)) > _DIGITS:
        raise typer.BadParameter(f"--codebook-size: expected {10**_DIGITS - 1} entries at most, got {given[:80]!r}")
    return tuple(map(int, parts))


def _facts(done: Imported) -> list[str]:
    """Say what does not fit, what was fitted, and where the bits come from."""
    lines = [f"  {stranger}" for stranger in done.strangers[:SHOWN]]
    if len(done.strangers) > SHOWN:
        lines.append(f"  and {len(done.strangers) - SHOWN} more files or lines; --json lists all")
    made = done.taken_over
    if made is not None and made.fitted:
        longest = f"by {made.longest_ms:.3g} ms at most"
        lines.append(f"{made.fitted} of {made.files} files were cut or padded at the end, {longest}")
    if made is not None and made.resampled:
        lines.append(f"{made.resampled} of {made.files} files were resampled to the rate of their reference")
    if done.lag is not None and abs(done.lag) >= NOTED_LAG_MS:
        late = "late" if done.lag > 0 else "early"
        lines.append(
            f"the resyntheses are {abs(done.lag):.3g} ms {late} (median); nothing was shifted: metrics count it"
        )
    if done.card.bit_source == "declared":
        lines.append(f"bitrate: {done.card.nominal_kbps:g} kbps, declared and not measured")
    elif done.card.bit_source == "unknown":
        lines.append("bitrate: not stated; --kbps, --bits or --tokens gives it, and only what is measured is ranked")
    return lines
