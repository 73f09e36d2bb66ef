"""Keeps what was computed from a submission, which never changes, for longer than a state of the board lasts."""

from __future__ import annotations

from typing import Any

from codec_superb.server.http.single_flight import Kept


class KeptOfCodecs:
    """What the service keeps about codecs, some twenty megabytes at most."""

    def __init__(self) -> None:
        self.spreads = Kept(400)
        """Quantiles, by submission and category."""
        self.samples = Kept(400)
        """What pages say of listening samples, by submission."""
        self.distributions = Kept(400)
        """Figures as JSON, by submission, category, metric and dataset."""
        self.pictures = Kept(100)
        """Spectrograms, by submission and number of the sample."""


def kept_of(state: Any) -> KeptOfCodecs:
    """Return what the application of ``state`` keeps."""
    if not hasattr(state, "kept_of_codecs"):
        state.kept_of_codecs = KeptOfCodecs()
    kept: KeptOfCodecs = state.kept_of_codecs
    return kept
