"""Chooses whose word the figures of a page are: what was run again, or all submissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Query

from codec_superb.server.board.entries import BoardEntry, by_senders, on_usual_state
from codec_superb.server.board.snapshot import ENOUGH, Snapshot
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
    return by_senders((name, entry) for entry in snapshot.runs for name in entry.applications if has(entry, name))


def shown_on(
    snapshot: Snapshot, source: ShownSource | None, dataset: str | None, has: HasFigures
) -> tuple[Whose, Snapshot]:
    """Return what a page of one dataset shows, and its submissions; None for the dataset that the page chooses."""

    def compared(narrowed: Snapshot) -> int:
        of = next((name for name, _ in datasets_with(narrowed, has)), "") if dataset is None else dataset
        return len(on_usual_state((entry for entry in narrowed.runs if has(entry, of)), of))

    def any_of_it(entry: BoardEntry) -> bool:
        return any(has(entry, name) for name in (entry.applications if dataset is None else [dataset]))

    return shown(snapshot, source, any_of_it, compared)


def shown(
    snapshot: Snapshot,
    source: ShownSource | None,
    has: Callable[[BoardEntry], bool],
    compared: Callable[[Snapshot], int],
) -> tuple[Whose, Snapshot]:
    """Return what a page shows, and its submissions.

    ``has`` tells whether a codec has figures of the page, ``compared`` how many codecs of a state stand beside each
    other there.
    """
    own = snapshot.of("verified")
    everyone, verified = ({entry.codec for entry in each.runs if has(entry)} for each in (snapshot, own))
    enough = snapshot.preferred == "verified" and compared(own) >= ENOUGH
    chosen: ShownSource = source or ("verified" if enough else "runs")
    left_out = len(everyone - verified) if chosen == "verified" else 0
    whose = Whose(chosen, source is not None, len(verified), len(everyone | verified), left_out)
    return whose, snapshot.of(chosen)
