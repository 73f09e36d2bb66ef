"""The published boards of XARES-LLM reproduce from their rows, but for one printed average."""

from __future__ import annotations

import pytest

from codec_superb.pipeline.literature.xares import TRACKS, TrackName, xares_about, xares_average, xares_board

DEVIATES = {("a", "THU-HSCI-2"): (89.49, 90.8)}
"""Average by its row, and as it is printed."""


@pytest.mark.parametrize("track", TRACKS)
def test_averages_follow_from_the_rows(track: TrackName) -> None:
    """22 of 23 on track A, 23 of 23 on track B, to the printed digit; the one that does not is said."""
    rows = xares_board(track)
    assert len(rows) == 23
    for row in rows:
        computed = xares_average(track, row.figures)
        if (track, row.model) in DEVIATES:
            assert (computed, row.average) == pytest.approx(DEVIATES[track, row.model], abs=0.006)
        else:
            # two means that are rounded before they are added, and their sum: a digit of the last place
            assert computed == pytest.approx(row.average, abs=0.1), row.model


def test_rows_are_whole() -> None:
    """21 figures on track A; on B nine columns, of which two are means over tasks; all are percent."""
    for track, columns in (("a", 21), ("b", 9)):
        for row in xares_board(track):
            assert len(row.figures) == columns
            assert all(0 <= value <= 100 for value in row.figures.values())
    assert xares_board("b")[0].figures["public"] == 70.2
    assert set(xares_about()["boards"]) == set(TRACKS)
