"""Chooses whose word the figures of a page are: what was run again, or all submissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Query

from codec_superb.server.board.entries import BoardEntry, by_senders
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.web.site.whose import ShownSource, Whose

SOURCE_WORDS = (
    "`verified`, what the maintainers ran again, or `runs`, all submissions. Without it what was run again, wherever "
    "enough was, unless the maintainers chose otherwise."
)
SourceChoice = Annotated[ShownSource | None, Query(description=SOURCE_WORDS)]
HasFigures = Callable[[BoardEntry, str], bool]
"""Whether a codec has figures of a page on a dataset."""


def datasets_with(snapshot: Snapshot, has: HasFigures) -> list[tuple[str, int]]:
    """List the datasets with figures of a page, and how many codecs have some: those of most senders first."""
    names = {name for entry in (*snapshot.runs, *snapshot.behind) for name in entry.applications}

    def on(name: str) -> Sequence[BoardEntry]:
        return snapshot.each(lambda entry: has(entry, name))

    return by_senders((name, entry) for name in sorted(names) for entry in on(name))


def shown_on(
    snapshot: Snapshot, source: ShownSource | None, dataset: str | None, has: HasFigures
) -> tuple[Whose, Snapshot]:
    """Return what a page of one dataset shows, and its submissions; None for the dataset that the page chooses."""

    def any_of_it(entry: BoardEntry) -> bool:
        return any(has(entry, name) for name in (entry.applications if dataset is None else [dataset]))

    return shown(snapshot, source, any_of_it)


def shown(snapshot: Snapshot, source: ShownSource | None, has: Callable[[BoardEntry], bool]) -> tuple[Whose, Snapshot]:
    """Return what a page shows, and its submissions; ``has`` tells whether a codec has figures of the page."""
    own = snapshot.of("verified")
    everyone, verified = ({entry.codec for entry in of.each(has)} for of in (snapshot, own))
    chosen = source or snapshot.usual_source(has)
    left_out = len(everyone - verified) if chosen == "verified" else 0
    whose = Whose(chosen, source is not None, len(verified), len(everyone | verified), left_out)
    return whose, snapshot.of(chosen)
