"""``codec-superb report``: a self-contained HTML report on runs or submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.metrics.table import Category, Metric
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.statistics.ranks import Ranking

TITLE = "Codec-SUPERB report"


def command(
    sources: Annotated[list[Path], typer.Argument(metavar="RUN|FILE…", help="Run folders or submission files.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write, FILE.html.")],
    title: Annotated[str, typer.Option(help="Title of the page.")] = TITLE,
    listening: Annotated[
        int, typer.Option(min=0, help="Clips to listen to, per category; they make the page larger.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Write a self-contained report: charts, ranking, distributions, listening, failures, provenance."""
    results = load(sources)
    write(results, rank(results), out, title=title, listening=listening)
    if as_json:
        print_json({"file": str(out), "codecs": list(dict.fromkeys(entry.card.name for entry in results))})
    else:
        codecs = len({entry.card.name for entry in results})
        note(f"report on {count(codecs, 'codec')}: {plain_path(out)}")


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
