"""Submissions on one row of results, and the warnings about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.server.board import make_submission

from codec_superb.server.database.session import Database
from codec_superb.server.moderation.plausibility import warnings_for

SPEECH = {"mini": ("speech",)}
"""One row of results is enough for a rule."""
EXACT: Mapping[str, float | None] = {
    "stft": 0.0, "mel": 0.0, "pesq": 4.6438885, "stoi": 1.0, "estoi": 1.0, "f0corr": 1.0, "sdr": None, "si_sdr": None,
}  # fmt: skip
"""Means of a sound that came back exactly."""


def warned(database: Database, codec: str = "opus_12k", kbps: float | None = 12.0, **made: Any) -> list[dict[str, Any]]:
    """Return the warnings about a pending submission."""
    with database.transaction(write=True) as session:
        submission = make_submission(session, codec, kbps, **({"status": "pending", "datasets": SPEECH} | made))
        return warnings_for(session, submission)


def publish(database: Database, codec: str, kbps: float, score: float, **made: Any) -> None:
    """Put a codec on the board."""
    with database.transaction(write=True) as session:
        make_submission(session, codec, kbps, score, **({"datasets": SPEECH} | made))
