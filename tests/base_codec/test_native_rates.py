"""An encoder gets a clip as people hand it theirs: at the nearest rate that it takes, and 16-bit sound in 16 bits."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
import soxr
from support.codecs.cards import make_card
from support.codecs.every_codec import Delayed, level_differences, waveform_lag
from support.speech import real_speech

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.libav import LibavCodec
from codec_superb.base_codec.families.pcm import from_pcm, is_16_bit, round_to_16_bit, to_int16
from codec_superb.base_codec.fitting import PIECE, Audio, nearest_rate

OPUS = [name for name in registry.names() if registry.card(name).family == "opus"]
TAKEN = {
    8000: 8000, 11025: 12000, 12000: 12000, 16000: 16000, 22050: 24000, 24000: 24000, 32000: 48000, 44100: 48000,
    48000: 48000, 96000: 48000,
}  # fmt: skip
"""Rates of clips, and what libopus gets."""


def on_16_bits(audio: Audio) -> Audio:
    """Return the sound as a 16-bit recording holds it."""
    return from_pcm(to_int16(audio))


def libopus(audio: Audio, rate: int, sample_format: str, bit_rate: int) -> list[bytes]:
    """Return the packets that libopus makes of ``audio`` when nothing of this package is between."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format = rate, ("mono", "stereo")[len(audio) - 1], sample_format
    encoder.bit_rate, encoder.time_base = bit_rate, Fraction(1, rate)
    encoder.open()
    packets = []
    block = rate // 50
    whole = np.pad(audio, ((0, 0), (0, -audio.shape[1] % block)))
    for start in range(0, whole.shape[1], block):
        samples = np.ascontiguousarray(whole[:, start : start + block].T.reshape(1, -1))
        given = to_int16(samples) if sample_format == "s16" else samples
        frame = av.AudioFrame.from_ndarray(given, sample_format, encoder.layout)
        frame.sample_rate, frame.pts = rate, start
        packets += encoder.encode(frame)
    return [bytes(packet) for packet in [*packets, *encoder.encode(None)]]


def with_silence(audio: Audio, rate: int, delay: int) -> Audio:
    """Add the silence that brings the end of the clip out of the decoder: the delay, which is stated at 48 kHz."""
    return np.pad(audio, ((0, 0), (0, -(-delay * rate // 48000))))


@pytest.mark.sample(1, over="rate")
@pytest.mark.network
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8000, 12000, 16000, 24000, 48000])
def test_a_clip_at_a_rate_of_the_encoder_is_given_as_it_is(rate: int, channels: int) -> None:
    """A 16-bit clip has the payload of libopus at the clip's rate in s16, and one of more bits that of floats."""
    codec = registry.open_codec("opus_16k")
    fine = real_speech(rate, 2, channels) * np.float32(0.97)
    for clip, sample_format in ((on_16_bits(fine), "s16"), (fine, "flt")):
        packets = libopus(with_silence(clip, rate, int(codec.card.delay_samples)), rate, sample_format, 16000)
        encoded = codec.encode(clip, rate)
        assert encoded.payload == b"".join(packets)
        assert encoded.frames == tuple(map(len, packets))
        assert encoded.bits == 8 * sum(map(len, packets))


@pytest.mark.network
def test_resampled_16_bit_sound_is_16_bit_again() -> None:
    """At 44.1 kHz a clip is resampled to 48 kHz; where it was of 16 bits, libopus gets 16 bits."""
    codec = registry.open_codec("opus_24k")
    fine = real_speech(44100, 2) * np.float32(0.97)
    for clip, sample_format in ((on_16_bits(fine), "s16"), (fine, "flt")):
        at_48k = soxr.resample(np.pad(clip[0], (0, 100)), 44100, 48000, quality="VHQ")[None, : 2 * 48000]
        packets = libopus(with_silence(at_48k, 48000, int(codec.card.delay_samples)), 48000, sample_format, 24000)
        assert codec.encode(clip, 44100).payload == b"".join(packets)


@pytest.mark.network
def test_the_depth_of_a_clip_is_what_saves_bits() -> None:
    """Speech at 48 kHz that holds nothing above 8 kHz costs less in the 16 bits it has than as floats."""
    codec = registry.open_codec("opus_16k")
    clip = real_speech(48000, 5)
    assert codec.encode(on_16_bits(clip), 48000).bits < 0.95 * codec.encode(clip, 48000).bits


@pytest.mark.sample(5, among="delay of Opus")
@pytest.mark.network
@pytest.mark.sample(2, over="taken")
@pytest.mark.parametrize("taken", sorted({*TAKEN.values()}))
@pytest.mark.parametrize("name", OPUS)
def test_the_delay_is_that_of_the_rate_which_the_encoder_gets(name: str, taken: int) -> None:
    """At each rate of the encoder speech comes back within a sample, at 48 kHz, of where it was, mono and stereo."""
    codec = LibavCodec(registry.card(name).model_copy(update={"encoder_rates": (taken,)}))
    for channels in (1, 2):
        clip = on_16_bits(real_speech(48000, 5, channels))
        lag, correlation = waveform_lag(clip, codec.decode(codec.encode(clip, 48000)), 48000)
        assert abs(lag) <= 1, f"{channels} channels: lag of {lag} samples"
        assert correlation > 0.75


@pytest.mark.network
@pytest.mark.sample(2, over="rate")
@pytest.mark.parametrize("rate", TAKEN)
@pytest.mark.parametrize("name", ["opus_6k", "opus_24k", "opus_128k"])
def test_opus_keeps_length_and_level_at_every_rate(name: str, rate: int) -> None:
    """Whatever rate the encoder gets, a clip comes back as long and as loud, up to its last half second."""
    codec = registry.open_codec(name)
    for channels in (1, 2):
        clip = on_16_bits(real_speech(rate, 3, channels))
        resynthesis = codec.decode(codec.encode(clip, rate))
        assert resynthesis.shape == clip.shape
        assert np.abs(level_differences(clip, resynthesis, rate)).max() < 6


def test_the_nearest_rate_loses_nothing_where_there_is_one() -> None:
    """The lowest rate that is not below the clip's, else the highest."""
    card = registry.card("opus_16k")
    assert {rate: nearest_rate(rate, card.encoder_rates) for rate in TAKEN} == TAKEN


def test_batches_take_the_same_way() -> None:
    """Several clips of one rate have the payloads of each alone."""
    codec = registry.open_codec("opus_12k")
    clips = [on_16_bits(0.1 * np.random.default_rng(n).standard_normal((1, n)).astype(np.float32)) for n in (500, 900)]
    assert codec.encode_batch(clips, 16000) == [codec.encode(clip, 16000) for clip in clips]


def test_sixteen_bits_are_told_from_more() -> None:
    """Every step of the 16-bit scale is on it; a half step and full scale itself are not, wherever they stand."""
    grid = np.arange(-32768, 32768, dtype=np.float32)[None] / np.float32(32768)
    assert is_16_bit(grid)
    assert is_16_bit(np.zeros((2, PIECE + 1), dtype=np.float32))
    for value in (0.5 / 32768, 1.0, -1.5, 256.0):
        late = np.zeros((2, PIECE + 5), dtype=np.float32)
        late[1, -1] = value
        assert not is_16_bit(late), value
        round_to_16_bit(late)
        assert is_16_bit(late)
        assert np.count_nonzero(late) <= 1


def test_the_card_says_which_rates_the_encoder_takes() -> None:
    """Opus takes those of libopus, and its decoder gives 48 kHz; rates that no encoder has are refused at once."""
    card = registry.card("opus_16k")
    assert (card.encoder_rates, card.sampling_rate) == ((8000, 12000, 16000, 24000, 48000), 48000)
    with pytest.raises(RefusedSetting, match=r"libopus has no 44100 Hz, only \[8000, 12000, 16000, 24000, 48000\]"):
        LibavCodec(card.model_copy(update={"encoder_rates": (44100,)}))
    with pytest.raises(RefusedSetting, match=r"libopus takes .*\(flt, s16\), got s16p"):
        LibavCodec(card.model_copy(update={"settings": {**card.settings, "pcm16_format": "s16p"}}))
    with pytest.raises(RefusedSetting, match="no encoder_rates, since Delayed encodes at the card's rate alone"):
        Delayed(make_card(encoder_rates=(8000, 16000)))


@pytest.mark.parametrize("fields", [{"encoder_rates": (16000, 8000)}, {"encoder_rates": (8000,), "input_rate": True}])
def test_rates_out_of_order_are_no_card(fields: dict[str, object]) -> None:
    """Rates ascend, and a codec that works at every rate names none."""
    with pytest.raises(ValueError, match="expected encoder_rates in ascending order, and none beside input_rate"):
        make_card(**fields)
