"""``codec-superb``: the entry point; turns errors of ours into one clear message and an exit code.

Exit codes: 0 everything asked for was done; 2 it could not be started (wrong name, missing file, bad option);
3 it ran, and some clips failed or a file has faults; 130 stopped by Ctrl-C; 1 a fault of this program.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from codec_superb import __version__
from codec_superb.cli.arguments import spread
from codec_superb.cli.commands import bench, check, codecs, compare, datasets, doctor, pack, report, resynth, score

app = typer.Typer(
    name="codec-superb",
    help="Benchmark sound codecs: resynthesise curated sound, score what came back, publish it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(codecs.app, name="codecs")
app.add_typer(datasets.app, name="datasets")
for module in (resynth, score, pack, check, report, compare, bench, doctor):
    app.command(name=module.__name__.rsplit(".", 1)[-1])(module.command)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"codec-superb {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Benchmark sound codecs: resynthesise curated sound, score what came back, publish it."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    from codec_superb.base_codec.errors import CodecError
    from codec_superb.data_manifests.errors import DatasetError
    from codec_superb.metrics.errors import MetricError
    from codec_superb.pipeline.errors import PipelineError

    try:
        app(args=spread(arguments), prog_name="codec-superb")
    except (CodecError, DatasetError, MetricError, PipelineError) as error:
        sys.stderr.write(f"codec-superb: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\ncodec-superb: stopped; the same command goes on where this one ended\n")
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: say nothing, also not at exit
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0
