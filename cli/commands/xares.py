"""``codec-superb xares``: what a small language model reads out of an encoder's frames, or a codec's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json, print_table
from codec_superb.cli.options import Device, ExecutorOption, JsonOption, WorkersOption, plain_path

if TYPE_CHECKING:
    from codec_superb.applications.xares.result import Reading, XaresResult
    from codec_superb.applications.xares.training import OnStep, Training
    from codec_superb.pipeline.xares.run import Asked

HEAD = ("sound", "mean", "seeds", "95 % interval", "constrained", "clips")
app = typer.Typer(help="XARES-LLM: train a small language model on an encoder's frames.", no_args_is_help=True)

EncoderOption = Annotated[
    str,
    typer.Option(
        "--encoder", metavar="NAME|FILE.py",
        help="Encoder of frames: a backend, a codec (codec-frames:NAME), or a file with a class …Encoder.",
    ),
]  # fmt: skip
TrackOption = Annotated[str, typer.Option("--track", help="offline, a, b or a_hidden, or a file.")]
DecoderOption = Annotated[
    str, typer.Option("--decoder", help="published (SmolLM2-135M) or tiny.", show_default="the track's")
]
SeedsOption = Annotated[list[int], typer.Option("--seed", metavar="N…", help="A decoder for each seed.")]
MatchedOption = Annotated[
    list[Path] | None,
    typer.Option("--matched", metavar="RUN…", help="Train on the sound of these runs of one codec."),
]
ShuffledOption = Annotated[bool, typer.Option("--shuffled", help="Train on labels of other clips: a control.")]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="DIR|URL", help="Train on publishers' shards below this folder, and try their test parts."
    ),
]
WeightsDir = Annotated[
    Path | None, typer.Option("--weights", metavar="DIR", help="Folder of the language model's checkpoint.")
]
TrainDevice = Annotated[Device, typer.Option("--device", help="Where decoders are trained and run.")]
Bf16Option = Annotated[bool, typer.Option("--bf16", help="Train in bfloat16, on a graphics card.")]


@app.command()
def run(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUNS]", help="Runs of codecs on the track's datasets, or folders.")
    ] = None,
    encoder: EncoderOption = "faster-whisper-frames",
    track: TrackOption = "offline",
    decoder: DecoderOption = "",
    seed: SeedsOption = [42, 1, 2],  # noqa: B006 -- Typer copies it
    matched: MatchedOption = None,
    shuffled: ShuffledOption = False,
    data: DataOption = None,
    weights: WeightsDir = None,
    device: TrainDevice = "auto",
    bf16: Bf16Option = False,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    as_json: JsonOption = False,
) -> None:
    """Train a decoder for each seed, try all on references and on the sound of RUNS, and print the spread.

    With `--json` the record is printed that `admin xares import` puts on a leaderboard.
    """
    from codec_superb.cli.selection import prepare_fetched
    from codec_superb.pipeline.workers.executors import open_executor
    from codec_superb.pipeline.xares.recording import result_of
    from codec_superb.pipeline.xares.run import datasets_of, train_all, try_all

    asked = _asked(encoder, track, decoder, seed, matched, shuffled, data, weights, device, bf16)
    wanted = datasets_of(asked, runs or (), note)
    with TerminalProgress() as progress, open_executor(executor, workers, device=device, tell=progress.message) as pool:
        prepare_fetched(wanted, progress)
        trained = train_all(asked, lambda training: _shown(training, progress), progress.message)
        readings = try_all(trained, asked, runs or (), progress, pool)
    result = result_of(encoder, trained, readings)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        _print(result)
    raise typer.Exit(3 if any(each.failed for each in readings) else 0)


@app.command()
def train(
    encoder: EncoderOption = "faster-whisper-frames",
    track: TrackOption = "offline",
    decoder: DecoderOption = "",
    seed: SeedsOption = [42],  # noqa: B006 -- Typer copies it
    matched: MatchedOption = None,
    shuffled: ShuffledOption = False,
    data: DataOption = None,
    weights: WeightsDir = None,
    device: TrainDevice = "auto",
    bf16: Bf16Option = False,
    as_json: JsonOption = False,
) -> None:
    """Train decoders and print their folders; on several graphics cards by `accelerate launch -m codec_superb …`."""
    from codec_superb.cli.selection import prepare_fetched
    from codec_superb.pipeline.xares.run import datasets_of, train_all

    asked = _asked(encoder, track, decoder, seed, matched, shuffled, data, weights, device, bf16)
    with TerminalProgress() as progress:
        prepare_fetched(datasets_of(asked, tried=False), progress)
        trained = train_all(asked, lambda training: _shown(training, progress), progress.message)
    if as_json:
        print_json([each.facts | {"key": each.key, "folder": str(each.folder)} for each in trained])
        return
    for each in trained:
        print(f"seed {each.seed}: xares:{encoder},trained={each.key} in {plain_path(each.folder)}")


@app.command()
def shards(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A dataset of this machine, or a folder.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the shards.")],
    label: Annotated[str, typer.Option(help="Label that becomes the text: text, emotion, events, extra:NAME…")],
    per_shard: Annotated[int, typer.Option(min=1, help="Clips of a shard.")] = 500,
    as_json: JsonOption = False,
) -> None:
    """Write a dataset as WebDataset shards, for XARES-LLM itself or for `train --data`; the same bytes each time."""
    from codec_superb.applications.xares.shard_writer import write_shards

    done = write_shards(dataset, label, out, per_shard)
    if as_json:
        print_json(done._asdict())
        return
    print(f"{dataset}: {done.samples} clips in {done.shards} shards, {done.written} written now, in {plain_path(out)}")
    if done.left_out:
        note(f"left out: {done.left_out} clips without the label {label}")


@app.command("check")
def check_encoder(
    encoder: Annotated[str, typer.Argument(metavar="FILE.py[:NAME]", help="File or module with the encoder.")],
    arguments: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Arguments of its constructor, a JSON object.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check an encoder against XARES-LLM's contract, and for faults that cost a training unseen."""
    from codec_superb.applications.xares.encoder_contract import check_encoder as check
    from codec_superb.applications.xares.encoder_contract import make_encoder

    found = list(check(make_encoder(encoder, arguments)))
    if as_json:
        print_json({"encoder": encoder, "faults": found})
    else:
        print("\n".join(found) or f"{encoder}: no fault found")
    raise typer.Exit(3 if found else 0)


def _asked(
    encoder: str, track: str, decoder: str, seeds: Sequence[int], matched: Sequence[Path] | None, shuffled: bool,
    data: str | None, weights: Path | None, device: Device, bf16: bool,
) -> Asked:  # fmt: skip
    from codec_superb.applications.xares.configuration import track_named
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.workers.devices import trained_on
    from codec_superb.pipeline.xares.run import Asked, expect_known

    if matched and shuffled:
        raise typer.BadParameter("expected --matched or --shuffled, got both")
    if matched and data:
        raise typer.BadParameter("expected --matched or --data, got both: shards are no sound of a codec")
    if weights is not None and not weights.is_dir():
        raise typer.BadParameter(f"--weights: expected a folder, {plain_path(weights)} does not exist or is none")
    known = track_named(track)
    expect_known(encoder, decoder or known.decoder)
    place = place_of(data) if data else None
    asked = Asked(
        encoder, known, decoder, tuple(dict.fromkeys(seeds)), tuple(matched or ()), shuffled, place, weights,
        trained_on(device), bf16,
    )  # fmt: skip
    # last: a store is asked over the network
    if place is not None and not place.is_dir():
        raise typer.BadParameter(f"--data: expected a folder of shards, {plain_path(place)} does not exist or is none")
    return asked


def _shown(training: Training, progress: TerminalProgress) -> OnStep:
    """Show the steps of one decoder as a bar, and its loss now and then."""
    steps = training.configuration.steps
    begun: list[int] = []

    def on_step(step: int, loss: float) -> None:
        if not begun:
            title = (
                f"training {training.configuration.decoder} on the {training.track.track} track, seed {training.seed}"
            )
            progress.start(title, steps, step - 1)
        begun.append(step)
        progress.advance()
        if step % max(1, steps // 8) == 0 or step == steps:
            progress.message(f"seed {training.seed}, step {step} of {steps}: loss {loss:.3f}")

    return on_step


def _print(result: XaresResult) -> None:
    from codec_superb.applications.table import PROBE_METRICS
    from codec_superb.applications.xares.chat import CONSTRAINED

    constrained = {(of.figure, of.dataset, of.codec): of for of in result.figures if of.decoding == CONSTRAINED}
    blocks: dict[tuple[str, str], list[Reading]] = {}
    for of in result.figures:
        if of.decoding != CONSTRAINED:
            blocks.setdefault((of.figure, of.dataset), []).append(of)
    for (figure, dataset), members in blocks.items():
        row = PROBE_METRICS[figure]
        sign = 1 if row.higher_is_better else -1
        # references first, then the best
        members.sort(key=lambda of: (bool(of.codec), -sign * of.mean, of.codec))
        cells = [_cells(of, constrained.get((of.figure, of.dataset, of.codec)), row.unit) for of in members]
        print_table(f"{row.label} {'↑' if sign > 0 else '↓'} ({dataset})", HEAD, cells)
        print()
    rate = result.rate
    said = ((rate.frames_per_s, "frames/s"), (rate.numbers_per_s, "numbers/s"), (rate.bits_per_s, "bits/s"))
    rates = "".join(f", {value:g} {unit}" for value, unit in said if value is not None)
    note(f"encoder {result.encoder}{rates}; seeds: least to greatest value; interval: clips, first seed")


def _cells(of: Reading, other: Reading | None, unit: str) -> tuple[str, ...]:
    values = list(of.by_seed.values())
    space = f" {unit}" if unit else ""
    ends = "–" if of.clips.low is None else f"[{of.clips.low:.2f}, {of.clips.high:.2f}]"
    return (
        of.codec or "reference",
        f"{of.mean:.2f}{space}",
        f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else "–",
        ends,
        "–" if other is None else f"{other.mean:.2f}{space}",
        f"{of.n}" + (f" of {of.n + of.failed}" if of.failed else ""),
    )
