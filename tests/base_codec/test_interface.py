"""The codec contract: what is refused, how audio is fitted to a codec, and that nothing lost is filled with silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.codecs.cards import make_card
from support.codecs.every_codec import Delayed, waveform_lag
from support.codecs.frame_codecs import Levels
from support.profile import examples

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.fitting import split_delay
from codec_superb.base_codec.interface import Encoded, Packets


def noise(channels: int, samples: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return white noise at -20 dBFS."""
    return (0.1 * np.random.default_rng(samples).standard_normal((channels, samples))).astype(np.float32)


@pytest.mark.parametrize(
    ("audio", "rate", "message"),
    [
        (np.zeros((1, 10)), 16000, "expected a float32 array, got float64"),
        ([[0.0]], 16000, "expected a float32 array, got list"),
        (np.zeros(10, dtype=np.float32), 16000, r"expected the shape \(channels, samples\), got \(10,\)"),
        (np.zeros((1, 10), dtype=np.float32), 0, "sampling rate in whole Hz above 0, got 0"),
        (np.zeros((1, 10), dtype=np.float32), -8000, "above 0, got -8000"),
        (np.zeros((1, 10), dtype=np.float32), 44100.0, "whole Hz"),
    ],
)
def test_wrong_types_shapes_and_rates_are_refused(audio: Any, rate: Any, message: str) -> None:
    """What the caller got wrong is refused, and the error says what was expected and what came."""
    with pytest.raises(RefusedSetting, match=message):
        Delayed(make_card()).encode(audio, rate)


@pytest.mark.parametrize(
    ("audio", "message"),
    [
        (np.zeros((1, 0), dtype=np.float32), r"at least one channel and one sample, got the shape \(1, 0\)"),
        (np.zeros((0, 5), dtype=np.float32), r"got the shape \(0, 5\)"),
        (np.array([[0, np.nan, np.inf]], dtype=np.float32), "got 2 that are NaN or Inf of 3"),
        (np.array([[0, -32768]], dtype=np.float32), "full scale 1.0, got a peak of 32768: divide integer PCM"),
    ],
)
def test_bad_clips_fail_and_are_not_scored(audio: Any, message: str) -> None:
    """An empty clip and a clip with NaN or Inf raise CodingFailed with the reason."""
    with pytest.raises(CodingFailed, match=message):
        Delayed(make_card()).encode(audio, 16000)


def test_the_declared_delay_is_removed_and_the_tail_is_whole() -> None:
    """A codec that delays by 400 samples returns the clip in place, up to its last sample."""
    codec = Delayed(make_card(delay_samples=400))
    clip = noise(1, 1000)
    assert np.array_equal(codec.decode(codec.encode(clip, 16000)), clip)


@pytest.mark.parametrize("lost", [1, 399, 5000])
def test_a_decoder_that_loses_audio_fails(lost: int) -> None:
    """A single missing sample is an error, not a silent sample."""
    codec = Delayed(make_card(delay_samples=400))
    codec.lost = lost
    with pytest.raises(CodingFailed, match="it lost audio"):
        codec.decode(codec.encode(noise(1, 3000), 16000))


def test_a_decoder_that_returns_nan_or_other_channels_fails() -> None:
    """NaN and a wrong channel count from a decoder are errors."""
    codec = Delayed(make_card())
    encoded = codec.encode(noise(1, 4), 16000)
    broken = replace(encoded, payload=np.array([[0, np.nan, 0, 0]], dtype="<f4").tobytes())
    with pytest.raises(CodingFailed, match="got NaN or Inf"):
        codec.decode(broken)
    codec._decode = lambda packets, channels: np.zeros((2, 9), dtype=np.float32)
    with pytest.raises(
        CodingFailed, match=r"expected float32 \(1, at least 4\) from the decoder, got float32 \(2, 9\)"
    ):
        codec.decode(encoded)


def test_an_encode_only_codec_says_so() -> None:
    """Decoding with a codec that has no decoder is refused."""
    codec = Delayed(make_card(encode_only=True))
    with pytest.raises(RefusedSetting, match="only encodes"):
        codec.decode(codec.encode(noise(1, 4), 16000))


def test_channels_are_fitted_as_the_policy_says() -> None:
    """Mono-only: the mean; stereo-only: mono twice, all bits counted, and the mean back; channels it has stay."""
    ten = noise(10, 500)
    mean = ten.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)
    mono, stereo, both = (Delayed(make_card(channels=channels)) for channels in ((1,), (2,), (1, 2)))
    assert np.array_equal(mono.decode(mono.encode(ten, 16000)), mean)
    assert np.array_equal(stereo.decode(stereo.encode(ten, 16000)), mean)
    assert stereo.encode(mean, 16000).bits == 2 * mono.encode(mean, 16000).bits
    assert np.array_equal(stereo.decode(stereo.encode(ten[:2], 16000)), ten[:2])
    assert np.array_equal(both.decode(both.encode(ten[:2], 16000)), ten[:2])
    assert np.array_equal(both.decode(both.encode(ten, 16000)), mean)


@pytest.mark.parametrize("rate", [7000, 8000, 11025, 22050, 44100, 48000, 192000])
@pytest.mark.parametrize("own", [8000, 16000, 44100, 48000])
def test_resampling_there_and_back_leaves_no_lag(rate: int, own: int) -> None:
    """Noise comes back in place through any pair of rates, and unchanged where the rates are equal."""
    codec = Delayed(make_card(sampling_rate=own, delay_samples=123))
    clip = noise(1, rate)
    resynthesis = codec.decode(codec.encode(clip, rate))
    lag, correlation = waveform_lag(clip, resynthesis, rate)
    assert lag == 0
    assert correlation > 0.99
    assert rate != own or np.array_equal(clip, resynthesis)


def test_the_clip_is_left_as_it_was() -> None:
    """Encoding changes nothing in the caller's array."""
    clip = noise(2, 800)
    before = clip.copy()
    for name in ("opus_12k", "codec2_1300", "lc3_32k", "flac"):
        registry.open_codec(name).encode(clip, 16000)
    assert np.array_equal(clip, before)


def test_encoded_knows_its_tokens() -> None:
    """A payload of bytes has no tokens; a token array has as many as entries."""
    assert Encoded(b"1", 8, 1, 16000, 1).tokens is None
    assert Encoded(np.zeros((8, 75), dtype=np.int64), 6000, 24000, 24000, 1).tokens == 600


@pytest.mark.parametrize(
    ("payload", "got"),
    [
        (np.zeros((2, 5), np.float32), r"float32 \(2, 5\)"), (np.zeros((1, 5), np.int64), r"int64 \(1, 5\)"),
        (np.full((2, 5), 8), r"int64 \(2, 5\), 8 to 8"), (np.full((2, 5), -1), r"int64 \(2, 5\), -1 to -1"),
    ],
)  # fmt: skip
def test_tokens_hold_no_more_than_is_counted(payload: Any, got: str) -> None:
    """Bits are counted from the codebooks on the card: numbers that are no entries of them would be sent for free."""
    codec = Levels()
    codec._encode = lambda _audio: Packets(payload)  # type: ignore[method-assign]
    with pytest.raises(CodingFailed, match=rf"expected integer tokens \(2, frames\) of .* 16, 5 entries.* got {got}"):
        codec.encode(noise(1, 800), 16000)


def test_batches_are_the_clips_one_by_one() -> None:
    """The batched forms return what the single forms return."""
    codec = registry.open_codec("g722_64k")
    clips = [noise(1, 100), noise(1, 999)]
    batch = codec.encode_batch(clips, 16000)
    assert batch == [codec.encode(clip, 16000) for clip in clips]
    for sound, encoded in zip(codec.decode_batch(batch), batch, strict=True):
        assert np.array_equal(sound, codec.decode(encoded))


@examples(60)
@given(
    name=st.sampled_from(["opus_12k", "mp3_64k", "g726_24k", "codec2_1300", "lc3_32k", "aptx_384k", "wma_32k", "flac"]),
    rate=st.sampled_from([7000, 8000, 16000, 22050, 44100, 48000, 96000]),
    channels=st.integers(1, 3),
    samples=st.integers(1, 3000),
)
def test_any_length_comes_back_as_long(name: str, rate: int, channels: int, samples: int) -> None:
    """Whatever the length, rate and channel count, the resynthesis has the length of the clip."""
    codec = registry.open_codec(name)
    encoded = codec.encode(noise(channels, samples), rate)
    resynthesis = codec.decode(encoded)
    assert resynthesis.shape == (channels if channels in codec.card.channels else 1, samples)
    assert (encoded.samples, encoded.sampling_rate) == (samples, rate)


@pytest.mark.parametrize(
    ("delay", "own", "rate", "expected"),
    [
        (400, 16000, 48000, (400, 0)),
        (39.67, 8000, 48000, (39, 4)),
        (39.67, 8000, 8000, (40, 0)),
        (0.5, 48000, 8000, (0, 0)),
    ],
)
def test_a_part_of_a_sample_is_cut_at_the_finer_rate(
    delay: float, own: int, rate: int, expected: tuple[int, int]
) -> None:
    """Whole samples are cut at the codec's rate, the rest at the clip's where that is higher."""
    assert split_delay(delay, own, rate) == expected
