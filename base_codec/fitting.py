"""Fit audio to what a codec takes and back: checks, channel counts, sampling rates, lengths.

Conventions: audio is float32, shape ``(channels, samples)``. Resampling is soxr VHQ, which is linear in phase and
removes its own delay. Lengths at the codec's rate are rounded up, so that coming back never lacks a sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed, RefusedSetting

Audio = NDArray[np.float32]
LARGEST = 256.0
"""Largest sample that is taken, 48 dB over full scale; at 1e6 FFmpeg's AAC encoder never returns."""


def check_audio(audio: Audio, rate: int) -> None:
    """Refuse what no codec can take.

    Raises :class:`RefusedSetting` for a wrong type, shape or rate (the caller's mistake) and
    :class:`CodingFailed` for an empty clip, for NaN or Inf and for samples that were never scaled (the clip's).
    """
    if not isinstance(audio, np.ndarray) or audio.dtype != np.float32:
        got = audio.dtype if isinstance(audio, np.ndarray) else type(audio).__name__
        raise RefusedSetting(f"expected a float32 array, got {got}: convert with audio.astype('float32')")
    if audio.ndim != 2:  # noqa: PLR2004 - channels and samples
        raise RefusedSetting(f"expected the shape (channels, samples), got {audio.shape}: mono is audio[None, :]")
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or rate <= 0:
        raise RefusedSetting(f"expected a sampling rate in whole Hz above 0, got {rate!r}")
    if audio.shape[0] < 1 or audio.shape[1] < 1:
        raise CodingFailed(f"expected at least one channel and one sample, got the shape {audio.shape}")
    bad = int(np.count_nonzero(~np.isfinite(audio)))
    if bad:
        raise CodingFailed(f"expected finite samples, got {bad} that are NaN or Inf of {audio.size}")
    peak = float(np.abs(audio).max())
    if peak > LARGEST:
        raise CodingFailed(
            f"expected samples with full scale 1.0, got a peak of {peak:g}: divide integer PCM by its range"
        )


def channels_out(channels: int, accepted: tuple[int, ...]) -> int:
    """Channels of the resynthesis: those of the clip where the codec takes them, otherwise 1 (their mean)."""
    return channels if channels in accepted else 1


def channels_coded(channels: int, accepted: tuple[int, ...]) -> int:
    """Channels that the codec itself sees: mono is doubled where it takes none."""
    return channels if channels in accepted else min(accepted)


def fit_channels(audio: Audio, accepted: tuple[int, ...]) -> Audio:
    """Return ``audio`` with a channel count of ``accepted``: kept, averaged to mono, or mono repeated."""
    if audio.shape[0] in accepted:
        return audio
    return np.repeat(to_mono(audio), channels_coded(1, accepted), axis=0)


def restore_channels(audio: Audio, channels: int) -> Audio:
    """Undo the doubling of :func:`fit_channels`: the mean, where the clip was mono."""
    if audio.shape[0] == channels:
        return audio
    return to_mono(audio)


def to_mono(audio: Audio) -> Audio:
    """Mean of the channels, shape ``(1, samples)``, summed in double precision; mono comes back as it is."""
    if audio.shape[0] == 1:
        return audio
    mono: Audio = audio.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)
    return mono


def resampled_length(samples: int, rate: int, target: int) -> int:
    """Length of ``samples`` at ``target`` Hz, rounded up."""
    return -(-samples * target // rate)


def split_delay(delay: float, own: int, rate: int) -> tuple[int, int]:
    """Split a delay in samples at ``own`` Hz into whole samples there and the rest in samples at ``rate`` Hz.

    Where the clip's ``rate`` is not higher, there is no finer place to cut and the delay is rounded.
    """
    if rate <= own:
        return round(delay), 0
    whole = int(delay)
    return whole, round((delay - whole) * rate / own)


def resample(audio: Audio, rate: int, target: int, samples: int) -> Audio:
    """Resample to ``target`` Hz and to exactly ``samples``, without delay.

    Zeros stand in for what lies beyond the end of ``audio``, as for any filter that runs off the end of a clip.
    """
    if rate == target:
        return audio[:, :samples]
    import soxr

    # soxr rounds its output length: a little silence at the end makes sure that it is never short.
    margin = 2 + -(-2 * rate // target)
    padded = np.pad(audio, ((0, 0), (0, margin)))
    resampled = np.atleast_2d(soxr.resample(padded.T, rate, target, quality="VHQ").T)
    if resampled.shape[1] < samples:
        raise CodingFailed(
            f"resampling from {rate} to {target} Hz gave {resampled.shape[1]} samples, expected {samples}"
        )
    return np.ascontiguousarray(resampled[:, :samples], dtype=np.float32)
