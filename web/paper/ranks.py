"""Mean ranks over datasets as a table and as a critical-difference diagram (Demšar, JMLR 7, 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase

from codec_superb.web.paper.drawing import INCHES, Width, styled, written
from codec_superb.web.paper.grid import Grid
from codec_superb.web.text import number, p_value, shortened
from codec_superb.web.theme import LIGHT


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


def rank_grid(found: RankSummary) -> Grid:
    """Make the table; in CSV the statistics, the same in each row, are its last columns."""
    facts = {
        "chi_square": found.chi_square, "p": found.p, "f": found.f, "p_f": found.p_f, "kendall_w": found.kendall_w,
        "alpha": found.alpha, "critical_difference": found.critical_difference,
    }  # fmt: skip
    letters = group_letters(found)
    lettered = list(zip(found.rows, letters, strict=True))
    return Grid(
        heads=("Codec", *found.datasets, "Mean rank", "Group"),
        rows=tuple((row.title, *(f"{r:g}" for r in row.ranks), number(row.mean_rank, 2), of) for row, of in lettered),
        texts=frozenset({0, len(found.datasets) + 2}),
        notes=tuple(rank_sentences(found)),
        data_heads=("codec", *(f"rank on {name}" for name in found.datasets), "mean_rank", "groups", *facts),
        data=tuple((row.codec, *row.ranks, row.mean_rank, of, *facts.values()) for row, of in lettered),
    )


def rank_figure(found: RankSummary, width: Width, format_: str) -> bytes:
    """Draw mean ranks with bars as long as the critical difference: codecs whose bars do not touch differ."""
    half = found.critical_difference / 2
    places = range(len(found.rows))
    height = 0.55 + 0.16 * len(found.rows)
    with styled("A figure for a paper") as figure_class:
        figure = figure_class(figsize=(INCHES[width], height), layout="constrained")
        axes = figure.subplots()
        means = [row.mean_rank for row in found.rows]
        # no rank lies below 1 or above the number of codecs: bars end at the axes, points on their edge stay whole
        axes.errorbar(means, places, xerr=half, fmt="none", ecolor=LIGHT.ink, elinewidth=0.9, capsize=2, capthick=0.9)
        axes.plot(means, places, "o", color=LIGHT.ink, ms=3.2, clip_on=False)
        axes.set_xlim(1, len(found.rows))
        axes.set_yticks(places, [shortened(row.title, 30) for row in found.rows])
        axes.set_ylim(len(found.rows) - 0.4, -0.6)
        axes.grid(visible=True, axis="x", color=LIGHT.line, linewidth=0.5)
        axes.set_axisbelow(True)
        best = found.rows[0].mean_rank + half
        axes.axvline(best, color=LIGHT.front, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
        axes.set_xlabel(f"Mean rank ± half the critical difference ({number(found.critical_difference, 2)})")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return written(figure, format_, f"Mean ranks by {found.quantity}")
