"""Chooses whose word the figures of a page are: what was run again, or all submissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Query

from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.web.site.whose import ShownSource, Whose

SOURCE_WORDS = (
    "`verified`, what the maintainers ran again, or `runs`, all submissions. Without it what was run again, wherever "
    "anything was, unless the maintainers chose otherwise."
)
SourceChoice = Annotated[ShownSource | None, Query(description=SOURCE_WORDS)]


def shown(
    snapshot: Snapshot, source: ShownSource | None, shows: Callable[[BoardEntry], bool]
) -> tuple[Whose, Snapshot]:
    """Return what a page shows, and its submissions; ``shows`` tells whether a codec has figures of that page."""
    chosen = source or snapshot.usual_source(shows)
    verified, everyone = (sum(map(shows, snapshot.of(each).runs)) for each in ("verified", "runs"))
    return Whose(chosen, source is not None, verified, everyone), snapshot.of(chosen)
