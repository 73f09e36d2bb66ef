"""Measures that the codec tests share: lag of waveforms, lag of spectral envelopes, level by half seconds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.fft

from codec_superb.base_codec.interface import Audio, Codec, Packets

PARAMETRIC = frozenset({"codec2"})
"""Families that keep no waveform: they send pitch and envelope and invent the phases."""


class Delayed(Codec):
    """Float PCM in a chain that delays by what its card says; ``lost`` samples are missing at its end."""

    lost = 0

    def _encode(self, audio: Audio) -> Packets:
        payload = audio.astype("<f4").tobytes()
        return Packets(payload, 8 * len(payload))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        assert isinstance(packets.payload, bytes)
        audio = np.frombuffer(packets.payload, "<f4").reshape(channels, -1)
        delayed = np.pad(audio, ((0, 0), (self.card.delay_samples, 0)))[:, : audio.shape[1]]
        return delayed[:, : delayed.shape[1] - self.lost]


def waveform_lag(reference: Audio, resynthesis: Audio, rate: int) -> tuple[int, float]:
    """Return the lag in whole samples, and the correlation there, of the channels' means.

    Cross-correlation between 300 and 3400 Hz: AMR-NB and G.723.1 start with a high-pass filter, which shifts the
    phases of what lies below.
    """
    x, y = reference.mean(axis=0, dtype=np.float64), resynthesis.mean(axis=0, dtype=np.float64)
    size = int(scipy.fft.next_fast_len(2 * x.size - 1, real=True))
    frequencies = np.fft.rfftfreq(size, 1 / rate)
    band = (frequencies >= 300) & (frequencies <= 3400)
    spectrum_x, spectrum_y = scipy.fft.rfft(x, size) * band, scipy.fft.rfft(y, size) * band
    correlation = scipy.fft.irfft(spectrum_y * spectrum_x.conj(), size)
    # Parseval: each bin of the band stands for two of the whole spectrum
    energies = [2 / size * np.vdot(spectrum, spectrum).real for spectrum in (spectrum_x, spectrum_y)]
    lag = int(np.argmax(correlation))
    return (lag if lag < size // 2 else lag - size), float(correlation[lag] / np.sqrt(energies[0] * energies[1]))


def envelope_lag(reference: Audio, resynthesis: Audio, rate: int) -> tuple[float, float]:
    """Return the lag in milliseconds, and the correlation there, of band envelopes (20 ms windows every 1 ms)."""
    x, y = _bands(reference, rate), _bands(resynthesis, rate)
    lags = range(-40, 41)
    scores = [float((x[max(0, -k) : len(x) - max(0, k)] * y[max(0, k) : len(y) + min(0, k)]).mean()) for k in lags]
    best = int(np.argmax(scores))
    return float(lags[best]), scores[best]


def _bands(audio: Audio, rate: int) -> np.ndarray[Any, Any]:
    window, hop = rate // 50, rate // 1000
    starts = hop * np.arange((audio.shape[1] - window) // hop)
    frames = audio.mean(axis=0)[starts[:, None] + np.arange(window)] * np.hanning(window)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    edges = np.array([200, 400, 600, 900, 1300, 1800, 2500, 3500]) * window // rate
    bands = np.sqrt(np.stack([power[:, a:b].sum(axis=1) for a, b in itertools.pairwise(edges)], axis=1))
    centred = bands - bands.mean(axis=0)
    return centred / centred.std(axis=0)


def level_differences(reference: Audio, resynthesis: Audio, rate: int) -> np.ndarray[Any, Any]:
    """Return the change of level in dB, from 300 to 3400 Hz, of every half second that is louder than -45 dBFS."""
    step = rate // 2
    frequencies = np.fft.rfftfreq(step, 1 / rate)
    band = (frequencies >= 300) & (frequencies <= 3400)
    levels = []
    for audio in (reference, resynthesis):
        pieces = audio[:, : audio.shape[1] // step * step].reshape(audio.shape[0], -1, step)
        power = (np.abs(np.fft.rfft(pieces, axis=2)[:, :, band]) ** 2).sum(axis=2).mean(axis=0)
        levels.append(10 * np.log10(2 * power / step**2 + 1e-12))
    return np.asarray((levels[1] - levels[0])[levels[0] > -45])
