"""Links to the pages of a long table."""

from __future__ import annotations

import pytest

from codec_superb.web.site.board.paging import page_links


def labels(page: int, pages: int) -> str:
    """Write the links in a line, the current page in brackets."""
    return " ".join(f"[{link.label}]" if link.current else link.label for link in page_links(page, pages, str))


@pytest.mark.parametrize(
    ("page", "pages", "shown"),
    [
        (1, 1, ""),
        (1, 2, "[1] 2 Next"),
        (2, 3, "Previous 1 [2] 3 Next"),
        (5, 40, "Previous 1 … 4 [5] 6 … 40 Next"),
        (40, 40, "Previous 1 … 39 [40]"),
    ],
)
def test_first_last_and_neighbours_are_linked(page: int, pages: int, shown: str) -> None:
    """Both ends, what is beside, and a gap wherever pages are left out."""
    assert labels(page, pages) == shown


def test_links_lead_to_their_page() -> None:
    """Previous and next say so to programs; a gap leads nowhere."""
    links = {link.label: (link.url, link.rel) for link in page_links(5, 9, lambda number: f"/?page={number}")}
    assert links["Previous"] == ("/?page=4", "prev")
    assert links["Next"] == ("/?page=6", "next")
    assert links["9"] == ("/?page=9", "")
    assert links["…"] == (None, "")
