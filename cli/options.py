"""Options that several commands share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from codec_superb.base_codec.options import Dtype
from codec_superb.metrics.table import Category

if TYPE_CHECKING:
    from codec_superb.data_manifests.objects.store_path import Place

DEFAULT_SAMPLES = 6
"""Default number of listening samples of ``pack`` and ``bench``: two per category of ``mini``."""
LARGEST_SEED = (1 << 63) - 1
"""Of torch."""
Device = Literal["auto", "cpu", "cuda"]

JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]
CodecOption = Annotated[
    list[str] | None,
    typer.Option(
        "--codec",
        metavar="NAME…",
        help="Codecs by name, pattern ('opus_*'), kind (classical) or file.py:NAME.",
    ),
]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        metavar="NAME|DIR|FILE…",
        help="Datasets by name, manifests (NAME.yaml), any folder of audio, audio files (together one dataset), or - "
        "for a list of files on standard input.",
    ),
]
CategoryOption = Annotated[
    Category | None, typer.Option(help="Category of a folder or of files of audio, where a labels.csv gives none.")
]
ConditionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--condition",
        metavar="NAME…",
        help="Further runs under conditions (see `conditions`): loss:10, noise:white:10, repeat:3, …",
    ),
]
ReferenceOption = Annotated[
    Literal["clean", "input"],
    typer.Option("--reference", help="What metrics compare a run under a condition with: the original, or the input."),
]


def _local(paths: Path | list[Path] | None) -> Path | list[Path] | None:
    """Refuse URLs: a run is journalled, locked and renamed, which stores do not offer."""
    for path in paths if isinstance(paths, list) else [paths]:
        # a path of s3://bucket/runs
        if re.match(r"(s3|gs|hf):/", str(path)):
            from codec_superb.data_manifests.objects.urls import without_secrets

            url = without_secrets(str(path).replace(":/", "://", 1))
            raise typer.BadParameter(
                f"{url}: this command writes into runs, which lie in a folder of this machine: "
                "name one, and copy finished runs with `codec-superb copy FOLDER URL`, or back with `copy URL FOLDER`"
            )
    return paths


OutOption = Annotated[Path, typer.Option("--out", help="Folder of runs: <out>/<codec>/<dataset>/.", callback=_local)]
DeviceOption = Annotated[Device, typer.Option(help="Where neural codecs run.")]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="DIR|REPO[@REVISION]",
        help="Weights of neural codecs: a folder of the publisher's files, or a hub repository (not if isolated).",
        show_default="what the card names",
    ),
]
DtypeOption = Annotated[Dtype, typer.Option("--dtype", help="Precision in which neural codecs compute.")]
CompileOption = Annotated[bool, typer.Option("--compile", help="Run neural codecs through torch.compile.")]


def _kbps(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a number in kbps, such as 6 or 1.5, got {text!r}") from error


KbpsOption = Annotated[
    float | None,
    typer.Option(
        "--kbps",
        metavar="K",
        parser=_kbps,
        help="Declare the bitrate of codecs of your own that do not count their bits; shown as declared, never ranked "
        "with measured ones.",
    ),
]
BatchOption = Annotated[
    float | None,
    typer.Option(
        "--batch", metavar="SECONDS", min=0, help="Batch size of neural codecs in seconds of sound; 0: single clips.",
        show_default="60 on a CUDA device, 0 on a CPU",
    ),
]  # fmt: skip
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Worker processes.", show_default="the cores this process may use")
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="processes|ray[:…]|beam[:…]",
        envvar="CODEC_SUPERB_EXECUTOR",
        help="Where workers run: processes of this machine, Ray (ADDRESS,num_gpus=0.25,…), or Apache Beam.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only this many clips of each dataset.")]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Only this part of each run; `merge` joins all N.", show_default="all"),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Compute finished results again.")]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="KEY…",
        help="Metrics by key, or path/to/file.py:ROW.",
        show_default="those of each clip's category",
    ),
]
PesqOption = Annotated[
    Literal["fast", "reference"],
    typer.Option("--pesq-backend", help="This package's own PESQ, or the slower package pesq: the same numbers."),
]
ApplicationOption = Annotated[
    list[str] | None,
    typer.Option(
        "--application",
        metavar="NAME,…",
        help="Applications or probes (see `applications`): asr, asv, dnsmos, … or path/to/file.py:ROW.",
    ),
]
BackendOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="NAME[:VARIANT]…",
        help="Models in place of the defaults, at most one per probe; or path/to/file.py:ROW.",
        show_default="the default of each probe",
    ),
]
TasksOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--tasks",
        metavar="DIR",
        help="Your own understanding tasks: a YAML file, or a folder of some; all of them without --application.",
        show_default="none",
    ),
]
JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge", metavar="NAME", help="Model that reads answers of judged tasks: a configuration's name.",
        show_default="none",
    ),
]  # fmt: skip
BudgetOption = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="MONEY",
        min=0.0,
        help="Money that servers may cost in this call; then it ends and can be resumed.",
        show_default="any",
    ),
]
RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN…", help="Run folders, or folders that hold some.", callback=_local)
]
SomeRunsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RUN…", help="Run folders, or folders that hold some.", callback=_local),
]
ReadRunsArgument = Annotated[
    list[str], typer.Argument(metavar="RUN…", help="Run folders, or folders that hold some, or their URL.")
]
"""Of commands that write nothing into runs."""


def plain_path(path: Place) -> str:
    """Return a path relative to the current folder where it is below it, else unchanged; a URL as it is."""
    if not isinstance(path, Path):
        return str(path)
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
