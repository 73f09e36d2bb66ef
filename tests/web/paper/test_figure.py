"""Figures for print: width of the column, embedded TrueType fonts, the same bytes again, shapes that differ in grey."""

from __future__ import annotations

import re
import sys
import zlib
from dataclasses import replace

import pytest
from support.web.report import make_points, make_results
from support.web.results import changed, score

from codec_superb.metrics.table import METRICS
from codec_superb.web.errors import PaperError
from codec_superb.web.paper.columns import Block
from codec_superb.web.paper.drawing import checked_format, styled
from codec_superb.web.paper.figure import _FRONT, _RINGED, _looks, _panel, _points, left_out, rate_figure
from codec_superb.web.paper.grid import written_grid
from codec_superb.web.paper.ranks import RankRow, RankSummary, rank_figure, rank_grid
from codec_superb.web.quantity import SCORE, from_metric
from codec_superb.web.theme import family_styles

RESULTS = make_results(make_points("speech", 6))
BLOCK = Block("speech", ("mini",), RESULTS)
ROWS = tuple(RankRow(name, f"{name}_%", 1.0 + n, (1.0 + n,) * 3) for n, name in enumerate("xyz"))
RANKS = RankSummary(
    "Overall score", ("a_1", "b", "c"), ROWS, 6.0, 0.0498, None, 0.0, 1.0, 0.05, 1.91, ((0, 1), (1, 2)), rough=True,
    left_out=("my_flac (lossless: a ceiling)",),
)  # fmt: skip


@pytest.mark.parametrize(("width", "points"), [("one", 252.0), ("two", 515.52)])
def test_pdf_has_the_width_of_the_column_and_its_fonts(width: str, points: float) -> None:
    """3.5 and 7.16 inches; TrueType fonts inside, no Type 3, neither date nor version; a second call gives the same."""
    pdf = rate_figure([BLOCK, BLOCK], SCORE, width, "pdf")  # type: ignore[arg-type]
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert box is not None
    assert float(box[1]) == pytest.approx(points)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert not re.search(rb"CreationDate|[Mm]atplotlib", pdf)
    if width == "one":
        assert pdf == rate_figure([BLOCK, BLOCK], SCORE, "one", "pdf")


def test_svg_draws_its_text() -> None:
    """Letters are paths, so that no font is looked for; a distance is drawn with its axis turned."""
    svg = rate_figure([BLOCK], from_metric(METRICS["mel"]), "one", "svg").decode()
    assert "<text" not in svg
    assert "<dc:date>" not in svg
    assert 'width="252pt"' in svg


def test_families_differ_without_colour() -> None:
    """As many shapes as there are families, up to thirteen; each keeps the colour that it has on the page."""
    names = [f"family{n}" for n in range(13)]
    styles = family_styles(names)
    looks = _looks(names, styles)
    assert len({look.marker for look in looks.values()}) == 13
    assert all(looks[name].colour == styles[name].colour for name in names)


def test_the_front_is_of_counted_bits() -> None:
    """A codec of a declared bitrate has a ring and is not on the front, which others keep; 0 kbps has no place."""
    counted = [row for row in RESULTS if not row.lossless]
    declared = replace(
        changed(counted[0], kbps=0.5, score=score(0.99)), codec="declared", bit_source="declared", family="Mine"
    )
    families = sorted({row.family for row in (declared, *counted)})
    with styled("A test") as figure_class:
        axes = figure_class().subplots()
        _panel(
            axes, _points([declared, *counted], SCORE), SCORE, _looks(families, family_styles(families)), intervals=True
        )
        lines = {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    assert list(lines[_RINGED].get_xdata()) == [0.5]
    front = lines[_FRONT]
    assert min(front.get_xdata()) == min(row.kbps for row in counted)
    assert max(front.get_xdata()) == max(row.kbps for row in counted)
    assert 0.99 not in front.get_ydata()
    silent = replace(changed(counted[0], kbps=0.0), codec="silent")
    unknown = replace(changed(counted[0], kbps=None), codec="unknown", bit_source="unknown")
    assert left_out([Block("speech", ("mini",), [declared, silent, unknown, *counted])], SCORE) == [
        "silent (a logarithmic axis has no place for 0.00 kbps)", "unknown (its bitrate is not stated)",
    ]  # fmt: skip
    far = replace(changed(counted[0], kbps=9e6), codec="far")
    assert left_out([Block("speech", ("mini",), [far, *counted])], SCORE) == [
        "far (at 9000000 kbps it is far from all others)"
    ]
    with pytest.raises(PaperError, match=r"a value of score, got none: silent \(a logarithmic axis"):
        rate_figure([Block("speech", ("mini",), [silent])], SCORE, "one", "pdf")


def test_what_cannot_be_drawn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another ending, no value, and no matplotlib: one sentence each."""
    with pytest.raises(PaperError, match=r"expected a figure's file to end in \.pdf, \.svg, \.png, got \.eps"):
        checked_format("a.eps")
    with pytest.raises(PaperError, match="a value of f0corr_praat, got none"):
        rate_figure([BLOCK], from_metric(METRICS["f0corr_praat"]), "one", "pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        PaperError, match=r"needs matplotlib, which is not installed: pip install 'codec-superb\[paper\]'"
    ):
        rate_figure([BLOCK], SCORE, "one", "pdf")


def test_ranks_in_every_form() -> None:
    """Letters of groups, the statistics in words and as columns, and a diagram of the right width."""
    latex, markdown, table = (written_grid(rank_grid(RANKS), f"r.{form}") for form in ("tex", "md", "csv"))
    assert latex.splitlines()[-5] == r"x\_\% & 1 & 1 & 1 & 1.00 & a \\"
    assert r"Codec & a\_1 & b & c & Mean rank & Group \\" in latex
    lines = markdown.splitlines()
    assert lines[3] == r"| y\_% | 2 | 2 | 2 | 2.00 | a,b |"
    assert r"F(2, 4) without bound, p \< 0.001; Kendall's W = 1.00." in lines[7]
    assert lines[-1] == r"Left out: my\_flac (lossless: a ceiling)."
    assert table.splitlines()[1] == "x,1.0,1.0,1.0,1.0,a,6.0,0.0498,,0.0,1.0,0.05,1.91"
    png = rank_figure(RANKS, "one", "png")
    assert int.from_bytes(png[16:20], "big") == 2100
    svg = rank_figure(RANKS, "one", "svg").decode()
    axes = re.search(r'id="patch_2">\s*<path d="M ([\d.]+) [\d.]+\s+L ([\d.]+) ', svg)
    assert axes is not None
    points = [float(x) for x in re.findall(r'<use [^>]*x="([\d.]+)" y="[\d.]+" style="fill: #1c2430', svg)]
    # the best of three on each dataset is at 1, where the axis begins, and the last at 3
    assert (min(points), max(points)) == pytest.approx((float(axes[1]), float(axes[2])), abs=0.01)
    assert zlib.crc32(png) == zlib.crc32(rank_figure(RANKS, "one", "png"))
