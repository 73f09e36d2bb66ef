"""The list of features: a folder each, whose ``endpoints.router`` is put into the application."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from codec_superb.server.operations.endpoints import router as operations


def routers() -> Sequence[APIRouter]:
    """Return the routers of all features, in the order in which paths are matched."""
    return (operations,)
