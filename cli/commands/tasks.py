"""``codec-superb tasks``: files of understanding tasks."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path

if TYPE_CHECKING:
    from codec_superb.applications.understanding.conversion.ultraeval import Row

app = typer.Typer(help="Convert tasks of other programs.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Convert tasks of other programs."""


@app.command()
def convert(
    registry: Annotated[
        Path, typer.Argument(metavar="REGISTRY", help="Registry of UltraEval-Audio, or its repository.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the task and prompt files.")],
    as_json: JsonOption = False,
) -> None:
    """Convert the tasks and prompts of UltraEval-Audio; conversion.csv lists what has no equal, with reasons."""
    from codec_superb.applications.understanding.conversion.ultraeval import convert as convert_all
    from codec_superb.applications.understanding.conversion.ultraeval import read_registry
    from codec_superb.applications.understanding.registry import read_folder
    from codec_superb.pipeline.output_file import write_output

    done = convert_all(read_registry(registry))
    write_output(out / "prompts.yaml", _yaml(done.prompts))
    if done.tasks:
        write_output(out / "tasks.yaml", _yaml(done.tasks))
    write_output(out / "conversion.csv", _table(done.rows))
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


def _yaml(documents: list[dict[str, Any]]) -> bytes:
    import yaml

    return yaml.safe_dump_all(documents, allow_unicode=True, sort_keys=False, width=100).encode()


def _table(rows: list[Row]) -> bytes:
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(("kind", "name", "converted", "remark"))
    lines.writerows(rows)
    return written.getvalue().encode()
