"""``codec-superb tokens``: export a codec's tokens to a Parquet file, decode such a file, show what they are like."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.console import TerminalProgress, note, print_json, print_table
from codec_superb.cli.options import (
    LARGEST_SEED,
    CompileOption,
    DeviceOption,
    DtypeOption,
    JsonOption,
    LimitOption,
    WeightsOption,
    plain_path,
)
from codec_superb.cli.selection import dataset_spec

if TYPE_CHECKING:
    from codec_superb.pipeline.resynthesis.token_statistics import TokenStatistics

FAILED = 3
app = typer.Typer(help="Export a codec's tokens, decode them, show what they are like.", no_args_is_help=True)


@app.command("export")
def export(
    codec: Annotated[str, typer.Option("--codec", help="A codec with codebooks.")],
    dataset: Annotated[
        str,
        typer.Option("--dataset", help="A dataset by name, a folder or a file of audio, or - for a list of files."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write.")],
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    dtype: DtypeOption = "float32",
    compile_model: CompileOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Encode a dataset and write a row of tokens for each clip; print rates, entropy and codebook usage."""
    from codec_superb.pipeline.resynthesis.tokens import export_tokens

    options = CodecOptions(weights, dtype, compile_model)
    with TerminalProgress() as progress:
        done = export_tokens(
            codec, dataset_spec(dataset), output, device=device, options=options, limit=limit, progress=progress
        )
    for clip, reason in done.failed.items():
        note(f"{clip}: {reason}")
    if as_json:
        print_json({"file": done.file, "statistics": asdict(done.statistics), "failed": done.failed})
    else:
        print_statistics(done.statistics)
        typer.echo(f"tokens: {plain_path(done.file)}")
    raise typer.Exit(FAILED if done.failed else 0)


@app.command("show")
def show(
    sound: Annotated[str, typer.Argument(metavar="FILE|DIR", help="A file or folder of sound, or a dataset by name.")],
    codec: Annotated[list[str], typer.Option("--codec", help="A codec with codebooks; may be repeated.")],
    model: Annotated[str, typer.Option("--model", help="Language model whose memory is said.")] = "qwen2.5-0.5b",
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    limit: LimitOption = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="A line of CSV for each codec.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show of each codec's tokens how many there are, how predictable and stable they are, and how it sounds."""
    from codec_superb.cli.tokens.tables import print_codecs, print_csv, refuse_model, tokens_of

    refuse_model(model)
    with TerminalProgress() as progress:
        found = tokens_of(codec, dataset_spec(sound), CodecOptions(weights), device, limit, model, progress)
    for one in found:
        for clip, reason in one.failed.items():
            note(f"{one.codec}: {clip}: {reason}")
    if as_json:
        print_json([asdict(one) for one in found])
    elif as_csv:
        print_csv(found)
    else:
        print_codecs(found)
    raise typer.Exit(FAILED if any(one.failed for one in found) else 0)


@app.command("decode")
def decode(
    file: Annotated[str, typer.Argument(metavar="FILE.parquet", help="What `tokens export` wrote, or its URL.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the sound, a FLAC for each clip.")],
    codec: Annotated[str | None, typer.Option("--codec", help="The codec.", show_default="the file's own")] = None,
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    dtype: DtypeOption = "float32",
    compile_model: CompileOption = False,
    as_json: JsonOption = False,
) -> None:
    """Decode a file of tokens to <out>/<clip>.flac, the resynthesis that resynth gives."""
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.resynthesis.tokens import decode_tokens

    options = CodecOptions(weights, dtype, compile_model)
    with TerminalProgress() as progress:
        done = decode_tokens(place_of(file), out, codec=codec, device=device, options=options, progress=progress)
    for clip, reason in done.failed.items():
        note(f"{clip}: {reason}")
    if as_json:
        print_json(asdict(done))
    else:
        typer.echo(f"{len(done.files)} clips in {plain_path(out)}")
    raise typer.Exit(FAILED if done.failed else 0)


@app.command("lm")
def train_models(
    codec: Annotated[list[str], typer.Option("--codec", help="Codecs with codebooks.")],
    dataset: Annotated[
        list[str], typer.Option("--dataset", help="Datasets by name, or folders: one part is held out.")
    ],
    model: Annotated[str, typer.Option(help="tiny, small, published, or a file of YAML.")] = "tiny",
    pattern: Annotated[str, typer.Option(help="flat, delay, parallel, independent.", show_default="the model's")] = "",
    seed: Annotated[
        list[int], typer.Option("--seed", metavar="N…", min=0, max=LARGEST_SEED, help="A model for each seed.")
    ] = [42, 1, 2],  # noqa: B006 -- Typer copies it
    share: Annotated[
        list[float], typer.Option("--share", min=0.001, max=1, help="Parts of the training sound: the learning curve.")
    ] = [0.125, 0.25, 0.5, 1.0],  # noqa: B006
    device: DeviceOption = "auto",
    bf16: Annotated[bool, typer.Option("--bf16", help="Train in bfloat16, on a graphics card.")] = False,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="DIR", help="Folder of the codec's weights.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train language models on tokens, and print bits and perplexity of clips that none of them saw."""
    from codec_superb.cli.tokens.models import asked_of, print_result, shown
    from codec_superb.pipeline.token_models.run import run

    found = []
    with TerminalProgress() as progress:
        for name in codec:
            asked = asked_of(name, dataset, model, pattern, seed, share, device, weights)
            found.append(run(replace(asked, bf16=bf16), lambda of: shown(of, progress), progress.message))
    if as_json:
        print_json([of.model_dump(mode="json") for of in found])
    else:
        for of in found:
            print_result(of)
    raise typer.Exit(FAILED if any(of.failed for of in found) else 0)


def print_statistics(statistics: TokenStatistics) -> None:
    """Print rates, entropy and the use of each codebook."""
    facts = [
        ("clips", f"{statistics.clips}"),
        ("seconds", f"{statistics.seconds:.1f}"),
        ("tokens per second", f"{statistics.tokens_per_second:.1f}"),
        ("frame rate", f"{statistics.frame_rate:.2f} Hz"),
        ("bitrate", f"{statistics.kbps:.3f} kbps"),
        ("empirical entropy", f"{statistics.entropy_kbps:.3f} kbps"),
    ]
    print_table("", ("", ""), facts)
    head = ("codebook", "used", "share", "entropy (bit)", "perplexity")
    rows = [
        (f"{its.codebook}", f"{its.used}", f"{its.share:.1%}", f"{its.entropy_bits:.2f}", f"{its.perplexity:.1f}")
        for its in statistics.codebooks
    ]
    print_table("", head, rows, numbers_from=0)
