"""``codec-superb report``: a self-contained HTML report on runs or submissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.metrics.table import Category
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.data_manifests.objects.store_path import Place
    from codec_superb.metrics.table import Metric
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.errors import PipelineError
    from codec_superb.pipeline.statistics.ranks import Ranking
    from codec_superb.web.errors import WebError

TITLE = "Codec-SUPERB report"


def command(
    sources: Annotated[
        list[str], typer.Argument(metavar="RUN|FILE…", help="Run folders or submission files, or their URLs.")
    ],
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
    from codec_superb.cli.paper.outputs import PaperOptions, refuse_other_form, write_paper
    from codec_superb.data_manifests.objects.store_path import place_of

    options = PaperOptions(
        latex, csv, markdown, figure, ranks, checklist, columns, uncertainty, by, category, sort, second, metric, width
    )
    if out is None and not options.files:
        raise typer.BadParameter(
            "say what to write: -o FILE.html, --latex, --csv, --markdown, --figure, --ranks or --checklist"
        )
    results = load(list(map(place_of, sources)))
    rankings, metrics = rank(results), _table(results)

    def page(path: Path) -> list[str]:
        refuse_other_form("out", path)
        write(results, rankings, path, title=title, listening=listening)
        return []

    def paper(name: str, path: Path) -> list[str]:
        return write_paper(name, path, results, rankings, options, metrics)

    asked = {"out": out} if out is not None else {}
    makers = {name: partial(page, path) for name, path in asked.items()}
    makers |= {name: partial(paper, name, path) for name, path in options.files.items()}
    faults = _make(makers)
    names = list(dict.fromkeys(entry.card.name for entry in results))
    files = {name: path for name, path in (asked | options.files).items() if name not in faults}
    if as_json and (files or not faults):
        told = {"file": files.get("out")} | {name: files.get(name) for name in options.files}
        print_json({name: None if path is None else str(path) for name, path in told.items()} | {"codecs": names})
    elif files:
        note(f"report on {count(len(names), 'codec')}: {', '.join(map(plain_path, files.values()))}")
    _raise_first(faults, alone=len(makers) == 1)


def _make(makers: Mapping[str, Callable[[], list[str]]]) -> dict[str, WebError | PipelineError]:
    """Write each file, print what was left out of it, and return the errors by option: one stops no other."""
    from codec_superb.pipeline.errors import PipelineError
    from codec_superb.web.errors import WebError

    faults: dict[str, WebError | PipelineError] = {}
    for name, make in makers.items():
        try:
            remarks = make()
        except (WebError, PipelineError) as error:
            faults[name] = error
        else:
            for remark in remarks:
                note(remark)
    return faults


def _raise_first(faults: Mapping[str, WebError | PipelineError], *, alone: bool) -> None:
    """Raise the error of the only file as it is, else those of all that were not written, with their options."""
    from codec_superb.web.errors import PaperError

    if faults and alone:
        raise next(iter(faults.values()))
    if faults:
        told = "; ".join(f"--{name} was not written: {error}" for name, error in faults.items())
        raise PaperError(told) from next(iter(faults.values()))


def load(sources: Sequence[Place]) -> list[Results]:
    """Load run folders (also folders of them) and submission files; one entry a codec and condition.

    Runs that are not scored, or still being copied into a store, are left out with a message, unless there is nothing
    else: then the first is an error.
    """
    from codec_superb.pipeline.comparison.results import combine, load_results
    from codec_superb.pipeline.runs.folder import find_results

    files = [path for path in sources if path.is_file()]
    folders = [path for path in sources if not path.is_file()]
    runs = find_results(folders) if folders else []
    states = {run.path: run.info().status if run.exists() else "not whole" for run in runs}
    waiting = {path: status for path, status in states.items() if status != "scored"}
    if not files and len(waiting) == len(runs):
        waiting = {}
    found = combine(load_results(path) for path in (*files, *(run.path for run in runs if run.path not in waiting)))
    for path, status in waiting.items():
        if not isinstance(path, Path):
            note(f"left out, {status}: {path}; score it on a machine, or end its copy with codec-superb copy")
            continue
        first = "finish it with resynth or import, then " if status == "started" else ""
        note(
            f"left out, not scored ({status}): {plain_path(path)}; {first}codec-superb score {quote(plain_path(path))}"
        )
    return found


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

    samples = choose_listening(results, listening)
    examples = choose_examples(results, EXAMPLES) if listening else []  # which open the datasets again
    page = render(report_data(results, rankings, title, samples, examples), _table(results))
    write_output(out, page.encode("utf-8"))
