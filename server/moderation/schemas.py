"""What the API of moderation takes and gives."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from codec_superb.server.database.models import Submission
from codec_superb.server.http.api_model import ApiModel
from codec_superb.server.moderation.service import REASON_LIMIT, Decision

Status = Literal["pending", "published", "verified", "withdrawn"]


class DecisionRequest(ApiModel):
    """One decision."""

    decision: Decision
    """``accept`` or ``reject`` what is pending, ``verify`` what is published, ``withdraw`` what is public, ``accept``
    what was withdrawn."""
    status: Status | None = None
    """Status that the decision is about; it is refused where the submission has another one by then. None for any."""
    reason: str = Field(default="", max_length=REASON_LIMIT)
    """Shown with the submission; required to reject, to withdraw, and to accept what was withdrawn."""


class DecisionAnswer(ApiModel):
    """The submission after the decision."""

    id: str
    codec: str
    version: int
    status: str
    """``published``, ``verified`` or ``withdrawn``."""
    decided: datetime | None
    decided_by: str | None
    reason: str | None

    @classmethod
    def of(cls, submission: Submission) -> DecisionAnswer:
        """Describe a submission."""
        return cls(
            id=submission.id, codec=submission.codec.name, version=submission.version, status=submission.status,
            decided=submission.decided, decided_by=submission.decided_by, reason=submission.reason,
        )  # fmt: skip
