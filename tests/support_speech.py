"""Real speech for tests: the LibriVox and card-game recordings of pocketsphinx, read by several people at 16 kHz."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray
from pypi_simple import PYPI_SIMPLE_ENDPOINT, PyPISimple

SDIST = "pocketsphinx-5.1.1.tar.gz"
SHA256 = "675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355"
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


@functools.cache
def _thirty_seconds() -> NDArray[np.float32]:
    with tarfile.open(_sdist()) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".wav"))
        wanted = [name for folder in ("librivox", "cards") for name in names if f"test/data/{folder}/" in name]
        clips = [_read(archive, name) for name in wanted]
    speech = np.concatenate(clips)
    assert speech.size >= 30 * SPEECH_RATE
    return speech[: 30 * SPEECH_RATE]


def _read(archive: tarfile.TarFile, name: str) -> NDArray[np.float32]:
    member = archive.extractfile(name)
    assert member is not None
    audio, rate = soundfile.read(io.BytesIO(member.read()), dtype="float32")
    assert rate == SPEECH_RATE
    return audio


def _sdist() -> Path:
    home = Path(os.environ.get("CODEC_SUPERB_HOME") or Path.home() / ".cache" / "codec-superb")
    file = home / "downloads" / SDIST
    if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != SHA256:
        file.parent.mkdir(parents=True, exist_ok=True)
        with PyPISimple(_index()) as client:
            package = next(p for p in client.get_project_page("pocketsphinx").packages if p.filename == SDIST)
            partial = file.with_suffix(f".{os.getpid()}.part")
            client.download_package(package, partial)
        assert hashlib.sha256(partial.read_bytes()).hexdigest() == SHA256
        partial.replace(file)
    return file


def _index() -> str:
    """Return the index that pip is configured with."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return os.environ.get("PIP_INDEX_URL") or configured or PYPI_SIMPLE_ENDPOINT
