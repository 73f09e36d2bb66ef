"""What every page needs to know about the request: who is logged in, which token its forms carry."""

from __future__ import annotations

from fastapi import Request

from codec_superb import __version__
from codec_superb.web.site.page import Chrome


def chrome_of(request: Request, title: str) -> Chrome:
    """Describe the frame of a page."""
    return Chrome(title=title, path=request.url.path, version=__version__)
