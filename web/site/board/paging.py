"""Links between the pages of a long table: the first, the last, the neighbours, and gaps between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLink:
    """One entry; a gap has no address."""

    label: str
    url: str | None
    current: bool = False
    rel: str = ""
    """``prev`` or ``next``."""


def page_links(page: int, pages: int, address: Callable[[int], str]) -> list[PageLink]:
    """Make the links around ``page`` of ``pages``, both counted from 1; none where there is a single page."""
    if pages <= 1:
        return []
    wanted = sorted({1, pages, *(number for number in range(page - 1, page + 2) if 1 <= number <= pages)})
    links: list[PageLink] = []
    if page > 1:
        links.append(PageLink("Previous", address(page - 1), rel="prev"))
    for before, number in zip([0, *wanted], wanted, strict=False):
        if number - before > 1:
            links.append(PageLink("…", None))
        links.append(PageLink(str(number), address(number), current=number == page))
    if page < pages:
        links.append(PageLink("Next", address(page + 1), rel="next"))
    return links
