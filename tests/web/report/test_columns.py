"""The ranking table as ready text."""

import pytest
from support.web.report import TABLE, make_points, make_results
from support.web.results import changed, score

from codec_superb.web.quantity import SCORE, from_metric, metrics_present
from codec_superb.web.report.columns import RankingCell, RankingTable, ranking_table
from codec_superb.web.rows import CodecResult

EXPLAINED = {key: f"About {key}." for key in (*TABLE, SCORE.key)}


@pytest.fixture(scope="module")
def results() -> list[CodecResult]:
    """Fourteen codecs on speech."""
    return make_results(make_points("speech", 12))


def table(results: list[CodecResult]) -> RankingTable:
    """Make the table with the metrics that the results carry."""
    return ranking_table(results, [from_metric(m) for m in metrics_present(results, TABLE)], EXPLAINED)


def cell(made: RankingTable, codec: str, key: str) -> RankingCell:
    """Pick one cell by the codec's title and the column's key."""
    column = [column.key for column in made.columns].index(key)
    return next(row[column] for row in made.rows if row[0].text == codec)


def test_best_score_comes_first_and_none_last(results: list[CodecResult]) -> None:
    """Rows go by falling score; a codec without one is at the end."""
    rows = [changed(results[0], score=score(None), rank=None), *results[1:]]
    made = table(rows)
    scores = [cell(made, row[0].text, "score").sort for row in made.rows]
    assert scores[-1] == ""
    assert [float(s) for s in scores[:-1]] == sorted((float(s) for s in scores[:-1]), reverse=True)
    assert cell(made, results[0].title, "rank").text == "–"


def test_what_has_no_rank_stands_behind(results: list[CodecResult]) -> None:
    """A codec without a rank is below ranked ones that score less."""
    rows = [changed(results[0], score=score(0.99), rank=None), *(changed(row, rank=(1, 2)) for row in results[1:])]
    assert table(rows).rows[-1][0].text == results[0].title


def test_columns_follow_the_metrics(results: list[CodecResult]) -> None:
    """Every metric of the results has a column whose first order puts the best first."""
    best = {column.key: column.best for column in table(results).columns}
    assert best["mel"] == "ascending"
    assert best["pesq"] == "descending"
    assert "f0corr" not in best


def test_columns_that_nobody_fills_are_left_out(results: list[CodecResult]) -> None:
    """Without tokens there is no column of tokens."""
    assert "tps" in [column.key for column in table(results).columns]
    plain = [changed(row, tokens_per_second=None) for row in results]
    assert "tps" not in [column.key for column in table(plain).columns]


def test_score_carries_its_interval(results: list[CodecResult]) -> None:
    """The score is followed by its interval, and its title says on how many clips it rests."""
    made = table([changed(results[0], score=score(0.6543, 0.6, 0.7), clips=11, failed=0)])
    shown = cell(made, results[0].title, "score")
    assert (shown.text, shown.small, shown.sort) == ("0.654", "[0.600, 0.700]", "0.6543")
    assert shown.title == "Over 11 clips, 95 % interval [0.600, 0.700]"


def test_measured_bitrate_before_nominal(results: list[CodecResult]) -> None:
    """The measured bitrate is the number, the nominal one is small."""
    made = table([changed(results[0], kbps=0.7123, nominal_kbps=0.7)])
    assert (made.rows[0][1].text, made.rows[0][1].small) == ("0.71", "nominal 0.70")


def test_failures_and_undefined_values_are_counted(results: list[CodecResult]) -> None:
    """Clips that came back, clips that failed and undefined values stand side by side."""
    made = table(results)
    assert cell(made, "AMR-NB 12.2", "clips").text == "12 ok"
    assert cell(made, "AMR-NB 12.2", "clips").small == "2 failed, 1 undefined"
    assert "1 undefined, 2 failed" in cell(made, "AMR-NB 12.2", "pesq").title


def test_marks(results: list[CodecResult]) -> None:
    """Ceilings, incomplete codecs and those with a lag beyond one sample are marked; others are not."""
    made = table(results)
    marks = {row[0].text: [badge.text for badge in row[0].badges] for row in made.rows}
    assert marks["FLAC"] == ["ceiling"]
    assert marks["AMR-NB 12.2"] == ["incomplete"]
    assert marks["MP3 32"] == ["lag 20 samples"]
    assert marks["Opus 24"] == []


@pytest.mark.parametrize(("lag", "marked"), [(1, False), (-1, False), (-2, True), (None, False)])
def test_lag_is_marked_beyond_one_sample(results: list[CodecResult], lag: int | None, marked: bool) -> None:
    """One sample either way is no lag; two are, also when early."""
    made = table([changed(results[7], largest_lag=lag)])
    assert bool(made.rows[0][0].badges) is marked


def test_metric_that_was_not_computed_is_a_dash(results: list[CodecResult]) -> None:
    """A codec without a metric that others have shows a dash, which sorts last."""
    made = table([results[0], changed(results[1], metrics={})])
    shown = cell(made, results[1].title, "pesq")
    assert (shown.text, shown.sort) == ("–", "")
