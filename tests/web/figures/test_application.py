"""Applications against bitrate: the published Table 3 at its places."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
from support.web.results import application_row, score

from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.published import published_entries
from codec_superb.web.application_rows import original_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.application import Ceiling, application_chart
from codec_superb.web.rows import BoardRow, ProbeModel

TABLE = published_table("table3")


def rows() -> list[BoardRow]:
    """Make the rows of Table 3."""
    return [board_row(entry, "speech", "", None, "") for entry in published_entries()["table3"]]


@pytest.mark.parametrize(
    ("key", "points", "ceiling"),
    [
        ("asr_wer_pct", {(4.0, 4.02), (1.5, 9.21), (24.0, 2.96), (16.0, 3.16)}, 2.96),
        ("asv_eer_pct", {(6.0, 1.59), (1.5, 13.88), (8.0, 3.59)}, 0.86),
        ("asv_mindcf", {(1.5, 0.68), (16.0, 0.10)}, 0.07),
        ("er_accuracy_pct", {(24.0, 69.56), (6.4, 65.70)}, 69.84),
        ("aec_map_pct", {(6.0, 41.08), (2.0, 28.65), (24.0, 36.64)}, 45.68),
    ],
)
def test_table_3_stands_at_its_places(key: str, points: set[tuple[float, float]], ceiling: float) -> None:
    """All 19 codecs, some of them checked by hand against the paper, and the original as a line."""
    figure = application_chart(rows(), APPLICATIONS[key], [Ceiling(TABLE.label, TABLE.ceiling[key])])
    families = [trace for trace in figure["data"] if trace["meta"]["role"] == "family"]
    drawn = [point for trace in families for point in zip(trace["x"], trace["y"], strict=True)]
    assert len(drawn) == 19
    assert points <= set(drawn)
    (line,) = figure["layout"]["shapes"]
    assert line["y0"] == line["y1"] == ceiling
    written = APPLICATIONS[key].write(ceiling)
    assert f"original: {written} (Codec-SUPERB, Table 3)" in figure["layout"]["annotations"][0]["text"]


@pytest.mark.parametrize("key", ["asr_wer_pct", "aec_map_pct"])
def test_up_is_better_and_the_ceiling_is_inside(key: str) -> None:
    """An error rate's axis runs downwards; the line keeps away from the edge."""
    quantity, ceiling = APPLICATIONS[key], TABLE.ceiling[key]
    bottom, top = application_chart(rows(), quantity, [Ceiling("x", ceiling)])["layout"]["yaxis"]["range"]
    assert (top > bottom) == quantity.higher_is_better
    assert min(bottom, top) < ceiling < max(bottom, top)


def test_is_a_figure_that_plotly_accepts() -> None:
    """With and without rows and ceilings."""
    quantity = APPLICATIONS["asr_wer_pct"]
    assert go.Figure(application_chart(rows(), quantity, [])).data
    empty = application_chart([], quantity, [])
    assert empty["data"] == []
    assert "shapes" not in empty["layout"]


def test_no_account_alone_says_what_the_original_is() -> None:
    """Neither by a name that comes first, nor by many codecs, nor by clips that others lack: the middle sender's."""
    said = [("b", 3.9, 23), ("c", 3.9, 23), ("d", 4.0, 23)]
    forged = [("a1", 9.0, 23), ("a2", 9.0, 24), ("a3", 9.0, 24)]
    rows = [
        application_row(
            codec, "mini", "asr_wer_pct", ProbeModel("x"), 8.0, score(value), score(value), score(0.0), n=clips
        )
        for codec, value, clips in (*forged, *said)
    ]
    found = original_of((row, row.codec[0]) for row in rows)
    assert found is not None
    assert found.codec == "c"
    assert original_of([]) is None
