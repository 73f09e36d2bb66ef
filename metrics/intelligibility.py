"""Intelligibility: STOI (Taal et al. 2010) and ESTOI (Jensen and Taal 2016).

Conventions: analysis at 10 kHz; frames of 256 samples every 128; a frame counts where the reference is within 40 dB of
its loudest frame; 15 third-octave bands from 150 Hz; envelopes compared over 30 frames (384 ms). The values agree with
the package pystoi to 1e-6, with two differences: fewer than 30 frames of sound is undefined instead of 1e-5, and an
envelope that does not move at all counts as uncorrelated, where pystoi's ESTOI draws random numbers.

Metrics: :func:`stoi`, :func:`estoi`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics import _stoi_loops as loops
from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.p862.arithmetic import wide
from codec_superb.metrics.signals import Audio, Signal, pair

_RATE = 10_000
_FRAME = 256
_TRANSFORM = 512
_BANDS = 15
_LOWEST_HZ = 150.0
_DYNAMIC_RANGE_DB = 40.0
_SEGMENT = 30
"""Frames over which envelopes are compared."""


@dataclass(frozen=True, slots=True)
class _ActiveFrames:
    """Where the reference sounds, and its envelopes there."""

    frames: NDArray[np.int64]
    """Indices of the frames that are loud enough."""
    envelopes: NDArray[np.float64]
    """Shape ``(bands, frames)``."""


def stoi(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the short-time objective intelligibility, in [0, 1], higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for a silent reference and for fewer
    than 30 frames (about 0.4 s) of sound, InvalidAudio for arrays that are not a pair. A silent resynthesis scores 0.

    Worked number: clean speech delayed by 20 ms gives about 0.74.
    """
    x, y = _envelopes(*pair(reference, resynthesis, rate))
    # a correlation may be negative; the benchmark has STOI in [0, 1]
    return float(np.clip(loops.mean_clipped_correlation(x, y, _SEGMENT), 0.0, 1.0))


def estoi(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the extended short-time objective intelligibility, in [-1, 1], higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for a silent reference and for fewer
    than 30 frames (about 0.4 s) of sound, InvalidAudio for arrays that are not a pair. A silent resynthesis scores 0.

    Worked number: identical signals give 1.0.
    """
    x, y = _envelopes(*pair(reference, resynthesis, rate))
    return float(np.clip(loops.mean_normalised_correlation(x, y, _SEGMENT), -1.0, 1.0))


def _envelopes(reference: Signal, resynthesis: Signal) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sounding = reference.derived("sounding", _sounding)
    key = ("envelopes", reference)
    return sounding.envelopes, resynthesis.derived(key, lambda own: _envelopes_at(own, sounding.frames))


def _sounding(reference: Signal) -> _ActiveFrames:
    if reference.silent:
        raise Undefined("the reference is silent")
    samples = at_10_khz(reference)
    if samples.size <= _FRAME:
        raise Undefined(f"the clip has {reference.seconds:.3f} s; STOI needs {_SEGMENT} frames of sound, about 0.4 s")
    energies = loops.frame_energies(samples, _window())
    # of the reference alone: the resynthesis must not decide which frames count
    frames = np.flatnonzero(energies > energies.max() - _DYNAMIC_RANGE_DB)
    # Of n joined frames, n - 1 are analysed again: the last one would end with the signal.
    if frames.size - 1 < _SEGMENT:
        raise Undefined(f"{max(frames.size - 1, 0)} frames of sound; STOI needs {_SEGMENT}, about 0.4 s")
    return _ActiveFrames(frames, _envelopes_at(reference, frames))


def _envelopes_at(signal: Signal, frames: NDArray[np.int64]) -> NDArray[np.float64]:
    """Join the chosen frames, and return the third-octave envelopes of the joined signal, shape ``(bands, frames)``."""
    joined = loops.joined_frames(at_10_khz(signal), frames, _window())
    return loops.band_envelopes(joined, _window(), _band_edges(), wide.workspace(_TRANSFORM))


def at_10_khz(signal: Signal) -> NDArray[np.float64]:
    """Return the samples at 10 kHz through the Kaiser-windowed filter that the published implementations use."""
    return signal.derived("10 kHz", _at_10_khz)


def _at_10_khz(signal: Signal) -> NDArray[np.float64]:
    if signal.rate == _RATE:
        return signal.samples
    divisor = int(np.gcd(signal.rate, _RATE))
    # in lowest terms: 44.1 kHz is 100 / 441
    up, down = _RATE // divisor, signal.rate // divisor
    phases, first = _polyphase(up, down)
    return loops.resampled(signal.samples, phases, first, up, down)


@lru_cache(maxsize=16)
def _polyphase(up: int, down: int) -> tuple[NDArray[np.float64], int]:
    """Return the filter's phases, shape ``(up, taps)``, newest sample last, and the filter's half length.

    60 dB of rejection over a transition of a tenth of the cut-off: Octave's ``resample``, as in STOI's first
    implementation.
    """
    # Kaiser's formulae: so many taps, and this beta, for a rejection above 50 dB
    rejection_db = 60.0
    cutoff = 1.0 / (2.0 * max(up, down))
    half = int(np.ceil((rejection_db - 8.0) / (28.714 * cutoff / 10.0)))
    time = np.arange(-half, half + 1)
    taps = np.sinc(2.0 * cutoff * time) * np.kaiser(2 * half + 1, 0.1102 * (rejection_db - 8.7))
    # gain 1 after `up - 1` zeros were put between samples
    taps *= up / taps.sum()
    return loops.split_phases(taps, up), half


@lru_cache(maxsize=1)
def _window() -> NDArray[np.float64]:
    # not :func:`.hann.hann`, whose last bits differ: pystoi calls np.hanning, and its scores are the known answers
    return np.asarray(np.hanning(_FRAME + 2)[1:-1], dtype=np.float64)


@lru_cache(maxsize=1)
def _band_edges() -> NDArray[np.int64]:
    """Return the first bin of each third-octave band and the one after its last, shape ``(bands, 2)``."""
    bins = np.linspace(0.0, _RATE, _TRANSFORM + 1)[: _TRANSFORM // 2 + 1]
    steps = np.arange(_BANDS)
    # a third of an octave is a factor of 2 ** (1 / 3); the edges lie a sixth of an octave on either side
    edges = [_LOWEST_HZ * 2.0 ** ((2 * steps + side) / 6.0) for side in (-1, 1)]
    # the nearest bin on either side, as pystoi takes it
    nearest = [np.abs(bins[None, :] - edge[:, None]).argmin(axis=1) for edge in edges]
    return np.stack(nearest, axis=1).astype(np.int64)
