"""Fitting a clip to a codec: the numbers of one go, whatever the pieces, and no copy that nobody needs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from codec_superb.base_codec import fitting
from codec_superb.base_codec.fitting import PIECE, Audio


def noise(channels: int, samples: int) -> Audio:
    """Return noise at a tenth of full scale."""
    made: Audio = np.random.default_rng(samples).standard_normal((channels, samples), dtype=np.float32)
    made *= np.float32(0.1)
    return made


def at_one_go(audio: Audio, rate: int, target: int) -> NDArray[Any]:
    """Resample the whole clip in a single call of soxr."""
    return np.atleast_2d(soxr.resample(np.pad(audio, ((0, 0), (0, 100))).T, rate, target, quality="VHQ").T)


def most_allocated(action: Callable[[], object]) -> int:
    """Return the most bytes that numpy held at once while ``action`` ran, what it returned included."""
    tracemalloc.start()
    try:
        kept = action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        del kept
        tracemalloc.stop()


@pytest.mark.sample(2)
@pytest.mark.parametrize(("rate", "target"), [(44100, 24000), (16000, 44100), (48000, 16000), (11025, 48000)])
def test_pieces_are_resampled_as_the_whole(rate: int, target: int) -> None:
    """A clip of more than two pieces has the very samples of resampling it at one go, in each channel."""
    audio = noise(2, 2 * PIECE + 4321)
    samples = fitting.resampled_length(audio.shape[1], rate, target)
    assert np.array_equal(fitting.resample(audio, rate, target, samples), at_one_go(audio, rate, target)[:, :samples])


def test_the_mean_of_channels_is_that_of_the_whole() -> None:
    """The mean is summed in double precision, piece by piece."""
    audio = noise(3, PIECE + 77)
    assert np.array_equal(
        fitting.to_mono(audio), audio.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)
    )


def test_mono_is_doubled_and_silence_follows() -> None:
    """For a codec that takes only stereo both channels hold the resampled clip, then the silence for the delay."""
    audio = noise(1, 3000)
    fitted = fitting.fit(audio, 16000, 24000, (2,), 50)
    assert fitted.shape == (2, 4550)
    assert np.array_equal(fitted[0], fitted[1])
    assert np.array_equal(fitted[:1, :4500], at_one_go(audio, 16000, 24000)[:, :4500])
    assert not fitted[:, 4500:].any()


def test_what_is_fitted_is_new() -> None:
    """Even where nothing has to be done the wrapper gets an array of its own, which it may change."""
    audio = noise(1, 100)
    fitted = fitting.fit(audio, 16000, 16000, (1,))
    fitted += 1
    assert not np.shares_memory(fitted, audio)
    assert np.array_equal(audio, noise(1, 100))


@pytest.mark.sample(1)
@pytest.mark.parametrize(("rate", "accepted", "copies"), [(24000, (1,), 1), (44100, (1,), 1), (44100, (2,), 2)])
def test_a_long_clip_is_fitted_without_a_copy_beside_the_result(
    rate: int, accepted: tuple[int, ...], copies: int
) -> None:
    """Beside the result no more than some pieces are held, with and without resampling, for stereo codecs too."""
    audio = noise(1, 24 * PIECE)
    result = 4 * copies * fitting.resampled_length(audio.shape[1], rate, 24000)
    assert most_allocated(lambda: fitting.fit(audio, rate, 24000, accepted)) < result + 20 * PIECE


def test_checks_take_no_copy() -> None:
    """Looking for NaN and for the peak of a long clip holds no array as long as the clip."""
    audio = noise(2, 24 * PIECE)
    assert most_allocated(lambda: fitting.check_audio(audio, 16000)) < 8 * PIECE
    audio[1, -1] = np.inf
    assert fitting.non_finite(audio) == 1
