"""Writes the tables, figures and lists for a paper that ``report`` was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.applications.errors import UnknownApplication
from codec_superb.cli.paper.blocks import By, paper_blocks, ranks_over_datasets
from codec_superb.cli.paper.checklist import as_markdown, checklist
from codec_superb.metrics.table import Category, Metric
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.output_file import write_output
from codec_superb.pipeline.statistics.ranks import Ranking
from codec_superb.web.applications import application_of
from codec_superb.web.errors import PaperError
from codec_superb.web.paper.columns import Block, usual_columns, with_figure
from codec_superb.web.paper.drawing import FORMATS, Width, checked_format
from codec_superb.web.paper.figure import left_out, rate_figure
from codec_superb.web.paper.grid import FORMS, written_grid
from codec_superb.web.paper.latex import latex_table
from codec_superb.web.paper.plain import csv_table, markdown_table
from codec_superb.web.paper.ranks import rank_figure, rank_grid
from codec_superb.web.paper.table import Choices, Uncertainty, paper_table
from codec_superb.web.quantity import SCORE, Quantity, from_metric


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """What is to be written, and how; a path that is None is not asked for."""

    latex: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    figure: Path | None = None
    ranks: Path | None = None
    checklist: Path | None = None
    columns: str = ""
    """Keys with commas; '' for the usual ones."""
    uncertainty: Uncertainty | None = None
    """None: none in tables, intervals in figures."""
    by: By = "category"
    category: Category | None = None
    sort: str = SCORE.key
    second: bool = False
    metric: str = SCORE.key
    """What figure and ranks show."""
    width: Width = "one"

    @property
    def files(self) -> dict[str, Path]:
        """The files that are asked for, by option."""
        names = ("latex", "csv", "markdown", "figure", "ranks", "checklist")
        return {name: path for name in names if (path := getattr(self, name)) is not None}


_ENDINGS = {
    "out": (".html", ".htm"), "latex": (".tex", ".ltx"), "csv": (".csv",), "markdown": (".md", ".markdown"),
    "checklist": (".md", ".markdown"),
}  # fmt: skip
"""Endings of the files of each option; ``figure`` and ``ranks`` choose their form by it."""
_FORMS = {*(ending for endings in _ENDINGS.values() for ending in endings), *FORMATS}


_WITH_INTERVALS = 6
"""Columns of a LaTeX table with the ends of intervals where none are chosen: codec, bitrate, score and three metrics.
The eight of speech and music are 599 pt wide in \\small, a page of two columns 516 pt."""


def refuse_other_form(name: str, path: Path) -> None:
    """Raise PaperError where a file's ending is that of a form which the option does not write."""
    ending, own = path.suffix.lower(), _ENDINGS.get(name)
    if own is not None and ending in _FORMS and ending not in own:
        raise PaperError(f"{path.name}: expected a file that ends in {' or '.join(own)}, got {ending}")


def write_paper(
    name: str,
    path: Path,
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    options: PaperOptions,
    metrics: Mapping[str, Metric],
) -> list[str]:
    """Make what one of the options asks for, then write it; return what was left out of it, a sentence each.

    Raises WebError for what cannot be made, PipelineError for what cannot be written: no file of a half is left.
    """
    refuse_other_form(name, path)
    data, remarks = _made(name, path, results, rankings, options, metrics)
    write_output(path, data)
    return remarks


def _made(
    name: str,
    path: Path,
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    options: PaperOptions,
    metrics: Mapping[str, Metric],
) -> tuple[bytes, list[str]]:
    if name == "checklist":
        return as_markdown(checklist(results)).encode(), []
    if name == "ranks":
        return _ranks(path, results, options, metrics)
    blocks = paper_blocks(results, rankings, options.by, options.category)
    if name == "figure":
        quantity, intervals = _quantity(options.metric, metrics), options.uncertainty != "none"
        clean = [with_figure(block, quantity) for block in blocks if not block.condition]
        drawn = rate_figure(clean, quantity, options.width, checked_format(path.name), intervals=intervals)
        return drawn, [f"left out of the figure: {reason}" for reason in left_out(clean, quantity)]
    return _table(name, blocks, results, options, metrics)


def _table(
    name: str,
    blocks: Sequence[Block],
    results: Sequence[Results],
    options: PaperOptions,
    metrics: Mapping[str, Metric],
) -> tuple[bytes, list[str]]:
    keys = tuple(key.strip() for key in options.columns.split(",") if key.strip())
    remarks = []
    if name == "latex" and not keys and options.uncertainty == "interval":
        usual = usual_columns(blocks, metrics)
        keys = usual[:_WITH_INTERVALS]
        if usual[_WITH_INTERVALS:]:
            others = ", ".join(usual[_WITH_INTERVALS:])
            remarks = [f"left out of the LaTeX table, which intervals make wide: {others}; --columns chooses others"]
    table = paper_table(blocks, Choices(keys, options.uncertainty or "none", options.sort, options.second), metrics)
    if name == "latex":
        text = latex_table(table, _sources(results))
    else:
        text = csv_table(table) if name == "csv" else markdown_table(table)
    return text.encode(), remarks


def _ranks(
    path: Path, results: Sequence[Results], options: PaperOptions, metrics: Mapping[str, Metric]
) -> tuple[bytes, list[str]]:
    is_table = path.suffix.lower() in FORMS
    format_ = "" if is_table else checked_format(path.name)
    found = ranks_over_datasets(results, _quantity(options.metric, metrics), options.category)
    data = (
        written_grid(rank_grid(found), path.name).encode() if is_table else rank_figure(found, options.width, format_)
    )
    return data, [f"left out of the ranks: {reason}" for reason in found.left_out]


def _quantity(key: str, metrics: Mapping[str, Metric]) -> Quantity:
    """Return what ``--metric`` names. Raises PaperError for what is neither a metric nor a figure of an application."""
    if key == SCORE.key or key in metrics:
        return SCORE if key == SCORE.key else from_metric(metrics[key])
    try:
        return application_of(key).quantity
    except UnknownApplication:
        raise PaperError(
            f"--metric: expected score, a metric of {', '.join(metrics)}, or a figure that `applications` lists, "
            f"got {key!r}"
        ) from None


def _sources(results: Sequence[Results]) -> list[str]:
    """Say which program and which states of datasets the numbers are of."""
    infos = {of.info.name: of.info for entry in results for of in entry.datasets}
    programs = dict.fromkeys(
        f"codec-superb {stamp.tool_version}" for entry in results for of in entry.datasets for stamp in of.provenance
    )
    data = [
        f"{name}: {info.selected} of {info.clips} clips, {info.manifest_hash}" for name, info in sorted(infos.items())
    ]
    return [*programs, *data]
