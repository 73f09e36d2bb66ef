"""Reasons for which a pair has no PESQ score."""

from __future__ import annotations

from codec_superb.metrics.errors import Undefined


class NoUtterances(Undefined):
    """No speech of 200 ms was found in the reference that has a counterpart (``pesq.NoUtterancesError``)."""

    def __init__(self) -> None:
        super().__init__("PESQ found no utterance: the reference needs at least 200 ms of speech")


class TooShort(Undefined):
    """A signal of less than 250 ms (``pesq.BufferTooShortError``)."""

    def __init__(self, samples: int, rate: int) -> None:
        super().__init__(f"PESQ needs at least 250 ms ({rate // 4} samples at {rate} Hz), got {samples} samples")


class SilentResynthesis(Undefined):
    """The resynthesis is silent between 300 and 3500 Hz; the package ``pesq`` fails with a ValueError there."""

    def __init__(self) -> None:
        super().__init__("PESQ is undefined: the resynthesis is silent between 300 and 3500 Hz")
