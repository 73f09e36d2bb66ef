"""Data that contradict themselves are refused before a page is made."""

import math
from dataclasses import replace

import pytest
from support.web.report import TABLE, make_report

from codec_superb.web.errors import ReportError, WebError
from codec_superb.web.report import render
from codec_superb.web.report.page import check
from codec_superb.web.rows import ReportData

DATA = make_report(4, ["speech"])


def test_good_data_pass() -> None:
    """The generator's report has no contradiction."""
    check(DATA, TABLE)


def test_no_results() -> None:
    """A report of nothing says what to do."""
    with pytest.raises(ReportError, match="score a run first"):
        render(ReportData("t", "2026-01-01T00:00:00Z", []), TABLE)


def test_a_codec_twice_in_a_category() -> None:
    """Two results of one codec in one category are named."""
    with pytest.raises(ReportError, match="'codec2_700c' comes twice in category 'speech'"):
        check(replace(DATA, results=[*DATA.results, DATA.results[0]]), TABLE)


def test_unknown_metric() -> None:
    """A metric that the table lacks is named with those it knows."""
    table = {key: row for key, row in TABLE.items() if key != "pesq"}
    with pytest.raises(WebError, match=r"'pesq'.*lacks; it knows stft, mel"):
        check(DATA, table)


def test_clip_of_a_codec_without_result() -> None:
    """Clips of a codec that is not in the table would be numbers from nowhere."""
    with pytest.raises(ReportError, match="has no result in category 'music'"):
        check(replace(DATA, clips=[replace(DATA.clips[0], category="music")]), TABLE)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_no_numbers(value: float) -> None:
    """Undefined values are left out by who gives the data; they are never drawn or written."""
    with pytest.raises(ReportError, match="expected a finite number"):
        check(replace(DATA, clips=[replace(DATA.clips[0], metrics={"pesq": value})]), TABLE)
