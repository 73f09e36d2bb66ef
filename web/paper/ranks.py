"""Mean ranks over datasets as a table and as a critical-difference diagram (Demšar, JMLR 7, 2006)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from string import ascii_lowercase

from codec_superb.web.paper.drawing import INCHES, Width, styled, written
from codec_superb.web.paper.latex import latex_comment, latex_text
from codec_superb.web.paper.plain import markdown_text
from codec_superb.web.spreadsheets import escape_formula
from codec_superb.web.text import number, p_value, shortened


@dataclass(frozen=True, slots=True)
class RankRow:
    """One codec."""

    codec: str
    title: str
    mean_rank: float
    ranks: tuple[float, ...]
    """On each dataset."""


@dataclass(frozen=True, slots=True)
class RankSummary:
    """Codecs over datasets, best first."""

    quantity: str
    """What was ranked, for people."""
    datasets: tuple[str, ...]
    rows: tuple[RankRow, ...]
    chi_square: float
    p: float
    f: float | None
    p_f: float
    kendall_w: float
    alpha: float
    critical_difference: float
    groups: tuple[tuple[int, int], ...]
    """First and last row of each group whose members do not differ."""
    rough: bool
    """Whether there are too few datasets or codecs for the tests' distributions to be good ones."""
    left_out: tuple[str, ...] = ()
    """Codecs without a rank, each with the reason."""


def rank_sentences(found: RankSummary) -> list[str]:
    """Say what was tested, what came out, and what was left out."""
    k, n = len(found.rows), len(found.datasets)
    f = "without bound" if found.f is None else f"= {number(found.f, 2)}"
    chi = f"chi-square({k - 1}) = {number(found.chi_square, 2)}, p {_p(found.p)}"
    other = f"Iman and Davenport's F({k - 1}, {(k - 1) * (n - 1)}) {f}, p {_p(found.p_f)}"
    distance = f"Nemenyi's critical difference at {found.alpha:g}: {number(found.critical_difference, 2)}"
    sentences = [
        f"{k} codecs ranked by {found.quantity} on {n} datasets (each category of a dataset is one); 1 is the best.",
        f"Friedman's test: {chi}; {other}; Kendall's W = {number(found.kendall_w, 2)}.",
        f"{distance}; codecs that share a letter do not differ significantly.",
    ]
    if found.rough:
        sentences.append("Up to ten datasets or five codecs: the p-values are rough (Demšar 2006, section 3.2.2).")
    return [*sentences, *(f"Left out: {reason}." for reason in found.left_out)]


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def group_letters(found: RankSummary) -> list[str]:
    """Give each row the letters of its groups: rows that share one do not differ."""
    names = [ascii_lowercase[n % 26] * (n // 26 + 1) for n in range(len(found.groups))]
    groups = list(zip(names, found.groups, strict=True))
    return [",".join(name for name, (first, last) in groups if first <= n <= last) for n in range(len(found.rows))]


def _cells(found: RankSummary) -> tuple[list[str], list[list[str]]]:
    heads = ["Codec", *found.datasets, "Mean rank", "Group"]
    rows = [
        [row.title, *(f"{rank:g}" for rank in row.ranks), number(row.mean_rank, 2), letters]
        for row, letters in zip(found.rows, group_letters(found), strict=True)
    ]
    return heads, rows


def rank_latex(found: RankSummary) -> str:
    """Write the table for LaTeX; the sentences are comments before it, for the caption."""
    heads, rows = _cells(found)
    lines = [" & ".join(map(latex_text, cells)) + r" \\" for cells in (heads, *rows)]
    spec = "l" + "r" * (len(heads) - 2) + "l"
    begin = [rf"\begin{{tabular}}{{@{{}}{spec}@{{}}}}", r"\toprule", lines[0], r"\midrule"]
    comments = ["needs \\usepackage{booktabs}", *(f"caption: {sentence}" for sentence in rank_sentences(found))]
    return "".join(map(latex_comment, comments)) + "\n".join([*begin, *lines[1:], r"\bottomrule", r"\end{tabular}", ""])


def rank_markdown(found: RankSummary) -> str:
    """Write the table for people, and the sentences below."""
    heads, rows = _cells(found)
    bars = [":--", *["--:"] * (len(heads) - 2), ":--"]
    lines = [map(markdown_text, heads), bars, *(map(markdown_text, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n" + "\n".join(rank_sentences(found)) + "\n"


def rank_csv(found: RankSummary) -> str:
    """Write the table with all digits; the statistics, the same in each row, are its last columns."""
    out = io.StringIO()
    writer = csv.writer(out)
    facts = {
        "chi_square": found.chi_square, "p": found.p, "f": found.f, "p_f": found.p_f, "kendall_w": found.kendall_w,
        "alpha": found.alpha, "critical_difference": found.critical_difference,
    }  # fmt: skip
    heads = ["codec", *(f"rank on {name}" for name in found.datasets), "mean_rank", "groups", *facts]
    writer.writerow(map(escape_formula, heads))
    for row, letters in zip(found.rows, group_letters(found), strict=True):
        writer.writerow([escape_formula(row.codec), *row.ranks, row.mean_rank, letters, *facts.values()])
    return out.getvalue()


def rank_figure(found: RankSummary, width: Width, format_: str) -> bytes:
    """Draw mean ranks with bars as long as the critical difference: codecs whose bars do not touch differ."""
    half = found.critical_difference / 2
    places = range(len(found.rows))
    height = 0.55 + 0.16 * len(found.rows)
    with styled("A figure for a paper") as figure_class:
        figure = figure_class(figsize=(INCHES[width], height), layout="constrained")
        axes = figure.subplots()
        means = [row.mean_rank for row in found.rows]
        axes.errorbar(
            means, places, xerr=half, fmt="o", color="#1c2430", ms=3.2, elinewidth=0.9, capsize=2, capthick=0.9
        )
        axes.set_yticks(places, [shortened(row.title, 30) for row in found.rows])
        axes.set_ylim(len(found.rows) - 0.4, -0.6)
        axes.grid(visible=True, axis="x", color="#dcdcd4", linewidth=0.5)
        axes.set_axisbelow(True)
        best = found.rows[0].mean_rank + half
        axes.axvline(best, color="#868d97", linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
        axes.set_xlabel(f"Mean rank ± half the critical difference ({number(found.critical_difference, 2)})")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return written(figure, format_, f"Mean ranks by {found.quantity}")


def rank_text(found: RankSummary, ending: str) -> str:
    """Write the table as ``.tex``, ``.md`` or ``.csv`` says."""
    return {".tex": rank_latex, ".md": rank_markdown, ".csv": rank_csv}[ending](found)


TEXTS = (".tex", ".md", ".csv")
"""Endings of files that get a table; others get the diagram."""
