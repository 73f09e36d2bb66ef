"""``codec-superb report``: a self-contained HTML report on runs or submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.metrics.table import Category
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.metrics.table import Metric
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.statistics.ranks import Ranking

TITLE = "Codec-SUPERB report"


def command(
    sources: Annotated[list[Path], typer.Argument(metavar="RUN|FILE…", help="Run folders or submission files.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The page to write, FILE.html.")] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = TITLE,
    listening: Annotated[
        int, typer.Option(min=0, help="Clips to listen to, per category; they make the page larger.")
    ] = 0,
    latex: Annotated[Path | None, typer.Option(help="A table for LaTeX (booktabs), FILE.tex.")] = None,
    csv: Annotated[Path | None, typer.Option(help="The same table as CSV, with all digits.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="The same table as Markdown.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Bitrate against score, FILE.pdf, .svg or .png.")] = None,
    ranks: Annotated[
        Path | None,
        typer.Option(
            help="Mean ranks over datasets with the critical difference, FILE.tex, .csv, .md, .pdf, .svg, .png."
        ),
    ] = None,
    checklist: Annotated[
        Path | None, typer.Option(help="What a reviewer asks, answered from the runs, FILE.md.")
    ] = None,
    columns: Annotated[
        str, typer.Option(metavar="KEY,…", help="Columns of the table: codec,kbps,score,pesq,asr_wer_pct, …")
    ] = "",
    uncertainty: Annotated[
        Literal["none", "interval", "pm"] | None,
        typer.Option(help="95 % intervals: none, their ends, or ±.", show_default="none, in a figure interval"),
    ] = None,
    by: Annotated[Literal["category", "dataset"], typer.Option(help="What a part of the table is.")] = "category",
    category: Annotated[Category | None, typer.Option(help="Only this category.")] = None,
    sort: Annotated[str, typer.Option(metavar="KEY", help="Column by which the table is sorted.")] = "score",
    second: Annotated[bool, typer.Option("--second", help="Underline the second best.")] = False,
    metric: Annotated[str, typer.Option(metavar="KEY", help="What figure and ranks show.")] = "score",
    width: Annotated[Literal["one", "two"], typer.Option(help="Columns that a figure is wide.")] = "one",
    as_json: JsonOption = False,
) -> None:
    """Write a self-contained report, and tables, figures and a checklist for a paper."""
    from codec_superb.cli.paper.outputs import PaperOptions, write_paper

    options = PaperOptions(
        latex, csv, markdown, figure, ranks, checklist, columns, uncertainty, by, category, sort, second, metric, width
    )
    if out is None and not options.files:
        raise typer.BadParameter(
            "say what to write: -o FILE.html, --latex, --csv, --markdown, --figure, --ranks or --checklist"
        )
    results = load(sources)
    rankings = rank(results)
    if out is not None:
        write(results, rankings, out, title=title, listening=listening)
    write_paper(results, rankings, options, _table(results))
    names = list(dict.fromkeys(entry.card.name for entry in results))
    files = {"file": out, **options.files}
    if as_json:
        print_json({name: None if path is None else str(path) for name, path in files.items()} | {"codecs": names})
    else:
        written = ", ".join(plain_path(path) for path in files.values() if path is not None)
        note(f"report on {count(len(names), 'codec')}: {written}")


def load(sources: Sequence[Path]) -> list[Results]:
    """Load run folders (also folders of them) and submission files; one entry a codec and condition."""
    from codec_superb.pipeline.comparison.results import combine, load_results
    from codec_superb.pipeline.runs.folder import find_runs

    files = [path for path in sources if path.is_file()]
    folders = [path for path in sources if not path.is_file()]
    runs = [run.path for run in find_runs(folders)] if folders else []
    return combine(load_results(path) for path in (*files, *runs))


def rank(results: Sequence[Results]) -> dict[Category, Ranking]:
    """Rank the codecs on the clips they share, by category."""
    from codec_superb.pipeline.comparison.codecs import rank_results

    return rank_results(results)


def _table(results: Sequence[Results]) -> dict[str, Metric]:
    """Return the metric table with the custom metrics of all results."""
    return {key: row for entry in results for key, row in entry.table().items()}


def write(
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    out: Path,
    *,
    title: str = TITLE,
    listening: int = 0,
) -> None:
    """Render the page and write it atomically. Raises PipelineError where it cannot be written."""
    from codec_superb.cli.report_data import report_data
    from codec_superb.cli.report_examples import EXAMPLES, choose_examples
    from codec_superb.cli.report_listening import choose_listening
    from codec_superb.pipeline.output_file import write_output
    from codec_superb.web.report import render

    samples, examples = choose_listening(results, listening), choose_examples(results, EXAMPLES if listening else 0)
    page = render(report_data(results, rankings, title, samples, examples), _table(results))
    write_output(out, page.encode("utf-8"))
