"""The Typer application with all commands of ``codec-superb``; :mod:`codec_superb.cli.main` runs it."""

from __future__ import annotations

import typer

from codec_superb import __version__
from codec_superb.cli.commands import (
    admin,
    applications,
    bench,
    check,
    cite,
    codecs,
    compare,
    conditions,
    datasets,
    doctor,
    metrics,
    mseb,
    pack,
    precision,
    probe,
    report,
    resynth,
    score,
    serve,
    submit,
    tokens,
)

app = typer.Typer(
    name="codec-superb",
    help="Benchmark sound codecs: resynthesise curated datasets, score the resyntheses, publish the results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(codecs.app, name="codecs")
app.add_typer(datasets.app, name="datasets")
app.add_typer(metrics.app, name="metrics")
app.add_typer(tokens.app, name="tokens")
app.add_typer(mseb.app, name="mseb")
app.add_typer(admin.app, name="admin")
for module in (
    resynth,
    score,
    probe,
    applications,
    conditions,
    pack,
    check,
    submit,
    report,
    compare,
    cite,
    precision,
    bench,
    doctor,
    serve,
):
    app.command(name=module.__name__.rsplit(".", 1)[-1])(module.command)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"codec-superb {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Benchmark sound codecs: resynthesise curated datasets, score the resyntheses, publish the results."""
