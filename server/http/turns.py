"""Turns for costly computations: few at a time, and few that wait, in threads or, with fair shares, without."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from math import ceil
from threading import Lock
from typing import TypeVar

import anyio

from codec_superb.server.errors import Unavailable

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


class FairTurns:
    """Turns of requests of the event loop, which wait without a thread, those of one sender behind each other.

    So a sender with many leaves a place to the others, or, where there is only one, every second turn.
    """

    def __init__(
        self, places: int, *, senders: int, patience: float, busy: Callable[[], Unavailable], longest: float = 0.0,
        of_one: int | None = None,
    ) -> None:  # fmt: skip
        """At most ``places`` at once, and ``senders`` waiting, ``of_one`` no more; the rest is told ``busy``.

        One has all of the places but one. Who waits does so for ``patience`` seconds, and ``longest`` for each turn in
        front.
        """
        self._of_one, self._who = of_one, Counter[str]()
        self._places, self._number, self._here = anyio.Semaphore(places), places, 0
        self._each, self._senders = max(1, places - 1), senders
        self._patience, self._longest, self._busy = patience, longest, busy
        self._of: dict[str, anyio.Semaphore] = {}

    @property
    def here(self) -> int:
        """Number of turns that are held or waited for."""
        return self._here

    def has_all_of_one(self, who: str) -> bool:
        """Whether a sender holds or waits for as many turns as one may."""
        return self._who[who] == self._of_one

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it. Raises Unavailable when too many wait, or too long."""
        if self._places.statistics().tasks_waiting >= self._senders or self.has_all_of_one(who):
            raise self._busy()
        own = self._of.setdefault(who, anyio.Semaphore(self._each, max_value=self._each))
        patience = waiting_time(self._here, self._number, self._patience, self._longest)
        async with AsyncExitStack() as held:
            self._count(who, 1)
            held.callback(self._count, who, -1)
            try:
                with anyio.fail_after(patience):
                    for of in (own, self._places):
                        await of.acquire()
                        held.callback(of.release)
            except TimeoutError:
                raise self._busy() from None
            finally:
                self._forget_others(who)
            yield

    def _count(self, who: str, change: int) -> None:
        self._here += change
        self._who[who] += change
        if not self._who[who]:
            del self._who[who]

    def _forget_others(self, own: str) -> None:
        """Keep the turns of senders that wait or have a place."""
        self._of = {name: turn for name, turn in self._of.items() if name == own or turn.value != turn.max_value}
