"""Figures of applications side by side: whose original sound stands for all, and on how many clips each rests."""

from __future__ import annotations

from collections.abc import Sequence

from support.web.results import application_row, score

from codec_superb.web.rows import ProbeModel
from codec_superb.web.site.cells import TextCell
from codec_superb.web.site.compare.applications import application_tables
from codec_superb.web.site.compare.view import ComparedApplication, ComparedCodec, ComparedFigure, Comparison
from codec_superb.web.text import MISSING

FIGURE = "asr_wer_pct"


def cells(
    said: Sequence[tuple[str, str, float | None, int]], *, failed: int = 0, again: bool = True
) -> Sequence[TextCell]:
    """Compare codecs: sender, status, value on the original, and clips of each; return the cells of the figure."""
    figures, codecs = [], []
    for place, (sender, status, original, clips) in enumerate(said):
        row = application_row(
            f"c{place}", "mini", FIGURE, ProbeModel("x"), 8.0, score(original), score(11.76), score(0.0),
            n=clips, failed=failed if place == 0 else 0,
        )  # fmt: skip
        figures.append(ComparedFigure(row.codec, row.numbers, again or status != "verified"))
        codecs.append(ComparedCodec(row.codec, row.codec, "f", row.codec, 1, status, sender, []))
    part = ComparedApplication(FIGURE, "mini", "x", "", figures)
    (found,) = application_tables(Comparison(codecs, [], [], [], 0, [part]))
    (cells_of_row,) = found.rows
    return cells_of_row[1:]


def test_no_account_alone_says_what_the_original_is() -> None:
    """Neither the first column, nor several of one account, nor clips that others lack: the middle sender's."""
    said = [("bob", "self-reported", 5.0, 23), ("cat", "self-reported", 5.1, 23)]
    for forged in (("eve", "self-reported", 20.0, 23), ("eve", "self-reported", 20.0, 24)):
        original, *_ = cells([forged, forged, *said])
        assert original.text in {"5.00", "5.10"}


def test_each_verified_codec_says_for_itself_what_the_original_is() -> None:
    """But for what was not run again, which is its account's word: of two that differ nobody knows which is true."""
    said = [("ann", "verified", 5.0, 23), ("ann", "verified", 5.0, 23), ("eve", "self-reported", 4.0, 23)]
    assert cells(said)[0].text == "5.00"
    assert cells(said, again=False)[0].text == MISSING


def test_a_figure_of_fewer_clips_says_so() -> None:
    """Beside those of others, and on how many the model failed; what has as many as others says nothing."""
    original, few, many = cells([("eve", "self-reported", 5.0, 1), ("ann", "self-reported", 5.0, 23)], failed=2)
    assert (few.warning, many.warning) == ("3 of 23 clips, 2 failed", "")
    assert original.text == "5.00"


def test_a_figure_without_an_original_has_none() -> None:
    """A mark in its place, and no error."""
    assert cells([("ann", "self-reported", None, 0)])[0].text == MISSING
