"""Puts a state of the board together: what counted then, its hash, its citation, and its ranks by today's program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from sqlalchemy.orm import Session

from codec_superb import __version__
from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.repository import load_entries
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import shown
from codec_superb.server.codecs.bibtex import entry, tex
from codec_superb.server.errors import NotFound
from codec_superb.server.snapshots.repository import CountedAt, CountedThen, change_before, counted_at, first_revision
from codec_superb.web.rows import Source, source_label
from codec_superb.web.site.whose import ShownSource, Whose

BOUND = ("codec", "file_sha256", "status", "submission", "version")
"""Fields of a row that the canonical JSON holds."""


@dataclass(frozen=True, slots=True)
class PastState:
    """The public results of one revision."""

    revision: int
    at: datetime
    """When the last change up to it was made."""
    counted: CountedAt
    board: Snapshot

    @property
    def canonical(self) -> bytes:
        """The state as canonical JSON: what was public, by codec, with the hash of each file; names sorted, no spaces.

        What was run again beside those that stood is bound too, since ranks rest on it. Independent of the program that
        computes ranks.
        """
        whole: dict[str, Any] = {"revision": self.revision, "submissions": _bound(self.counted.standing)}
        if self.counted.run_again:
            whole["run_again"] = _bound(self.counted.run_again)
        return json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @property
    def taken_back(self) -> Collection[str]:
        """Submissions of it that are no longer public."""
        return {each.submission for part in self.counted for each in part if each.taken_back}

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON, hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()


def past_state(session: Session, revision: int, current: Snapshot) -> PastState:
    """Read a revision; entries that ``current`` holds with the same status are not read again.

    Raises NotFound for a revision that has not been reached, or of which nothing is recorded.
    """
    if revision > current.revision:
        raise NotFound(f"expected a revision up to {current.revision}, the board's own, got {revision}")
    at = change_before(session, revision)
    if at is None:
        first = first_revision(session)
        known = "nothing is public yet" if first is None else f"recorded are those from {first} to {current.revision}"
        raise NotFound(f"no state of revision {revision} is recorded; {known}")
    counted = counted_at(session, revision, at)
    then = {entry.submission: entry for part in counted for entry in part}
    kept = [entry for entry in (*current.runs, *current.confirmed, *current.behind) if entry.submission in then]
    kept = [entry for entry in kept if entry.source == then[str(entry.submission)].status]
    missing = sorted(then.keys() - {str(entry.submission) for entry in kept})
    loaded = [_as_then(entry, then[str(entry.submission)]) for entry in load_entries(session, missing)]
    entries = {entry.submission: entry for entry in (*kept, *loaded)}
    runs, confirmed, behind, reported = (tuple(entries[each.submission] for each in part) for part in counted)
    board = Snapshot(revision, runs, preferred=current.preferred, confirmed=confirmed, behind=behind + reported)
    return PastState(revision, at, counted, board)


def whose(state: PastState, category: Category, source: ShownSource | None) -> Whose:
    """Return whose results a category shows: without a choice, what the board would choose today."""
    usual = state.board.usual_source(lambda entry: entry.is_ranked_on(category))
    found, _ = shown(state.board, source or usual, lambda entry: (category, "") in entry.figures)
    return replace(found, asked=source is not None)


def _bound(counted: Sequence[CountedThen]) -> list[dict[str, Any]]:
    return [{name: getattr(entry, name) for name in BOUND} for entry in counted]


def _as_then(entry: BoardEntry, then: CountedThen) -> BoardEntry:
    """Give a row the status that it had; of one that was taken back neither its sender nor their words are shown."""
    title, submitter = (entry.codec, "") if then.taken_back else (entry.title, entry.submitter)
    said = source_label(then.status, submitter) if submitter else then.status
    since = entry.since if submitter else entry.sender  # it counts as one sender still
    return replace(
        entry, source=cast("Source", then.status), source_label=said, title=title, submitter=submitter, since=since
    )


def citation(state: PastState, url: str) -> str:
    """Write the BibTeX entry: title, revision, date, address, hash."""
    day = state.at.date()
    note = (
        f"State of {day.isoformat()}, {len(state.counted.standing)} codecs, "
        f"ranks computed by codec-superb {__version__}; SHA-256 of the canonical JSON: {state.sha256}"
    )
    fields = [
        ("title", f"{{Codec-SUPERB leaderboard, revision {state.revision}}}"),
        ("author", "{Codec-SUPERB contributors}"),
        ("year", str(day.year)),
        ("month", day.strftime("%b").lower()),
        ("version", str(state.revision)),
        ("url", url),
        ("note", tex(note)),
    ]
    return entry(f"codec-superb-leaderboard-r{state.revision}", fields)
