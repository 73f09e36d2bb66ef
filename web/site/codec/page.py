"""Renders the page of one codec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codec_superb.web.site.codec import applications, mseb, tables
from codec_superb.web.site.codec.view import CodecView
from codec_superb.web.site.listening_tests.view import CodecLine
from codec_superb.web.site.page import PageContext, render


def codec_page(page_context: PageContext, view: CodecView, heard: Sequence[CodecLine] = ()) -> str:
    """Render the page; ``heard`` is what closed listening tests found, which changes without the submission."""
    return render(
        "codec.html.j2", page_context, view=replace(view, heard=heard), tables=tables, applications=applications,
        mseb=mseb,
    )  # fmt: skip
