"""Levels of sounds over time and frequency, and their pictures."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
import soundfile
from support.audio import speech_like

from codec_superb.pipeline.submission.samples import OPUS_RATE, ogg_opus
from codec_superb.server.codecs.picture import difference_picture, level_picture
from codec_superb.server.codecs.spectrogram import COLUMNS, FLOOR, ROWS, NotDecodable, columns_of, decode, levels, power


def sine(hertz: float, seconds: float = 1.0, height: float = 0.5) -> np.ndarray:
    """Make a tone at 48 kHz."""
    return (height * np.sin(2 * np.pi * hertz * np.arange(round(seconds * OPUS_RATE)) / OPUS_RATE)).astype(np.float32)


def pixels(picture: bytes) -> np.ndarray:
    """Decode a PNG, shape (rows, columns, 3)."""
    with av.open(io.BytesIO(picture), "r") as opened:
        return next(opened.decode(video=0)).to_ndarray(format="rgb24")


class TestDecode:
    """From Ogg Opus to samples."""

    def test_gives_the_sound_back(self) -> None:
        """Same length at 48 kHz, to a frame, and nearly the same sound."""
        original = sine(440)
        found = decode(ogg_opus(original, OPUS_RATE))
        assert abs(found.size - original.size) <= 960
        assert np.sqrt(np.mean(found[4800:40000] ** 2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)

    def test_cuts_what_is_longer_than_a_sample_may_be(self) -> None:
        """A small file can hold hours of silence: eleven seconds of it are decoded."""
        out = io.BytesIO()
        with av.open(out, "w", format="ogg") as container:
            stream = container.add_stream("libopus", rate=OPUS_RATE, layout="mono")
            stream.bit_rate = 6000
            for _ in range(30):
                frame = av.AudioFrame.from_ndarray(np.zeros((1, OPUS_RATE), np.float32), format="flt", layout="mono")
                frame.sample_rate = OPUS_RATE
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        assert decode(out.getvalue()).size == 11 * OPUS_RATE

    @pytest.mark.parametrize("content", [b"", b"OggS" + bytes(200), b"RIFF" + bytes(4000), b"no sound" * 999])
    def test_refuses_what_is_no_sound(self, content: bytes) -> None:
        """One kind of error for whatever else it is."""
        with pytest.raises(NotDecodable, match=r"expected (Ogg Opus|one Opus stream|sound)"):
            decode(content)

    def test_refuses_another_codec(self) -> None:
        """Vorbis in Ogg is not what samples are."""
        out = io.BytesIO()
        soundfile.write(out, sine(440), OPUS_RATE, format="OGG", subtype="VORBIS")
        with pytest.raises(NotDecodable, match="one Opus stream"):
            decode(out.getvalue())


class TestLevels:
    """Power in cells."""

    @pytest.mark.parametrize(("hertz", "highest"), [(1000, 8000), (5000, 8000), (15000, 24000), (100, 4000)])
    def test_a_tone_stands_in_its_row(self, hertz: float, highest: float) -> None:
        """The loudest row from the top is that of the tone's frequency, in every column."""
        loudest = power(sine(hertz), highest, 50).argmax(axis=0)
        expected = ROWS - 1 - int(hertz / highest * ROWS)
        assert np.abs(loudest[2:-2] - expected).max() <= 1

    def test_a_full_scale_sine_has_power_one(self) -> None:
        """Where a row is no wider than a bin, the level is that of the sine itself."""
        assert power(sine(1125, height=1.0), 4000, 20)[:, 10].max() == pytest.approx(1.0, rel=0.02)

    def test_a_click_stands_in_its_column(self) -> None:
        """Time runs to the right, from the first sample to the last."""
        click = np.zeros(OPUS_RATE, np.float32)
        click[OPUS_RATE // 4] = 1
        assert power(click, 8000, 101).sum(axis=0).argmax() == 25

    def test_both_sounds_share_one_scale(self) -> None:
        """0 dB is the loudest cell of the reference; half the height is 6 dB less in the resynthesis."""
        first, second = levels(sine(1000), sine(1000, height=0.25), 8000)
        assert first.max() == 0
        assert second.max() == pytest.approx(-6.02, abs=0.01)
        assert first.min() == FLOOR
        assert first.shape == second.shape == (ROWS, columns_of(OPUS_RATE))

    def test_the_shorter_one_goes_on_in_silence(self) -> None:
        """Columns stand for the same moment in both."""
        first, second = levels(sine(1000, 1.0), sine(1000, 0.5), 8000)
        assert first.shape == second.shape
        assert second[:, -20:].max() == FLOOR

    def test_silence_stays_silence(self) -> None:
        """A silent reference gives no division by zero, and no false levels."""
        first, second = levels(np.zeros(4800, np.float32), np.zeros(4800, np.float32), 8000)
        assert first.max() == second.max() == FLOOR

    def test_size_is_bounded(self) -> None:
        """Ten seconds have no more columns than fit on a page; a few samples have two."""
        assert columns_of(10 * OPUS_RATE) == COLUMNS
        assert columns_of(3) == 2
        with pytest.raises(ValueError, match="highest frequency"):
            power(sine(1000), 30000, 10)


class TestPictures:
    """Levels as colours."""

    def test_louder_is_lighter(self) -> None:
        """Lightness rises with the level, all the way from silence to 0 dB."""
        ramp = np.linspace(FLOOR, 0, 200, dtype=np.float32)[np.newaxis].repeat(4, axis=0)
        lightness = pixels(level_picture(ramp))[0].astype(float) @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(lightness) >= -0.5).all()
        assert lightness[0] < 5
        assert lightness[-1] > 230

    def test_difference_is_dark_orange_and_blue(self) -> None:
        """Equal is dark, more is orange, less is blue; further apart is lighter."""
        reference = np.full((2, 3), -40, np.float32)
        resynthesis = np.array([[-40, -20, -60]] * 2, np.float32)
        equal, more, less = (pixels(difference_picture(reference, resynthesis))[0, i].astype(int) for i in range(3))
        assert equal.max() < 40
        assert more[0] > more[2] + 60
        assert less[2] > less[0] + 60
        slight = pixels(difference_picture(reference, reference + 5))[0, 0].astype(int)
        assert equal.sum() < slight.sum() < more.sum()

    def test_top_row_is_the_highest_frequency(self) -> None:
        """A high tone is at the top of the picture."""
        grid, _ = levels(sine(7500), sine(7500), 8000)
        rows = pixels(level_picture(grid)).sum(axis=(1, 2))
        assert rows.argmax() < ROWS // 8

    def test_is_small(self) -> None:
        """Ten seconds of speech take less than 120 kB."""
        speech = decode(ogg_opus(np.tile(speech_like(1, 16000), 10), 16000))
        grid, _ = levels(speech, speech, 8000)
        assert len(level_picture(grid)) < 120_000
