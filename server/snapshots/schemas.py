"""Schemas of the API's answers about states of the board."""

from __future__ import annotations

from datetime import datetime

from codec_superb.metrics.table import Category
from codec_superb.server.http.api_model import ApiModel
from codec_superb.web.site.whose import ShownSource


class CountedSubmission(ApiModel):
    """A submission that stood for its codec at the revision."""

    codec: str
    submission: str
    version: int
    status: str
    """Then."""
    file_sha256: str
    today: str
    """Its status now."""


class PastRow(ApiModel):
    """A codec in one category."""

    codec: str
    submission: str
    source: str
    """Its status then: ``verified`` or ``self-reported``."""
    submitter: str
    """Account that sent it, or ``anonymous``; '' where it is no longer public."""
    kbps: float | None
    score: float | None
    low: float | None
    high: float | None
    rank: tuple[int, int] | None
    """Best and worst; None for a codec without a rank."""
    unranked: str
    """Why there is no rank."""


class SnapshotAnswer(ApiModel):
    """The board at a revision."""

    revision: int
    at: datetime
    """When the last change up to it was made."""
    sha256: str
    """Of ``canonical``, hexadecimal."""
    canonical: str
    """The state as canonical JSON; its hash binds the files, and they every number."""
    computed_by: str
    """Version of the program that gave the ranks."""
    bibtex: str
    submissions: list[CountedSubmission]
    run_again: list[CountedSubmission]
    """Verified ones beside these, which ranks rest on too."""
    sources: dict[Category, ShownSource]
    """Whose results ``categories`` has."""
    categories: dict[Category, list[PastRow]]
    """Best first, as the board orders them."""
