"""The list of features: a folder each, whose ``endpoints.router`` is put into the application."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from codec_superb.server.moderation.endpoints import router as moderation_api
from codec_superb.server.moderation.pages import router as moderation_pages
from codec_superb.server.people.endpoints import router as people


def routers() -> Sequence[APIRouter]:
    """Return the routers of all features, in the order in which paths are matched."""
    return (people, moderation_api, moderation_pages)
