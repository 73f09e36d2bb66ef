"""The Typer application with all commands of ``codec-superb``; :mod:`codec_superb.cli.main` runs it."""

from __future__ import annotations

import typer

from codec_superb import __version__
from codec_superb.cli.arguments import Group
from codec_superb.cli.commands import (
    admin,
    applications,
    bench,
    check,
    check_judge,
    check_task,
    check_worker,
    cite,
    codecs,
    compare,
    conditions,
    copy,
    datasets,
    doctor,
    import_,
    merge,
    metrics,
    mseb,
    pack,
    precision,
    probe,
    report,
    resynth,
    score,
    serve,
    slurm,
    submit,
    tasks,
    tokens,
    verify,
    verify_worker,
    xares,
)

WIDEST = 120
"""Characters of a line of help at most; a narrower terminal has shorter lines."""


app = typer.Typer(
    name="codec-superb",
    cls=Group,
    help="Benchmark sound codecs: resynthesise curated datasets, score the resyntheses, publish the results.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"max_content_width": WIDEST},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes and colours take longer to import than everything else together
)
for name, group in (
    ("codecs", codecs.app),
    ("datasets", datasets.app),
    ("metrics", metrics.app),
    ("tokens", tokens.app),
    ("mseb", mseb.app),
    ("tasks", tasks.app),
    ("xares", xares.app),
    ("admin", admin.app),
):
    app.add_typer(group, name=name, cls=Group)
for module in (  # as a user meets them: all in one, its steps, what is made of runs, the rest
    bench,
    resynth,
    score,
    import_,
    probe,
    report,
    compare,
    cite,
    serve,
    pack,
    check,
    check_judge,
    submit,
    copy,
    verify,
    verify_worker,
    check_worker,
    applications,
    check_task,
    conditions,
    precision,
    slurm,
    merge,
    doctor,
):
    name = module.__name__.rsplit(".", 1)[-1].rstrip("_").replace("_", "-")
    # the options of a stage that `slurm` is given are not its own
    app.command(name=name, context_settings={"allow_interspersed_args": module is not slurm})(module.command)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"codec-superb {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Benchmark sound codecs: resynthesise curated datasets, score the resyntheses, publish the results."""
