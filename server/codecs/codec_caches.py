"""Caches of what is computed from a submission; entries outlive a revision, as submissions are immutable."""

from __future__ import annotations

from typing import Any

from codec_superb.server.http.single_flight import SingleFlightCache


class CodecCaches:
    """Caches about codecs, some twenty megabytes at most."""

    def __init__(self) -> None:
        self.spreads = SingleFlightCache(400)
        """Quantiles, by submission and category."""
        self.samples = SingleFlightCache(400)
        """Descriptions of listening samples, by submission."""
        self.distributions = SingleFlightCache(400)
        """Figures as JSON, by submission, category, metric and dataset."""
        self.pictures = SingleFlightCache(100)
        """Spectrograms, by submission and number of the sample."""
        self.heard = SingleFlightCache(400)
        """Results of closed listening tests, by test."""


def codec_caches(state: Any) -> CodecCaches:
    """Return the caches of the application with ``state``."""
    if not hasattr(state, "kept_of_codecs"):
        state.kept_of_codecs = CodecCaches()
    kept: CodecCaches = state.kept_of_codecs
    return kept
