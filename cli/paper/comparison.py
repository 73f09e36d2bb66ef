"""A comparison of two codecs as the rows of a paper's table."""

from __future__ import annotations

from collections.abc import Iterator

from codec_superb.pipeline.comparison.codecs import ComparisonReport
from codec_superb.pipeline.statistics.paired import PairedMetric
from codec_superb.web.paper.differences import DifferenceRow


def difference_rows(report: ComparisonReport) -> Iterator[DifferenceRow]:
    """Give every difference of a report: metrics and score by dataset, applications, then scores by category."""
    for of in report.datasets:
        yield from (_metric(of.dataset, of.category, one) for one in of.metrics if one.result is not None)
        if of.score is not None:
            score = of.score
            yield DifferenceRow(
                of.dataset, of.category, "score", score.first, score.second, score.difference, score.low, score.high,
                of.shared,
            )  # fmt: skip
    for one in report.applications:
        found = one.result
        yield DifferenceRow(
            one.dataset, "", one.figure, found.first, found.second, found.difference, found.low, found.high, one.n
        )
    for category in report.categories:
        if category.score is not None:
            found = category.score
            yield DifferenceRow(
                "", category.category, "score", found.first, found.second, found.difference, found.low, found.high
            )


def _metric(dataset: str, category: str, one: PairedMetric) -> DifferenceRow:
    found, test = one.result, one.test
    assert found is not None  # difference_rows gives no other
    return DifferenceRow(
        dataset, category, one.metric, found.first, found.second, found.difference, found.low, found.high,
        n=one.n, wins=one.wins, losses=one.losses,
        clusters=test.clusters if test else None,
        p=test.p if test else None,
        rank_biserial=test.rank_biserial if test else None,
        cohen_dz=test.cohen_dz if test else None,
    )  # fmt: skip
