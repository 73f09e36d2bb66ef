"""``codec-superb tasks``: files of understanding tasks."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from codec_superb.cli.console import note, print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path

app = typer.Typer(help="Convert tasks and results of other programs.", no_args_is_help=True)
PUBLISHED = ("model", "dataset", "task", "figure", "value", "date", "answered", "failed")


@app.command()
def convert(
    registry: Annotated[
        Path, typer.Argument(metavar="REGISTRY", help="Registry of UltraEval-Audio, or its repository.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the task and prompt files.")],
    as_json: JsonOption = False,
) -> None:
    """Convert the tasks and prompts of UltraEval-Audio; conversion.csv lists what has no equal, with reasons."""
    from codec_superb.applications.understanding.conversion.ultraeval import Row, read_registry
    from codec_superb.applications.understanding.conversion.ultraeval import convert as convert_all
    from codec_superb.applications.understanding.registry import read_folder
    from codec_superb.pipeline.output_file import write_output

    done = convert_all(read_registry(registry))
    write_output(out / "prompts.yaml", _yaml(done.prompts))
    if done.tasks:
        write_output(out / "tasks.yaml", _yaml(done.tasks))
    write_output(out / "conversion.csv", _table(done.rows, Row._fields))
    read_folder(out).definitions()
    tasks = [row for row in done.rows if row.kind == "task"]
    if as_json:
        print_json({"out": str(out), "rows": [row._asdict() for row in done.rows]})
        return
    for row in tasks:
        if not row.converted:
            typer.echo(f"{row.name}: {row.remark}")
    prompts = [row for row in done.rows if row.kind == "prompt"]
    note(
        f"converted: {sum(bool(row.converted) for row in tasks)} of {len(tasks)} tasks, "
        f"{sum(bool(row.converted) for row in prompts)} of {len(prompts)} prompts; "
        f"remarks: {plain_path(out / 'conversion.csv')}"
    )


@app.command("import")
def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILES|DIR…", help="Files <model>/<dataset>/<time>-overall.json, or folders."),
    ],
    source: Annotated[str, typer.Option("--source", help="Where they come from: an address, a state, a date.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The CSV file of their figures to write.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Read result files of UltraEval-Audio as published figures, by our tasks; they are ranked with nothing."""
    from codec_superb.applications.understanding.conversion.published import PublishedFigure, read_published
    from codec_superb.pipeline.output_file import write_output

    rows = read_published(paths, source)
    if out is not None:
        write_output(out, _table(rows, PublishedFigure._fields))
    if as_json:
        print_json({"status": "published", "source": source, "figures": [row._asdict() for row in rows]})
        return
    if out is None:
        cells = [
            (row.model, row.dataset, f"und_{row.task}" if row.task else "–", row.figure, f"{row.value:.4f}",
             row.made or "–", *("–" if each is None else str(each) for each in (row.answered, row.failed)))
            for row in rows
        ]  # fmt: skip
        print_table(f"published, not re-run here: {source}", PUBLISHED, cells, numbers_from=len(PUBLISHED))
    for dataset in dict.fromkeys(row.dataset for row in rows if not row.task):
        note(f"{dataset}: no task here asks what UltraEval-Audio asks on it")


def _yaml(documents: list[dict[str, Any]]) -> bytes:
    import yaml

    return yaml.safe_dump_all(documents, allow_unicode=True, sort_keys=False, width=100).encode()


def _table(rows: Sequence[tuple[object, ...]], head: Sequence[str]) -> bytes:
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(head)
    lines.writerows(rows)
    return written.getvalue().encode()
