"""The places of running uploads: few in all, fewer without a token, and fewest for one sender."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from codec_superb.server.errors import TooManyRequests, Unavailable
from codec_superb.server.http.shared_places import SharedPlaces
from codec_superb.server.people.rate_counters import site_of

IN_ALL = 64
"""Uploads that one process receives at the same time."""
WITHOUT_TOKEN = 32
"""Of these, the ones whose sender is not known by a token: however many addresses ask, a token finds a place."""
EACH = 8
"""Of these, the ones of a token, or of an address without one."""
OF_SITE = 16
"""Of these, the ones of an IPv6 site, which has many addresses."""
_SOON = {"Retry-After": "10"}


class Places:
    """Who receives what in this process; used by the event loop alone."""

    def __init__(self) -> None:
        self._shared = SharedPlaces(IN_ALL, each=EACH, of_site=OF_SITE)
        self._without_token = 0

    @property
    def taken(self) -> int:
        """Number of places that are held."""
        return self._shared.taken

    @contextmanager
    def hold(self, who: str, *, known: bool) -> Iterator[Place]:
        """Hold a place for ``who`` until the block ends; ``known`` by a token.

        Raises TooManyRequests where ``who`` has as many as it may, Unavailable where there is none.
        """
        place = Place(self, who, known=known)
        try:
            yield place
        finally:
            self.leave(place)

    def enter(self, place: Place) -> None:
        """Count a place."""
        site = site_of(place.who)
        if self._shared.has_enough(place.who, site):
            words = f"expected at most {EACH} uploads at once from one sender, {OF_SITE} from one network"
            raise TooManyRequests(f"{words}; try again", headers=_SOON)
        if not self._shared.has_room(site, None if place.known else WITHOUT_TOKEN - self._without_token):
            words = f"expected fewer than {IN_ALL} uploads at once, and fewer of one sender than places are free"
            raise Unavailable(f"{words}; try again", headers=_SOON)
        self.count(place)

    def count(self, place: Place) -> None:
        """Count one that was there already."""
        self._shared.take(place.who, site_of(place.who))
        self._without_token += not place.known

    def leave(self, place: Place) -> None:
        """Count it no more."""
        self._shared.leave(place.who, site_of(place.who))
        self._without_token -= not place.known


class Place:
    """A place that somebody holds."""

    def __init__(self, places: Places, who: str, *, known: bool) -> None:
        self.who, self.known = who, known
        self._places = places
        places.enter(self)

    def belongs_to(self, who: str, *, known: bool) -> None:
        """Count it for another sender from now on: a form names its token after the upload has begun.

        Raises as :meth:`Places.hold`; the place is then held for who had it.
        """
        self._places.leave(self)
        before = self.who, self.known
        self.who, self.known = who, known
        try:
            self._places.enter(self)
        except (TooManyRequests, Unavailable):
            self.who, self.known = before
            self._places.count(self)
            raise


def places_of(app: FastAPI) -> Places:
    """Return the places of an application."""
    places: Places = app.state.places
    return places
