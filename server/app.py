"""Puts the service together: settings in, ASGI application out. Each feature brings its own router."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from codec_superb import __version__
from codec_superb.server.compression import Compression
from codec_superb.server.database.session import Database
from codec_superb.server.error_pages import handle_errors
from codec_superb.server.features import routers
from codec_superb.server.leaderboard.board import Board
from codec_superb.server.settings import Settings
from codec_superb.server.static_files import router as static_router


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the application; nothing is opened before it starts, and everything is closed when it stops.

    The database must have been migrated (:func:`codec_superb.server.database.migrate.upgrade`; ``codec-superb serve``
    does it). ``app.state`` carries ``settings`` and, while it runs, ``database`` and ``board``.
    """
    chosen = settings or Settings()
    app = FastAPI(
        title="Codec-SUPERB leaderboard",
        version=__version__,
        docs_url=None,  # its page would load scripts from elsewhere; ours is /api/docs
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=_lifespan,
    )
    app.state.settings = chosen
    handle_errors(app)
    app.add_middleware(Compression)
    app.include_router(static_router)
    for router in routers():
        app.include_router(router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    for folder in (settings.storage, settings.files, settings.incoming):
        folder.mkdir(parents=True, exist_ok=True)
    app.state.database = Database(settings.database_url)
    app.state.board = Board(app.state.database)
    try:
        app.state.board.start()
        yield
    finally:
        app.state.board.stop()
        app.state.database.close()
        del app.state.board, app.state.database
