"""``codec-superb mseb``: exchange of results with MSEB, in the form of its result files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import note, print_json, print_table
from codec_superb.cli.options import JsonOption, ReadRunsArgument, plain_path

if TYPE_CHECKING:
    from codec_superb.pipeline.literature.mseb import MsebSummary

HEAD = ("encoder", "task", "sub-task", "metric", "mean", "locales", "least", "greatest")
app = typer.Typer(help="Exchange results with MSEB.", no_args_is_help=True)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILES|DIR…", help="Result files <encoder>/<task>.jsonl, or folders.")
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The CSV file of their values to write.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Read MSEB's result files strictly, and print the main metrics as means over locales, or write all as CSV."""
    from codec_superb.applications.mseb.result_json import read_files, rows_of
    from codec_superb.pipeline.literature.mseb import summaries, write_rows
    from codec_superb.pipeline.output_file import write_output

    rows = [row for encoder, result in read_files(paths) for row in rows_of(encoder, result)]
    means = summaries(rows, main_only=True)  # first: a locale that comes twice is refused before anything is written
    if out is not None:
        write_output(out, write_rows(rows))
        note(f"wrote {len(rows)} values to {plain_path(out)}")
    if as_json:
        print_json([{**asdict(each), "whole": each.whole} for each in means])
    elif out is None:
        print_table("", HEAD, [_cells(each) for each in means], numbers_from=4)


def _cells(each: MsebSummary) -> tuple[str, ...]:
    ends = [f"{value:.4f}{f' {locale}' if locale else ''}" for locale, value in (each.lowest, each.highest)]
    whole = str(each.n) if each.whole else f"{each.n} of {each.n + len(each.missing)}"
    return (each.encoder, each.task, each.sub_task, each.metric, f"{each.mean:.4f}", whole, *ends)


@app.command("export")
def export(
    runs: ReadRunsArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write <encoder>/<task>.jsonl into.")],
    as_json: JsonOption = False,
) -> None:
    """Write the results of MSEB's tasks on resyntheses as its result files, a folder for each codec and model."""
    from codec_superb.applications.mseb.result_json import read_lines, write_lines
    from codec_superb.cli.commands.report import load
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.comparison.mseb import mseb_files
    from codec_superb.pipeline.output_file import write_output

    written: dict[str, int] = {}
    for results in load(list(map(place_of, runs))):
        for name, members in mseb_files(results).items():
            data = write_lines(members)
            assert read_lines(data, name) == list(members)  # what is written, a strict reader takes
            write_output(out / name, data)
            written[name] = len(members)
    if as_json:
        print_json(written)
    elif written:
        note("MSEB has no speaker, age or environment classification, span retrieval and stability: they are left out")
        note(f"wrote {len(written)} file{'s' * (len(written) != 1)} to {plain_path(out)}")
    else:
        note("nothing to write: no clean run has results of MSEB's tasks, which `probe --application mseb` makes")
