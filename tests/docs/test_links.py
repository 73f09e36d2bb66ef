"""The documentation points at files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("perf/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page is a file or folder of the repository."""
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not link.startswith(("http", "mailto"))]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_guide_can_be_reached_from_the_readme() -> None:
    """A page that nobody links to is a page that nobody reads."""
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        todo += [page.parent / link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    guides = {page.resolve() for page in PAGES if page.parent.name in {"docs", "decisions"}}
    assert guides <= reached
