"""Convert audio to what a codec accepts and back: checks, channel counts, sampling rates, lengths.

Conventions: audio is float32, shape ``(channels, samples)``. Resampling is soxr VHQ, which is linear-phase and removes
its own delay. Lengths at the codec's rate are rounded up, so that no sample is missing after resampling back. An hour
at 44.1 kHz takes 635 MB, so long clips are processed in pieces, without a third copy beside clip and result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed, RefusedSetting

Audio = NDArray[np.float32]
LARGEST = 256.0
"""Largest accepted sample, 48 dB over full scale; at 1e6 FFmpeg's AAC encoder never returns."""
PIECE = 1 << 20
"""Samples that are processed at once."""


def check_audio(audio: Audio, rate: int) -> None:
    """Refuse audio that no codec can code.

    Raises :class:`RefusedSetting` for a wrong type, shape or rate (the caller's mistake) and
    :class:`CodingFailed` for an empty clip, for NaN or Inf and for samples far beyond full scale (the clip's fault).
    """
    if not isinstance(audio, np.ndarray) or audio.dtype != np.float32:
        got = audio.dtype if isinstance(audio, np.ndarray) else type(audio).__name__
        raise RefusedSetting(f"expected a float32 array, got {got}: convert with audio.astype('float32')")
    if audio.ndim != 2:  # noqa: PLR2004 - channels and samples
        raise RefusedSetting(f"expected the shape (channels, samples), got {audio.shape}: mono is audio[None, :]")
    # bool is an int in Python
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or rate <= 0:
        raise RefusedSetting(f"expected a sampling rate in whole Hz above 0, got {rate!r}")
    if audio.shape[0] < 1 or audio.shape[1] < 1:
        raise CodingFailed(f"expected at least one channel and one sample, got the shape {audio.shape}")
    bad = non_finite(audio)
    if bad:
        raise CodingFailed(f"expected finite samples, got {bad} that are NaN or Inf of {audio.size}")
    peak = max(float(audio.max()), -float(audio.min()))
    if peak > LARGEST:
        raise CodingFailed(
            f"expected samples with full scale 1.0, got a peak of {peak:g}: divide integer PCM by its range"
        )


def pieces(samples: int) -> Iterator[slice]:
    """Cut ``samples`` into slices of :data:`PIECE`, none for 0."""
    return (slice(start, min(start + PIECE, samples)) for start in range(0, samples, PIECE))


def non_finite(audio: Audio) -> int:
    """Count the samples of ``(channels, samples)`` that are NaN or Inf."""
    return sum(int(np.count_nonzero(~np.isfinite(audio[:, its]))) for its in pieces(audio.shape[1]))


def channels_out(channels: int, accepted: tuple[int, ...]) -> int:
    """Channels of the resynthesis: those of the clip where the codec takes them, otherwise 1 (their mean)."""
    return channels if channels in accepted else 1


def channels_coded(channels: int, accepted: tuple[int, ...]) -> int:
    """Channels that the codec itself gets: mono is doubled where the codec does not accept it."""
    return channels if channels in accepted else min(accepted)


def fit(audio: Audio, rate: int, target: int, accepted: tuple[int, ...], silence: int = 0) -> Audio:
    """Return ``audio`` at ``target`` Hz with a channel count of ``accepted`` and ``silence`` more samples at its end.

    Channels are kept, averaged to mono, or mono is repeated. The result is always a new array.
    """
    source = audio if audio.shape[0] in accepted else to_mono(audio)
    samples = resampled_length(audio.shape[1], rate, target)
    fitted = np.zeros((channels_coded(audio.shape[0], accepted), samples + silence), dtype=np.float32)
    if rate == target:
        fitted[: len(source), :samples] = source
    else:
        _resample_into(source, rate, target, fitted[: len(source), :samples])
    fitted[len(source) :] = fitted[:1]
    return fitted


def restore_channels(audio: Audio, channels: int) -> Audio:
    """Undo the doubling of :func:`fit`: the mean, where the clip was mono."""
    if audio.shape[0] == channels:
        return audio
    return to_mono(audio)


def to_mono(audio: Audio) -> Audio:
    """Mean of the channels, shape ``(1, samples)``, summed in double precision; mono is returned unchanged."""
    if audio.shape[0] == 1:
        return audio
    mono = np.empty((1, audio.shape[1]), dtype=np.float32)
    for its in pieces(audio.shape[1]):
        # in double precision: the mean of equal channels is each of them, to the last bit
        mono[:, its] = audio[:, its].mean(axis=0, keepdims=True, dtype=np.float64)
    return mono


def resampled_length(samples: int, rate: int, target: int) -> int:
    """Length of ``samples`` at ``target`` Hz, rounded up."""
    # rounded up: at the codec's rate there is never less sound than at the clip's
    return -(-samples * target // rate)


def nearest_rate(rate: int, rates: tuple[int, ...]) -> int:
    """Return the lowest of ``rates`` that loses nothing of audio at ``rate`` Hz, else the highest."""
    return min((own for own in rates if own >= rate), default=max(rates))


def split_delay(delay: float, own: int, rate: int) -> tuple[int, int]:
    """Split a delay in samples at ``own`` Hz into whole samples there and the rest in samples at ``rate`` Hz.

    Where the clip's ``rate`` is not higher, there is no finer grid to cut on and the delay is rounded.
    """
    if rate <= own:
        return round(delay), 0
    whole = int(delay)
    return whole, round((delay - whole) * rate / own)


def resample(audio: Audio, rate: int, target: int, samples: int) -> Audio:
    """Resample to ``target`` Hz and to exactly ``samples``, without delay.

    The signal beyond the end of ``audio`` counts as zeros.
    """
    if rate == target:
        return audio[:, :samples]
    resampled = np.empty((audio.shape[0], samples), dtype=np.float32)
    _resample_into(audio, rate, target, resampled)
    return resampled


def _resample_into(audio: Audio, rate: int, target: int, out: Audio) -> None:
    """Fill ``out`` with ``audio`` at ``target`` Hz. Raises :class:`CodingFailed` where that is too short for it."""
    import soxr

    # soxr rounds its output length: some silence at the end ensures that it is never too short.
    silence = np.zeros(2 + -(-2 * rate // target), dtype=np.float32)
    for channel, row in zip(audio, out, strict=True):
        stream = soxr.ResampleStream(rate, target, 1, dtype="float32", quality="VHQ")
        filled = 0
        for its in [*pieces(channel.size), None]:
            piece = silence if its is None else np.ascontiguousarray(channel[its])
            made = stream.resample_chunk(piece, last=its is None)[: row.size - filled]
            row[filled : filled + made.size] = made
            filled += made.size
        if filled < row.size:
            raise CodingFailed(f"resampling from {rate} to {target} Hz gave {filled} samples, expected {row.size}")
