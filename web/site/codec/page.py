"""Renders the page of one codec."""

from __future__ import annotations

from codec_superb.web.site.codec import applications, mseb, tables
from codec_superb.web.site.codec.view import CodecView
from codec_superb.web.site.page import PageContext, render


def codec_page(page_context: PageContext, view: CodecView) -> str:
    """Render the page."""
    return render("codec.html.j2", page_context, view=view, tables=tables, applications=applications, mseb=mseb)
