"""Keeps the newest snapshot in memory: checks for a new revision four times a second and after own changes."""

from __future__ import annotations

import gc
import threading
from contextlib import nullcontext

from fastapi import Request

from codec_superb.server.board.repository import revision_number
from codec_superb.server.board.snapshot import Snapshot, load_snapshot
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.operations.meters import Meters
from codec_superb.web.site.whose import ShownSource

_LOG = get_logger(__name__)
_MANY = 100
"""Number of codecs from which the cost of garbage collection matters."""
POLL_SECONDS = 0.25
"""Seconds between two checks for changes by other processes."""


class Board:
    """The current snapshot of one database. Requests read :attr:`current`, which never waits."""

    def __init__(self, database: Database, meters: Meters | None = None, preferred: ShownSource = "runs") -> None:
        self._database = database
        self._measured = meters.snapshot if meters is not None else nullcontext
        self._snapshot: Snapshot | None = None
        self._settled = 0
        self._preferred: ShownSource = preferred
        self._failing = False
        self._one_at_a_time = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="leaderboard snapshot", daemon=True)

    def start(self) -> None:
        """Read everything, then watch for changes."""
        self.refresh()
        self._database.after_change.append(self._refresh_or_say)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def current(self) -> Snapshot:
        """The newest snapshot. Raises Unavailable before the first."""
        if self._snapshot is None:
            raise Unavailable("the service is starting or stopping; try again in a moment")
        return self._snapshot

    def refresh(self) -> Snapshot:
        """Read what has changed, if anything has; while one thread reads, requests get the snapshot before.

        A change committed before the call is in the snapshot after it.
        """
        with self._one_at_a_time, self._database.transaction() as session:
            if self._snapshot is None or revision_number(session) != self._snapshot.revision:
                with self._measured():
                    self._snapshot = load_snapshot(session, self._snapshot, self._preferred)
                self._settle(len(self._snapshot.runs))
            return self._snapshot

    def _settle(self, codecs: int) -> None:
        """Exclude long-lived objects from garbage collection (``gc.freeze``), each time the board has doubled.

        A large board is a million objects that refer to nothing that refers back. Looking for cycles among them stops
        all threads for a fifth of a second, many times a minute under load.
        """
        if codecs >= max(_MANY, 2 * self._settled):
            # before freeze(): cycles that are frozen are never freed
            gc.collect()
            gc.freeze()
            self._settled = codecs

    def _watch(self) -> None:
        # other processes change the database too, and SQLite has no notification
        while not self._stopped.wait(POLL_SECONDS):
            self._refresh_or_say()

    def _refresh_or_say(self) -> None:
        """Refresh; should the database be away, what was read stays, and the next look may succeed.

        So it is where a newer program beside this one has stored what this one cannot read. It is logged once when that
        begins and once when it ends, not four times a second.
        """
        try:
            self.refresh()
        except Exception as error:  # noqa: BLE001 - the thread that looks must not end
            # once for an outage, not four times a second
            if not self._failing:
                _LOG.warning("leaderboard.refresh_failed", error=str(error)[:500])
            self._failing = True
        else:
            if self._failing:
                _LOG.warning("leaderboard.refresh_again")
            self._failing = False


def board_of(request: Request) -> Board:
    """Return the board of the running service. Raises Unavailable while it starts or stops."""
    board: Board | None = getattr(request.app.state, "board", None)
    if board is None:
        raise Unavailable("the service is starting or stopping; try again in a moment")
    return board
