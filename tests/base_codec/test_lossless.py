"""Lossless codecs: the ceiling of every comparison returns what it was given, at every rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.profile import examples
from support.speech import real_speech

from codec_superb.base_codec import registry

LOSSLESS = ("flac", "alac", "wavpack")


@pytest.mark.network
@pytest.mark.parametrize("bits", [16, 24])
@pytest.mark.parametrize("name", LOSSLESS)
def test_integer_sources_come_back_exactly(name: str, bits: int) -> None:
    """Speech on the 16- or 24-bit grid comes back bit for bit, mono and stereo, from 7 to 192 kHz."""
    codec = registry.open_codec(name)
    for rate in (7000, 8000, 16000, 22050, 44100, 48000, 192000):
        for channels in (1, 2):
            speech = real_speech(rate, 0.5, channels)
            exact = (np.rint(speech * np.float64(2 ** (bits - 1))) / 2 ** (bits - 1)).astype(np.float32)
            assert np.array_equal(codec.decode(codec.encode(exact, rate)), exact)


@pytest.mark.parametrize("name", LOSSLESS)
def test_full_scale_and_odd_lengths_come_back_exactly(name: str) -> None:
    """The two ends of the 16-bit scale, alternating, survive at lengths around a block."""
    codec = registry.open_codec(name)
    for samples in (1, 2, 17, 4095, 4096, 4097, 4608, 4609):
        extremes = np.where(np.arange(samples) % 2, 32767 / 32768, -1).astype(np.float32)[None]
        assert np.array_equal(codec.decode(codec.encode(extremes, 44100)), extremes)


@examples(40)
@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 2), st.integers(1, 300)),
        elements=st.floats(-256, 256, width=32, allow_subnormal=False),
    )
)
def test_wavpack_keeps_every_float(audio: np.ndarray) -> None:
    """WavPack returns any float32 values exactly, also far outside full scale."""
    codec = registry.open_codec("wavpack")
    assert np.array_equal(codec.decode(codec.encode(audio, 16000)), audio)


@pytest.mark.parametrize("name", ["flac", "alac"])
def test_other_values_are_rounded_to_24_bits_as_the_card_says(name: str) -> None:
    """Floats between the steps of 24 bits come back within half a step, and what is over full scale saturates."""
    codec = registry.open_codec(name)
    between = np.random.default_rng(0).uniform(-0.9, 0.9, (1, 2000)).astype(np.float32)
    assert np.abs(codec.decode(codec.encode(between, 48000)) - between).max() <= 2.0**-24
    over = np.array([[1.0, 1.5, -1.0, -2.0]], dtype=np.float32)
    largest = np.float32(1 - 2.0**-23)
    assert codec.decode(codec.encode(over, 48000)).tolist() == [[largest, largest, -1.0, -1.0]]
    assert "rounded to 24 bits" in (codec.card.bitrate_note or "")


@pytest.mark.network
def test_lossless_coding_compresses() -> None:
    """Speech of 16 bits takes fewer bits than the PCM it came from (256 kbps)."""
    speech = real_speech(16000, 5)
    for name in LOSSLESS:
        assert registry.open_codec(name).encode(speech, 16000).bits < 0.7 * 16 * speech.size
