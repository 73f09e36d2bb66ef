"""The list of features: a folder each, whose ``endpoints.router`` is put into the application."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from codec_superb.server.ingest import endpoints as ingest
from codec_superb.server.ingest import pages as ingest_pages
from codec_superb.server.submissions import endpoints as submissions
from codec_superb.server.submissions import pages as submission_pages


def routers() -> Sequence[APIRouter]:
    """Return the routers of all features, in the order in which paths are matched."""
    return ingest.router, ingest_pages.router, submissions.router, submission_pages.router
