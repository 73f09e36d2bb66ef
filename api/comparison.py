"""``Result.compare``: two codecs on the clips that both have, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from codec_superb.api.rendering import Table, data_frame
from codec_superb.pipeline.comparison.codecs import ComparisonReport
from codec_superb.pipeline.statistics.effect import PairedTest
from codec_superb.pipeline.statistics.paired import Difference
from codec_superb.web import text

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "", "first", "second", "difference", "95 % interval", "first better", "clips", "wins/losses", "p", "effect r",
)  # fmt: skip
DECIMALS = 3
SCORE = "overall score"


class _Row(NamedTuple):
    """A difference on one dataset and category."""

    place: tuple[str, str]
    figure: str
    result: Difference
    clips: int
    wins: int | None
    losses: int | None
    test: PairedTest | None = None


class Comparison:
    """Paired differences, first minus second, with 95 % intervals by clusters of clips."""

    def __init__(self, report: ComparisonReport) -> None:
        self.report = report
        """All figures, those of applications and what was not compared included."""

    def _rows(self) -> Iterator[_Row]:
        for of in self.report.datasets:
            place = (of.dataset, of.category)
            if of.score is not None:
                yield _Row(place, SCORE, of.score, of.shared, None, None)
            for one in of.metrics:
                if one.result is not None:
                    yield _Row(place, one.metric, one.result, one.n, one.wins, one.losses, one.test)
        for found in self.report.applications:
            yield _Row((found.dataset, "applications"), found.figure, found.result, found.n, None, None)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each dataset, category and figure. Raises PipelineError without pandas."""
        rows: list[dict[str, Any]] = [
            {"dataset": row.place[0], "category": row.place[1], "figure": row.figure, "first": row.result.first,
             "second": row.result.second, "difference": row.result.difference, "low": row.result.low,
             "high": row.result.high, "first_better": row.result.first_better, "clips": row.clips, "wins": row.wins,
             "losses": row.losses, "p": row.test and row.test.p, "rank_biserial": row.test and row.test.rank_biserial,
             "cohen_dz": row.test and row.test.cohen_dz}
            for row in self._rows()
        ]  # fmt: skip
        return data_frame(rows)

    def _tables(self) -> list[Table]:
        places = dict.fromkeys(row.place for row in self._rows())
        return [
            Table(", ".join(place), COLUMNS, tuple(_cells(row) for row in self._rows() if row.place == place))
            for place in places
        ]

    def _title(self) -> str:
        return f"{self.report.first} (first) against {self.report.second} (second): first minus second"

    def __repr__(self) -> str:
        return "\n\n".join([self._title(), *(table.as_text() for table in self._tables()), *self._left_out()])

    # IPython's display protocol: what a notebook shows of an object
    def _repr_html_(self) -> str:
        told = [f"<p>{escape(line)}</p>" for line in (self._title(), *self._left_out())]
        return "".join([told[0], *(table.as_html() for table in self._tables()), *told[1:]])

    def _left_out(self) -> list[str]:
        return [f"not compared: {left.what}: {left.reason}" for left in self.report.left_out]


def _cells(row: _Row) -> tuple[tuple[str, str], ...]:
    result = row.result
    means = (text.number(value, DECIMALS) for value in (result.first, result.second))
    known = result.low is not None and result.high is not None  # a single clip has no interval
    ends = f"[{text.signed(result.low, DECIMALS)}, {text.signed(result.high, DECIMALS)}]" if known else ""
    better = text.percent(result.first_better if known else None)
    numbers = (*means, text.signed(result.difference, DECIMALS), ends, better)
    counts = "" if row.wins is None else f"{row.wins}/{row.losses}"
    tested = ("", "") if row.test is None else (text.p_value(row.test.p), text.signed(row.test.rank_biserial, 2))
    return tuple((cell, "") for cell in (row.figure, *numbers, str(row.clips), counts, *tested))
