"""Renders the page of one codec."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.site.codec import applications, mseb, tables
from codec_superb.web.site.codec.view import CodecView
from codec_superb.web.site.listening_tests.view import CodecLine
from codec_superb.web.site.page import PageContext, render


def codec_page(page_context: PageContext, view: CodecView, listening_tests: Sequence[CodecLine] = ()) -> str:
    """Render the page."""
    return render(
        "codec.html.j2", page_context, view=view, tables=tables, applications=applications, mseb=mseb,
        listening_tests=listening_tests,
    )  # fmt: skip
