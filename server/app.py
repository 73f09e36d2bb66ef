"""Puts the service together: settings in, ASGI application out. Each feature brings its own router."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from threading import Semaphore

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from codec_superb import __version__
from codec_superb.server.board.current import Board
from codec_superb.server.charts.endpoints import router as charts
from codec_superb.server.codecs.endpoints import router as codecs
from codec_superb.server.compare.endpoints import router as compare
from codec_superb.server.compare.listening_endpoints import router as listening
from codec_superb.server.database.session import Database
from codec_superb.server.http.answer_turns import InTurn
from codec_superb.server.http.compression import Compression
from codec_superb.server.http.cookies import PlainCookies
from codec_superb.server.http.error_answers import EVERYWHERE
from codec_superb.server.http.error_pages import handle_errors
from codec_superb.server.http.forwarded import UnnamedProxy
from codec_superb.server.http.headers import SecurityHeaders
from codec_superb.server.http.hosts import ExpectedHost
from codec_superb.server.http.loop_turns import LoopTurns
from codec_superb.server.http.methods import HeadAsGet
from codec_superb.server.http.request_limits import RequestLimits
from codec_superb.server.http.requests import catch_unexpected, observe
from codec_superb.server.http.static_files import compress_all
from codec_superb.server.http.static_files import router as static_router
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.endpoints import router as ingest
from codec_superb.server.ingest.pages import router as upload_page
from codec_superb.server.ingest.places import Places
from codec_superb.server.ingest.pool import Pool
from codec_superb.server.leaderboard.endpoints import router as leaderboard
from codec_superb.server.leaderboard.pages import prepare
from codec_superb.server.leaderboard.pages import router as board_page
from codec_superb.server.listening_tests.endpoints import router as listening_tests_api
from codec_superb.server.listening_tests.moderation import router as listening_tests_moderation
from codec_superb.server.listening_tests.pages import router as listening_tests
from codec_superb.server.local.endpoints import router as local_runs
from codec_superb.server.local.feeder import Feeder
from codec_superb.server.local.loopback import LoopbackOnly
from codec_superb.server.local.runs import RunsFolder
from codec_superb.server.moderation.endpoints import router as moderation_api
from codec_superb.server.moderation.own_pages import router as own_pages
from codec_superb.server.moderation.pages import router as moderation_pages
from codec_superb.server.mseb.endpoints import router as mseb
from codec_superb.server.operations.endpoints import router as operations
from codec_superb.server.operations.heartbeat import Heartbeat
from codec_superb.server.operations.meters import Meters, meters
from codec_superb.server.pages.conditions import router as conditions
from codec_superb.server.pages.custom import router as custom
from codec_superb.server.pages.endpoints import router as pages
from codec_superb.server.people.endpoints import router as people
from codec_superb.server.people.rate_counters import close_limiter, make_limiter
from codec_superb.server.private_sets.endpoints import router as private_sets
from codec_superb.server.ranking.endpoints import router as ranking
from codec_superb.server.settings import Settings
from codec_superb.server.snapshots.endpoints import router as snapshots
from codec_superb.server.storage.submission_files import remove_orphans
from codec_superb.server.submissions.endpoints import router as submissions
from codec_superb.server.submissions.pages import router as submission_pages
from codec_superb.server.tokens.endpoints import router as tokens
from codec_superb.server.understanding.endpoints import router as understanding
from codec_superb.server.verification.endpoints import router as verification
from codec_superb.server.xares.endpoints import router as xares
from codec_superb.web.site.page import preload

CHECKS_END_S = 5.0
"""Seconds for which checks of other processes' uploads may go on once this one has answered its last request."""


class _Service(FastAPI):
    """The application within what concerns every answer."""

    def build_middleware_stack(self) -> ASGIApp:
        """Put the outermost layers around everything, the answer to an internal error included."""
        settings: Settings = self.state.settings
        app: ASGIApp = LoopTurns(PlainCookies(SecurityHeaders(super().build_middleware_stack(), settings)))
        if settings.trusted_proxies:
            # X-Forwarded-For of anybody else is ignored: who could choose an address could escape every limit.
            app = ProxyHeadersMiddleware(app, list(settings.trusted_proxies))  # type: ignore[arg-type,assignment]
        return UnnamedProxy(app, settings, self.state.warnings)  # outside: it sees the address of the peer


def create_app(settings: Settings | None = None, runs: RunsFolder | None = None) -> FastAPI:
    """Make the application; nothing is opened before it starts, and everything is closed when it stops.

    With ``runs`` it shows that folder and takes nothing else: no uploads, logins or decisions.

    The database must have been migrated (:func:`codec_superb.server.database.migrate.upgrade`; ``codec-superb serve``
    does it). ``app.state`` carries ``settings``, ``meters``, ``places``, ``warnings`` and ``missing`` (files; for
    ``/readyz``) and, while it runs, ``database``, ``limiter``, ``board`` and ``checker``, on PostgreSQL ``files_wait``.
    """
    chosen = settings or Settings()
    app = _Service(
        title="Codec-SUPERB leaderboard",
        version=__version__,
        docs_url=None,  # its page would load scripts from elsewhere; ours is /api/docs
        redoc_url=None,
        openapi_url=None,  # its route writes 480 kB anew for everybody, in the event loop; ours is of the pages
        lifespan=_lifespan,
    )
    app.state.settings = chosen
    app.state.runs = runs
    app.state.meters = Meters()
    app.state.places = Places()
    app.state.warnings = {}
    app.state.missing = set()
    handle_errors(app)
    catch_unexpected(app)  # first of the middleware: what follows also sees the answers that it makes
    app.add_middleware(RequestLimits)
    app.add_middleware(Compression)
    app.add_middleware(HeadAsGet)
    app.add_middleware(ExpectedHost, settings=chosen)
    observe(app)  # it sees all others
    if runs is not None:
        app.add_middleware(LoopbackOnly)
    app.router.routes.extend(_routes(local=runs is not None))
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    for folder in (settings.storage, settings.files, settings.incoming):
        folder.mkdir(0o700, parents=True, exist_ok=True)
    app.state.database = Database(settings.database_url)
    meters(app).watch(app.state.database.engine)
    app.state.limiter = make_limiter(settings)
    app.state.board = Board(app.state.database, meters(app), settings.default_source)
    app.state.checker = Checker(settings)
    if settings.shared:
        app.state.files_wait = Semaphore(0)
        heartbeat = Heartbeat(settings, serves=True, checks=settings.check_workers)
        pool = Pool(app.state.database, settings, app.state.checker, heartbeat, app.state.files_wait, meters(app))
    try:
        await run_sync(remove_orphans, settings, app.state.database)
        app.state.board.start()
        await run_sync(preload)
        await run_sync(prepare, app.state.board.current)
        await run_sync(compress_all)
        if app.state.runs is not None:
            app.state.feeder = Feeder(settings, app.state.database, app.state.checker, app.state.runs)
            app.state.feeder.start()
        if settings.shared:
            # last: from here on files are sent to this process and taken by it
            await run_sync(heartbeat.start)
            pool.start()
        yield
    finally:
        # in this order: the threads use the database, and the checks end before it closes
        if feeder := getattr(app.state, "feeder", None):
            await run_sync(feeder.stop)
        app.state.board.stop()
        if settings.shared:
            await run_sync(pool.stop, CHECKS_END_S)
            await run_sync(heartbeat.stop)
        await run_sync(app.state.checker.close)
        close_limiter(app.state.limiter)
        app.state.database.close()
        del app.state.board, app.state.checker, app.state.limiter, app.state.database


@cache
def _routes(*, local: bool) -> list[BaseRoute]:
    """Return the routes of all features, shared by all applications of a process.

    FastAPI 0.165 builds the models of all parameters of an included router for each inclusion: 0.1 s of each start.
    """
    joined = APIRouter(dependencies=[InTurn])
    joined.include_router(static_router)
    for router in _routers(local=local):
        joined.include_router(router, responses=EVERYWHERE)
    return joined.routes


def _routers(*, local: bool) -> Sequence[APIRouter]:
    """Return the routers of all features, a folder each, in the order in which paths are matched."""
    shown = (
        operations, board_page, pages, conditions, custom, leaderboard, private_sets, codecs, compare, listening,
        charts, mseb, tokens, understanding, xares, ranking, snapshots,
    )  # fmt: skip
    if local:
        return (*shown, local_runs, submissions, submission_pages)
    # before the moderators' pages, where a submission's id would match
    heard = (listening_tests, listening_tests_api, listening_tests_moderation)
    return (
        *(*shown, *heard, ingest, upload_page, submissions, submission_pages, people),
        *(moderation_api, moderation_pages, own_pages, verification),
    )
