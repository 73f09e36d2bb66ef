"""Turns for costly computations: few at a time, and few that wait, in threads or, with fair shares, without."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import TypeVar

import anyio
from cachetools import LRUCache

from codec_superb.server.errors import Unavailable

HALF_LIFE_S = 600.0
"""Seconds after which a turn counts half: senders have equal shares of about the last quarter of an hour."""
REMEMBERED = 10_000
"""Senders and networks whose turns are remembered."""

_T = TypeVar("_T")


class Turns:
    """One computation at a time; whoever waits has one of a few places, since it has a thread that all pages share."""

    def __init__(self, places: int, busy: str) -> None:
        """At most ``places`` compute or wait; ``busy`` tells the next one what is going on."""
        self._places, self._busy = places, busy
        self._counting, self._turn = Lock(), Lock()

    def take(self, make: Callable[[], _T]) -> _T:
        """Make something in turn. Raises Unavailable where too many wait already."""
        with self._counting:
            if not self._places:
                raise Unavailable(f"{self._busy}; ask again in a few seconds", headers={"Retry-After": "5"})
            self._places -= 1
        try:
            with self._turn:
                return make()
        finally:
            with self._counting:
                self._places += 1

    def full(self) -> bool:
        """Whether nobody else may wait."""
        return self._places == 0


def waiting_time(ahead: int, places: int, patience: float, longest: float) -> float:
    """Return the seconds for which to wait behind ``ahead`` turns of up to ``longest``, of which ``places`` run."""
    return patience + longest * ceil(ahead / max(1, places))


class _Used:
    """Seconds of turns that senders and networks had, half as much after :data:`HALF_LIFE_S`."""

    def __init__(self) -> None:
        self._seconds: LRUCache[str, tuple[float, float]] = LRUCache(REMEMBERED)

    def by(self, parties: Collection[str]) -> float:
        """Return what that party used which used most."""
        return max(self._by(party) for party in parties)

    def _by(self, party: str) -> float:
        seconds, at = self._seconds.get(party, (0.0, 0.0))
        return seconds * 2 ** ((at - anyio.current_time()) / HALF_LIFE_S) if seconds else 0.0

    def add(self, parties: Collection[str], seconds: float) -> None:
        for party in parties:
            self._seconds[party] = self._by(party) + seconds, anyio.current_time()


@dataclass(eq=False)
class _Waiting:
    who: str
    parties: Collection[str]
    """The sender and its network."""
    begins: anyio.Event = field(default_factory=anyio.Event)


class FairTurns:
    """Turns of requests of the event loop, which wait without a thread: who has used least goes first.

    A sender with many, and a network with many senders, leave a place to the others, or, where there is only one, the
    next turn.
    """

    def __init__(
        self, places: int, *, senders: int, patience: float, busy: Callable[[], Unavailable], longest: float = 0.0,
        of_one: int | None = None,
    ) -> None:  # fmt: skip
        """At most ``places`` at once, turns of ``senders`` waiting, ``of_one`` no more; the rest is told ``busy``.

        One, and one network, has all of the places but one. Who waits does so for ``patience`` seconds, and ``longest``
        for each turn in front.
        """
        self._places, self._each, self._senders, self._of_one = places, max(1, places - 1), senders, of_one
        self._patience, self._longest, self._busy = patience, longest, busy
        self._who = Counter[str]()
        self._waiting: list[_Waiting] = []
        self._running: list[_Waiting] = []
        self._used = _Used()

    @property
    def here(self) -> int:
        """Number of turns that are held or waited for."""
        return self._who.total()

    def has_all_of_one(self, who: str) -> bool:
        """Whether a sender holds or waits for as many turns as one may."""
        return self._who[who] == self._of_one

    @asynccontextmanager
    async def turn(self, who: str, network: str = "") -> AsyncIterator[None]:
        """Wait for a place, and hold it. Raises Unavailable when too many wait, or too long.

        What senders of one ``network`` used counts for each of them.
        """
        others = {one.who for one in self._waiting} - {who}
        if len(others) >= self._senders or self.has_all_of_one(who):
            raise self._busy()
        patience = waiting_time(self.here, self._places, self._patience, self._longest)
        mine = _Waiting(who, {who, network or who})
        self._who[who] += 1
        self._waiting.append(mine)
        self._begin()
        began = anyio.current_time()
        try:
            await self._begun(mine, patience)
            began = anyio.current_time()
            yield
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
            else:
                self._running.remove(mine)
                self._used.add(mine.parties, anyio.current_time() - began)
            self._who -= Counter([who])
            self._begin()

    async def _begun(self, mine: _Waiting, patience: float) -> None:
        try:
            with anyio.fail_after(patience):
                await mine.begins.wait()
        except TimeoutError:
            raise self._busy() from None

    def _begin(self) -> None:
        """Give free places to those who wait, first to who has used least, of these to who came first."""
        while len(self._running) < self._places:
            held = Counter(party for one in self._running for party in one.parties)
            may = [one for one in self._waiting if all(held[party] < self._each for party in one.parties)]
            if not may:
                return
            following = min(may, key=lambda one: self._used.by(one.parties))
            self._waiting.remove(following)
            self._running.append(following)
            following.begins.set()
