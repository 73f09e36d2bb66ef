"""Places that few senders must not hold all of, however many addresses each has."""

from __future__ import annotations

from collections import Counter


class SharedPlaces:
    """Places of which a sender has a few, all senders of a site some together, and none more than it leaves free.

    So where many take what they can, each has fewer, and who has none finds one: n sites leave one in n + 1 (dynamic
    thresholds of shared buffers, Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). Used by the
    event loop alone.
    """

    def __init__(self, number: int, *, each: int, of_site: int) -> None:
        self._number, self._each, self._of_site = number, each, of_site
        self._held, self._sites = Counter[str](), Counter[str]()

    @property
    def taken(self) -> int:
        """Number of places that are held."""
        return self._held.total()

    def of(self, who: str) -> int:
        """Return how many places ``who`` holds."""
        return self._held[who]

    def has_enough(self, who: str, site: str) -> bool:
        """Whether ``who``, or its site, has as many as it may ever have."""
        return self._held[who] >= self._each or self._sites[site] >= self._of_site

    def has_room(self, site: str, most: int | None = None) -> bool:
        """Whether a site has fewer places than are free, of which it could have ``most``."""
        free = self._number - self.taken
        return self._sites[site] < (free if most is None else min(free, most))

    def take(self, who: str, site: str) -> None:
        """Count a place."""
        self._held[who] += 1
        self._sites[site] += 1

    def leave(self, who: str, site: str) -> None:
        """Count it no more."""
        self._held -= Counter([who])  # and forget who has none
        self._sites -= Counter([site])
