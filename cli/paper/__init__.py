"""From loaded results to what ``report`` and ``cite`` write for a paper; ``web/paper`` has the writers."""
