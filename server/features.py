"""The list of features: a folder each, whose ``endpoints.router`` is put into the application."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from codec_superb.server.charts.endpoints import router as charts
from codec_superb.server.codecs.endpoints import router as codecs
from codec_superb.server.compare.endpoints import router as compare
from codec_superb.server.compare.listening_endpoints import router as listening
from codec_superb.server.ingest.endpoints import router as ingest
from codec_superb.server.ingest.pages import router as upload_page
from codec_superb.server.leaderboard.endpoints import router as leaderboard
from codec_superb.server.leaderboard.pages import router as board_page
from codec_superb.server.moderation.endpoints import router as moderation_api
from codec_superb.server.moderation.pages import router as moderation_pages
from codec_superb.server.operations.endpoints import router as operations
from codec_superb.server.pages.endpoints import router as pages
from codec_superb.server.people.endpoints import router as people
from codec_superb.server.submissions.endpoints import router as submissions
from codec_superb.server.submissions.pages import router as submission_pages


def routers() -> Sequence[APIRouter]:
    """Return the routers of all features, in the order in which paths are matched."""
    return (
        operations, board_page, pages, leaderboard, codecs, compare, listening, charts, ingest, upload_page,
        submissions, submission_pages, people, moderation_api, moderation_pages,
    )  # fmt: skip
