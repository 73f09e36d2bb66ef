"""The page ``/private``, ``/api/v1/private-sets`` and ``/api/v1/codecs/{name}/private``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.session import database_of
from codec_superb.server.errors import NotFound
from codec_superb.server.private_sets import schemas
from codec_superb.server.private_sets.overlap import FEWEST
from codec_superb.server.private_sets.repository import all_rows, rows_of, set_views
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.private_sets import private_page

router = APIRouter()


@router.get("/private", include_in_schema=False)
async def page(request: Request) -> Response:
    """Show what is public of the private datasets, and the gaps of the codecs."""

    def make(_: Snapshot, page_context: PageContext) -> str:
        with database_of(request).transaction() as session:
            return private_page(set_views(session), FEWEST, page_context)

    about = "Datasets that nobody can fit to: their sizes, commitments, and the gap between public and private scores."
    return await public_page(request, "Private sets", about, make)


@router.get("/api/v1/private-sets", tags=["private sets"], responses={200: {"model": schemas.PrivateSets}})
async def private_sets(request: Request) -> Response:
    """List the private datasets, and public beside private scores of the codecs that were run on them."""

    def make(_: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            body = schemas.PrivateSets(
                sets=[schemas.PrivateSet.of(view) for view in set_views(session)],
                gaps=[schemas.PrivateGap.of(row) for row in all_rows(session)],
            )
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, "", make)


@router.get("/api/v1/codecs/{name}/private", tags=["private sets"], responses={200: {"model": schemas.CodecPrivate}})
async def of_codec(
    name: Annotated[str, Path(description="Name of the configuration, such as `opus_12k`.")], request: Request
) -> Response:
    """Return public beside private scores of one codec."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        if all(entry.codec != name for entry in snapshot.runs):
            raise NotFound(f"no codec {name!r} has public results; /api/v1/codecs lists those that there are")
        with database_of(request).transaction() as session:
            body = schemas.CodecPrivate(codec=name, gaps=[schemas.PrivateGap.of(row) for row in rows_of(session, name)])
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, "", make)
