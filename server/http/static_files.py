"""Serve styles, scripts and plotly under names with a content hash, so that browsers cache them permanently."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from codec_superb.server.errors import NotFound
from codec_superb.web.site.assets import asset

router = APIRouter()
_FOR_GOOD = "public, max-age=31536000, immutable"


@router.get("/static/{name}", include_in_schema=False)
def static(name: str, request: Request) -> Response:
    """Answer with one file, compressed where the browser accepts gzip."""
    found = asset(name)
    if found is None:
        raise NotFound(f"no static file {name!r}")
    headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
    if found.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.compressed, media_type=found.media_type, headers=headers | {"Content-Encoding": "gzip"})
    return Response(found.content, media_type=found.media_type, headers=headers)
