"""Keeps what was computed from a submission, which never changes, for longer than a state of the board lasts."""

from __future__ import annotations

from typing import Any

from codec_superb.server.http.single_flight import SingleFlightCache


class CodecCaches:
    """What the service keeps about codecs, some twenty megabytes at most."""

    def __init__(self) -> None:
        self.spreads = SingleFlightCache(400)
        """Quantiles, by submission and category."""
        self.samples = SingleFlightCache(400)
        """What pages say of listening samples, by submission."""
        self.distributions = SingleFlightCache(400)
        """Figures as JSON, by submission, category, metric and dataset."""
        self.pictures = SingleFlightCache(100)
        """Spectrograms, by submission and number of the sample."""


def codec_caches(state: Any) -> CodecCaches:
    """Return what the application of ``state`` keeps."""
    if not hasattr(state, "kept_of_codecs"):
        state.kept_of_codecs = CodecCaches()
    kept: CodecCaches = state.kept_of_codecs
    return kept
