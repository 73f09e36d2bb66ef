"""The page ``/about``: purpose of the benchmark, how its numbers are computed, rules, sources of published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.web.site.page import PageContext, render


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """One table of published figures."""

    name: str
    """Its filter on the leaderboard."""
    label: str
    title: str
    citation: str
    url: str
    differs: tuple[str, ...]
    """How its figures differ from those of submissions."""
    codecs: int


def about_page(sources: Sequence[PublishedSource], page_context: PageContext, *, anonymous_uploads: bool) -> str:
    """Render the page; ``anonymous_uploads`` says whether this service takes files without a token."""
    return render("about.html.j2", page_context, sources=sources, anonymous_uploads=anonymous_uploads)
