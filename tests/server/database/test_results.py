"""Results in the database are the one record of results, there and back, also in the packed form of the board."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.server.board import make_submission
from support.web.results import estimate, score, summary

from codec_superb.metrics.results import ResultSummary
from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.board.repository import load_entries
from codec_superb.server.database.models import Result
from codec_superb.server.database.results import to_row, to_summary
from codec_superb.server.database.session import Database

WHOLE = summary(
    category="music", datasets=("mini", "more"), complete=False, clips=9, failed=2, seconds=7.25, kbps=12.5,
    tokens_per_second=75.0, compression_ratio=20.0, encode_rtf=0.01, decode_rtf=0.02, largest_lag=3, clipped_samples=4,
    score=score(0.5, 0.25, 0.75),
    metrics={"mel": estimate(0.1 + 0.2, 0.25, 0.5, 6, 1, 2, 0.125), "pesq": estimate(None, undefined=9)},
)  # fmt: skip


@pytest.mark.parametrize("result", [WHOLE, summary()])
def test_a_row_gives_back_what_it_was_made_of(result: ResultSummary) -> None:
    """No field is lost, renamed or rounded, with values or without."""
    row = to_row(result, "mini")
    assert (row.dataset, row.score) == ("mini", result.score.value)
    assert to_summary(row) == result


def test_the_board_unpacks_what_was_stored(database: Database) -> None:
    """Every result of a submission is the same record, whether it is read from its row or from the packed board."""
    with database.transaction(write=True) as session:
        identity = make_submission(session, "opus_12k", 12, 0.7, datasets={"mini": CATEGORIES, "esc50": ("audio",)})
    with database.transaction() as session:
        (entry,) = load_entries(session, [identity])
        rows = session.scalars(select(Result).where(Result.submission_id == identity)).all()
        assert len(rows) == len(entry.figures) == 7
        for row in rows:
            stored = to_summary(row)
            assert entry.figures[stored.category, row.dataset].summary(stored.category) == stored
