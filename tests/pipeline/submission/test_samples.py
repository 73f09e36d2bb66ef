"""Listening samples: real Ogg Opus of the right length and sound, small, and the same every time."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from support.audio import speech_like

from codec_superb.pipeline.submission.samples import SECONDS, ogg_opus


def decoded(data: bytes) -> NDArray[np.float32]:
    """Decode with FFmpeg."""
    with av.open(io.BytesIO(data)) as container:
        assert container.format.name == "ogg"
        (stream,) = container.streams
        assert stream.codec_context.name in {"opus", "libopus"}
        return np.concatenate([frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)])


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_a_sample_sounds_like_what_went_in(rate: int) -> None:
    """Decoded again it has the length of the clip at 48 kHz within 2 ms and correlates with it."""
    import soxr

    audio = speech_like(1.3, rate)
    back = decoded(ogg_opus(audio, rate))
    there = soxr.resample(audio, rate, 48000)
    assert abs(back.size - there.size) <= 96
    size = min(back.size, there.size)
    assert np.corrcoef(back[:size], there[:size])[0, 1] > 0.97


def test_it_is_the_container_that_browsers_play() -> None:
    """RFC 7845: an Ogg page with the identification header alone, then one with the comment header."""
    data = ogg_opus(speech_like(0.5, 16000), 16000)
    assert data[:4] == b"OggS"
    assert data[5] & 2, "first page of a logical stream"
    assert data[28:36] == b"OpusHead"
    assert data[37] == 1, "mono"
    second = data.index(b"OggS", 4)
    assert data[second + 28 : second + 36] == b"OpusTags"


def test_the_same_audio_gives_the_same_bytes_and_few_of_them() -> None:
    """No random stream number, no date; ten seconds stay near 64 kbps."""
    audio = speech_like(4.0, 16000)
    first = ogg_opus(audio, 16000)
    assert first == ogg_opus(audio[np.newaxis], 16000)
    assert len(first) < 1.3 * 4.0 * 64000 / 8
    assert len(ogg_opus(audio, 16000, kbps=24)) < 0.6 * len(first)


def test_a_long_clip_is_cut_and_faded() -> None:
    """Nothing beyond ten seconds is kept and the cut does not click."""
    tone = np.sin(2 * np.pi * 440 * np.arange(13 * 16000) / 16000).astype(np.float32) / 2
    back = decoded(ogg_opus(tone, 16000))
    assert back.size == pytest.approx(SECONDS * 48000, abs=96)
    assert np.abs(back[-96:]).max() < 0.05
    assert np.abs(back[-9600:-4800]).max() > 0.4


def test_one_sample_is_enough_and_none_is_not() -> None:
    """The shortest clip there is can be packed; an empty or two-channel array is refused."""
    assert ogg_opus(np.zeros(1, np.float32), 16000).startswith(b"OggS")
    for wrong in (np.zeros(0), np.zeros((2, 100)), np.zeros((1, 1, 5))):
        with pytest.raises(ValueError, match="expected mono audio"):
            ogg_opus(wrong.astype(np.float32), 16000)


def test_the_input_is_not_changed() -> None:
    """Fading and limiting work on a copy."""
    audio = 3 * speech_like(11.0, 16000)
    before = audio.copy()
    ogg_opus(audio, 16000)
    np.testing.assert_array_equal(audio, before)
