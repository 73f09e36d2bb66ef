"""Keeps what was computed from a submission, which never changes; the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

from codec_superb.server.codecs.listening import Picture
from codec_superb.web.site.codec import SampleView, Spread

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """At most ``limit`` values; threads that ask for the same missing one at once may each make it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._values)

    def find(self, key: Key) -> Value | None:
        """Look a value up."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the kept value, or make it and keep it; what raises is not kept."""
        found = self.find(key)
        if found is not None:
            return found
        made = make()
        with self._lock:
            self._values[key] = made
            self._values.move_to_end(key)
            while len(self._values) > self.limit:
                self._values.popitem(last=False)
        return made


class KeptOfCodecs:
    """What the service keeps about codecs, some ten megabytes at most."""

    def __init__(self) -> None:
        self.spreads: Kept[tuple[str, str], Sequence[Spread]] = Kept(400)
        """By submission and category."""
        self.samples: Kept[str, Sequence[SampleView]] = Kept(400)
        """By submission."""
        self.distributions: Kept[tuple[str, str, str, str], bytes] = Kept(400)
        """Figures, by submission, category, metric and dataset."""
        self.pictures: Kept[tuple[str, str, str], dict[Picture, bytes]] = Kept(100)
        """Spectrograms, by the hashes of both sounds and by submission, which knows the sampling rate."""


def kept_of(state: Any) -> KeptOfCodecs:
    """Return what the application of ``state`` keeps."""
    if not hasattr(state, "kept_of_codecs"):
        state.kept_of_codecs = KeptOfCodecs()
    kept: KeptOfCodecs = state.kept_of_codecs
    return kept
