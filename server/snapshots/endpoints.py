"""``/snapshots/N`` and ``/api/v1/snapshots/N``: the board as it was at revision N."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from codec_superb import __version__
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SourceChoice
from codec_superb.server.database.session import database_of
from codec_superb.server.leaderboard.select import select, select_all
from codec_superb.server.snapshots import schemas, service
from codec_superb.web.site.board.choices import BoardState
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.ranking.snapshot_page import snapshot_page
from codec_superb.web.site.whose import ShownSource

router = APIRouter()
MOST = 2_147_483_647
"""Largest number that PostgreSQL's INTEGER holds."""
Revision = Annotated[int, Path(ge=0, le=MOST, description="Number of the state; the board's answers name theirs.")]


@router.get("/snapshots/{revision}", include_in_schema=False)
async def page(
    request: Request,
    revision: Revision,
    category: Annotated[Category, Query()] = "speech",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    source: SourceChoice = None,
) -> Response:
    """Show the board at a revision, with its citation."""

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        state = _state(request, revision, snapshot)
        whose = service.whose(state, category, source)
        view = select(state.board, BoardState(category=category, source=whose.source, page=page))
        bibtex = service.citation(state, _address(request, revision))
        return snapshot_page(view, page_context, state.at, state.sha256, bibtex, state.taken_back, whose)

    words = f"The public results of revision {revision}, at an address that can be cited."
    return await public_page(
        request, f"Board at revision {revision}", words, make, key=f"{category} {page} {source}", counted=True
    )


@router.get("/api/v1/snapshots/{revision}", tags=["snapshots"], responses={200: {"model": schemas.SnapshotAnswer}})
async def snapshot(request: Request, revision: Revision, source: SourceChoice = None) -> Response:
    """Return the submissions that were public at a revision, their hash, and their ranks by today's program."""

    def make(current: Snapshot) -> UnsentAnswer:
        state = _state(request, revision, current)
        sources = {category: service.whose(state, category, source).source for category in CATEGORIES}
        body = schemas.SnapshotAnswer(
            revision=revision, at=state.at, sha256=state.sha256, canonical=state.canonical.decode(),
            computed_by=f"codec-superb {__version__}", bibtex=service.citation(state, _address(request, revision)),
            submissions=[schemas.CountedSubmission(**entry._asdict()) for entry in state.counted.standing],
            run_again=[schemas.CountedSubmission(**entry._asdict()) for entry in state.counted.run_again],
            sources=sources,
            categories={category: _rows(state.board, category, shown) for category, shown in sources.items()},
        )  # fmt: skip
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, repr(source), make, counted=True)


def _rows(board: Snapshot, category: Category, source: ShownSource) -> list[schemas.PastRow]:
    view = select_all(board, BoardState(category=category, source=source))
    return [
        schemas.PastRow(
            codec=row.result.codec, submission=row.submission or "", source=row.source, submitter=row.submitter,
            kbps=row.result.summary.kbps, score=row.result.summary.score.value,
            low=row.result.summary.score.low, high=row.result.summary.score.high, rank=row.result.rank,
            unranked=row.unranked,
        )
        for row in view.rows
    ]  # fmt: skip


def _state(request: Request, revision: int, current: Snapshot) -> service.PastState:
    """Read a state; whoever asks has a computation counted, since any of thousands may be asked for."""
    with database_of(request).transaction() as session:
        return service.past_state(session, revision, current)


def _address(request: Request, revision: int) -> str:
    return f"{request.app.state.settings.base_url.rstrip('/')}/snapshots/{revision}"
