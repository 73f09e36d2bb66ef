"""Addresses that carry what the visitor chose, with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from codec_superb.web.site.board.choices import BoardState, BoardView, SourceFilter, to_query


@dataclass(frozen=True, slots=True)
class Addresses:
    """Makes the links of one answer of the leaderboard."""

    view: BoardView

    def to(self, path: str = "/", **changes: Any) -> str:
        """Return ``path`` with the state, changed. A change of anything but the page goes back to the first page."""
        state = self.view.state
        if changes:
            state = replace(state, **{"page": 1, **changes})
        return with_query(path, to_query(state, self.view.default_source))

    def cleared(self, source: SourceFilter | None = None) -> str:
        """Return the page without filters; category, metric, columns and source stay, or ``source`` in its place."""
        state = self.view.state
        kept = BoardState(
            category=state.category, metric=state.metric, source=source or state.source, columns=state.columns,
            only_columns=state.only_columns,
        )  # fmt: skip
        return with_query("/", to_query(kept, self.view.default_source))


def with_query(path: str, query: str) -> str:
    """Join a path and a query that may be empty."""
    return f"{path}?{query}" if query else path
