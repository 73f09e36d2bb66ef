"""What this process keeps of clip rows and of orders made from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.server.http.turns import Turns

WAITING = 4
"""Requests that may wait for draws and bands: every choice of aspects has its own, seconds each on a large board, and
every choice of weights waits in a thread, of which all pages have forty."""
T = TypeVar("T")


class RankingCaches:
    """Caches of the ranking, some sixty megabytes at most on datasets of 400 clips."""

    def __init__(self) -> None:
        self.clips = SingleFlightCache(3_000)
        """Metrics of the clips of a submission on one dataset in one category."""
        self.comparisons = SingleFlightCache(5_000)
        """P-values of pairs, by both submissions and category; neither ever changes."""
        self.bands = SingleFlightCache(4)
        """Answers about all bands, by revision and source."""
        self.fields = SingleFlightCache(50)
        """Codecs that are ranked together, by revision and what was chosen."""
        self.drawn = SingleFlightCache(8)
        """Their draws, likewise: five megabytes each with 2,000 codecs."""
        self.turns = Turns(WAITING, "several rankings are being computed")

    def once(self, cache: SingleFlightCache, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept, or make it in turn; whoever waits for another's has a place too, as it has a thread."""
        return cache.get(key, make) if key in cache else self.turns.take(lambda: cache.get(key, make))


def ranking_caches(state: Any) -> RankingCaches:
    """Return the caches of the application with ``state``."""
    if not hasattr(state, "kept_of_ranking"):
        state.kept_of_ranking = RankingCaches()
    kept: RankingCaches = state.kept_of_ranking
    return kept
