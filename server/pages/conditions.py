"""The page ``/conditions``: all codecs under all conditions."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.session import database_of
from codec_superb.server.submissions import repository
from codec_superb.server.submissions.conditions import categories_of
from codec_superb.web.site.page import PageContext, render

router = APIRouter(include_in_schema=False)


@router.get("/conditions")
async def conditions_page(request: Request) -> Response:
    """Show every codec with public results under conditions: values against strength, and the submissions."""

    def make(_: Snapshot, page_context: PageContext) -> str:
        with database_of(request).transaction() as session:
            found = repository.under_conditions(session, None)
            conditioned = repository.whole(session, [each.id for each in found])
            clean = repository.whole(session, repository.newest_clean(session, {each.codec_id for each in found}))
            return render(
                "conditions.html.j2", page_context, categories=categories_of(session, conditioned, clean), found=found
            )

    about = "What survives damaged sound, lost packets, bit errors and several codings in a row."
    return await public_page(request, "Conditions", about, make, counted=True)
