"""A board of eight codecs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.server.board import make_submission

from codec_superb.server.board.snapshot import Snapshot, load_snapshot
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database

NEURAL = {"kind": "neural", "frame_rate": 75.0, "codebooks": 8, "codebook_size": 1024, "nominal_kbps": 6.0,
          "sampling_rate": 24000, "family": "encodec", "weights": {"source": "facebook/encodec_24khz"}}  # fmt: skip


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Make eight codecs that differ in all that can be filtered."""
    url = f"sqlite:///{tmp_path_factory.mktemp('board') / 'leaderboard.sqlite'}"
    upgrade(url)
    database = Database(url)
    with database.transaction(write=True) as session:
        make_submission(session, "opus_6k", 6.0, 0.70)
        make_submission(session, "opus_12k", 12.0, 0.80, status="verified")
        make_submission(session, "opus_24k", 24.0, 0.81, result={"tokens_per_second": 50.0})  # without codebooks
        make_submission(session, "encodec_6k", 6.0, 0.75, card=NEURAL)
        here = {"title": "Mine", "weights": {"source": "/home/me/weights.pt"}, "causal": False}
        make_submission(session, "secret", 6.0, 0.78, card=NEURAL | here)
        make_submission(session, "elsewhere", 9.0, 0.99, datasets={"other": ["speech"], "mini": ["speech"]})
        make_submission(session, "partial", 10.0, 0.95, result={"complete": False, "failed": 3})
        make_submission(session, "alone", 11.0, 0.6, result={"low": None, "high": None})
        make_submission(session, "waiting", 12.0, 0.99, status="pending")
    with database.transaction() as session:
        yield load_snapshot(session, None)
    database.close()
