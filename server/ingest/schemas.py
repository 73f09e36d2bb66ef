"""The API's answer to an upload."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from codec_superb.server.http.api_model import ApiModel

Status = Literal["pending", "held", "self-reported", "verified", "withdrawn", "known"]


class Receipt(ApiModel):
    """An accepted submission, as its sender sees it."""

    id: str
    """Identifier of the submission in addresses."""
    codec: str
    version: int
    """Of this codec's results here, counted from 1."""
    status: Status
    """``pending`` and ``held`` wait for a moderator, the second because of its warnings; ``self-reported`` and
    ``verified`` are on the leaderboard; ``known`` came before from somebody else, nothing of it is public."""
    url: str
    """Page of the submission; none for the public while it is pending or held, and '' where it is ``known``."""
    datasets: list[str]
    clips: int
    ok: int
    failed: int
    complete: bool
    """No clip failed and no dataset was cut short."""
    custom: bool
    """On datasets that are not of the benchmark: shown as custom, never ranked."""
    condition: str
    """What it was made under, '' for clean results; those under a condition are never ranked."""
    notes: list[str]
    """What is unusual without being wrong."""
    warnings: list[dict[str, Any]]
    """What a moderator should look at: ``{kind, where, text, holds}`` each; one that ``holds`` is why it is held.
    One with ``more`` stands for so many that are not listed."""
    reason: str | None = None
    """Why a moderator held it, rejected it or took it back, or its account withdrew it."""


class StagedFile(ApiModel):
    """A part that was sent before the file that describes it."""

    sha256: str
    size: int
    """Bytes."""
    expires: datetime
    """When it is removed, unless a submission has named it."""


class StagedFiles(ApiModel):
    """Parts of an account that no submission of it has named yet."""

    parts: list[StagedFile]
    bytes_left: int
    """Bytes of further parts that the account may send."""
