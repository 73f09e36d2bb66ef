"""Serve styles, scripts and plotly under names with a content hash, so that browsers cache them permanently."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter, Request
from fastapi.responses import Response

from codec_superb.server.errors import NotFound
from codec_superb.server.http.compression import accepts_gzip, compress
from codec_superb.web.site.assets import asset, asset_names

router = APIRouter()
_FOR_GOOD = "public, max-age=31536000, immutable"
_BEST_LEVEL = 9
"""A file is compressed once, and sent for as long as the process lives."""


@router.get("/static/{name}", include_in_schema=False)
async def static(name: str, request: Request) -> Response:
    """Answer with one file, compressed where the browser accepts gzip."""
    found = asset(name)
    if found is None:
        raise NotFound(f"no static file {name!r}")
    headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
    content, compressed = found.content, _compressed(name) if accepts_gzip(request.headers) else None
    if compressed is not None:
        content, headers["Content-Encoding"] = compressed, "gzip"
    return Response(content, media_type=found.media_type, headers=headers)


def compress_all() -> None:
    """Compress every file before a visitor waits for it: plotly.js takes 0.2 s of processor time."""
    for name in asset_names():
        _compressed(name)


@cache
def _compressed(name: str) -> bytes | None:
    found = asset(name)
    # level 9 once, at the start; answers that are made on request have level 3
    return None if found is None else compress(found.content, _BEST_LEVEL)
