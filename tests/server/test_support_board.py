"""The rows that tests put on the board are those that the service would have stored."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.server.board import make_submission

from codec_superb.base_codec.card import Card
from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.database.models import Result, Submission
from codec_superb.server.database.session import Database


def test_a_submission_is_complete(database: Database) -> None:
    """Card, results of each dataset and over all, and metrics in the fields that the pages read."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", 12, 0.7, datasets={"mini": CATEGORIES, "esc50": ("audio",)})
        second = make_submission(session, "opus_12k", 12, 0.4, status="pending", datasets={"mini": ("speech",)})
    with database.transaction() as session:
        stored = session.get_one(Submission, first)
        assert Card.model_validate(stored.card).name == stored.codec.name == "opus_12k"
        assert [(row.category, row.dataset) for row in stored.results if row.dataset == ""] == [
            (category, "") for category in CATEGORIES
        ]
        assert len(stored.results) == 7
        for row in stored.results:
            assert row.score == pytest.approx(0.7)
            assert Estimate(**row.metrics["stft"]).n == row.clips
        (other,) = session.scalars(select(Result).where(Result.submission_id == second, Result.dataset == "mini"))
        assert other.score == pytest.approx(0.4)
        assert session.get_one(Submission, second).version == 2
