"""Request and response schemas of the moderation API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from codec_superb.server.database.models import Submission
from codec_superb.server.http.api_model import ApiModel
from codec_superb.server.moderation.kept_warnings import kept
from codec_superb.server.moderation.service import REASON_LIMIT, Decision

Status = Literal["pending", "held", "self-reported", "verified", "withdrawn"]


class DecisionRequest(ApiModel):
    """One decision."""

    decision: Decision
    """``accept`` or ``reject`` a pending or held submission, ``verify`` a self-reported or held one, ``hold`` or
    ``withdraw`` a public one, ``accept`` a withdrawn one."""
    status: Status | None = None
    """Expected current status; the decision is refused where the submission has another one. None for any."""
    reason: str = Field(default="", max_length=REASON_LIMIT)
    """Shown with the submission; required to reject, to hold, to withdraw, and to accept what was withdrawn."""


class DecisionAnswer(ApiModel):
    """The submission after the decision."""

    id: str
    codec: str
    version: int
    status: str
    """``held``, ``self-reported``, ``verified`` or ``withdrawn``."""
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


class Withdrawal(ApiModel):
    """What an account says when it takes its own submission back."""

    reason: str = Field(default="", max_length=REASON_LIMIT)
    """Shown in the history; "by its submitter" without one."""


class OwnSubmission(ApiModel):
    """A submission as its own account sees it."""

    id: str
    codec: str
    version: int
    status: Status
    received: datetime
    decided: datetime | None
    reason: str | None
    """Why it was held, rejected or withdrawn, where somebody decided."""
    notes: list[str]
    warnings: list[dict[str, Any]]
    """What a moderator should look at, as it was found when the file came: ``{kind, where, text}`` each; one with
    ``more`` stands for so many that are not listed."""

    @classmethod
    def of(cls, submission: Submission) -> OwnSubmission:
        """Describe a submission."""
        return cls(
            id=submission.id, codec=submission.codec.name, version=submission.version, status=submission.status,
            received=submission.received, decided=submission.decided, reason=submission.reason,
            notes=submission.notes, warnings=kept(submission.warnings),
        )  # fmt: skip
