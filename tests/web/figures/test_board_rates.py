"""The leaderboard's chart says which bitrates were measured and which are only stated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.web.board_views import board_results, board_row
from support.web.results import changed

from codec_superb.web.figures.board import board_chart
from codec_superb.web.quantity import SCORE
from codec_superb.web.rows import BoardRow


def published() -> BoardRow:
    """Make a codec of a published table: no clips, a stated bitrate."""
    return board_row(changed(board_results()[3], codec="table3:E3", clips=0), 1, source="published", submission=None)


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([board_row(board_results()[3])], "Measured bitrate (kbps, logarithmic)"),
        ([published()], "Nominal bitrate (kbps, logarithmic)"),
        ([board_row(board_results()[4]), published()], "Bitrate, measured or nominal (kbps, logarithmic)"),
    ],
)
def test_axis_says_whether_bitrates_were_measured(rows: list[BoardRow], title: str) -> None:
    """A stated bitrate is never called measured."""
    assert board_chart(rows, SCORE)["layout"]["xaxis"]["title"]["text"] == title


def test_published_points_say_so() -> None:
    """The text of a point names the bitrate nominal and counts no clips."""
    texts = [text for trace in board_chart([published()], SCORE)["data"] for text in trace.get("hovertext", ())]
    assert len(texts) == 1
    assert "kbps nominal<br>" in texts[0]
    assert "measured" not in texts[0]
    assert texts[0].endswith("published, not re-run here")


def test_lines_name_their_table_only_beside_others() -> None:
    """One table alone needs no name in every entry of the legend; mixed with submissions it does."""
    table = replace(published(), source_label="Table 3")
    for rows, expected in (([table], {"MP3"}), ([table, board_row(board_results()[3])], {"MP3", "MP3 (Table 3)"})):
        traces = board_chart(rows, SCORE)["data"]
        assert {trace["meta"]["family"] for trace in traces if trace["meta"]["role"] == "family"} == expected
