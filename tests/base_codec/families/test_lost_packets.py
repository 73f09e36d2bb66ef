"""Lost packets: nothing lost changes nothing; what is lost is concealed, silent or repeated, as the card says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.audio import speech_like
from support.codecs.cards import make_card
from support.codecs.opening import opened
from support.profile import examples

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.opus import OpusCodec
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Encoded, Packets
from codec_superb.base_codec.packets import arrived, last_arrived
from codec_superb.base_codec.registry import card, names, open_codec

CLASSICAL = [name for name in names() if card(name).kind != "neural" and not card(name).isolation]
WITH_PACKETS = [name for name in CLASSICAL if card(name).family != "vorbis"]
RATE = 16000


def _none(codec: Codec, encoded: Encoded) -> NDArray[np.bool_]:
    return np.zeros(codec.packet_times(encoded).size, dtype=np.bool_)


@pytest.mark.parametrize("seconds", [0.3, 1.0, 2.0])
def test_few_packets_without_a_frame_rate_share_the_time(seconds: float) -> None:
    """WavPack's card states none, and a short clip has one or two packets: they begin at equal distances."""
    codec = opened("wavpack")
    times = codec.packet_times(codec.encode(_speech(seconds), RATE))
    assert np.allclose(times, seconds * np.arange(times.size) / times.size)


def _speech(seconds: float = 1.0, channels: int = 1) -> Audio:
    return np.stack([speech_like(seconds, RATE, seed=5 + channel) for channel in range(channels)])


def test_packets_of_two_lengths_are_not_lost() -> None:
    """Vorbis says so before a run begins."""
    codec = opened("vorbis_q4")
    with pytest.raises(RefusedSetting, match=r"vorbis_q4: Vorbis has packets of two lengths.*such as opus_64k"):
        codec.packet_times(codec.encode(_speech(), RATE))


@pytest.mark.parametrize("name", WITH_PACKETS)
@pytest.mark.sample(12, over="name")
def test_nothing_lost_changes_no_sample(name: str) -> None:
    """Without a loss the two decoders give the same, bit by bit, and packets begin in order within the clip."""
    codec = opened(name)
    encoded = codec.encode(_speech(), RATE)
    times = codec.packet_times(encoded)
    assert np.array_equal(codec.decode_lossy(encoded, _none(codec, encoded)), codec.decode(encoded))
    assert times[0] == 0
    assert np.all(np.diff(times) > 0)
    assert times[-1] < 1.5


@pytest.mark.sample(15)
@pytest.mark.parametrize("rate", [8000, 16000, 24000, 44100, 48000])
@pytest.mark.parametrize("name", ["opus_6k", "opus_12k", "opus_24k", "opus_128k"])
@pytest.mark.parametrize("channels", [1, 2])
def test_libopus_called_directly_gives_what_ffmpeg_gives(name: str, rate: int, channels: int) -> None:
    """The same library by two ways: SILK, hybrid and CELT, mono and stereo, at all rates, bit by bit."""
    codec = opened(name)
    assert isinstance(codec, OpusCodec)
    audio = np.stack([speech_like(0.7, rate, seed=channel) for channel in range(channels)])
    encoded = codec.encode(audio, rate)
    assert np.array_equal(codec.decode_lossy(encoded, _none(codec, encoded)), codec.decode(encoded))


@pytest.mark.parametrize("name", ["opus_12k", "opus_64k", "amrnb_12.2k", "lc3_32k"])
def test_a_codec_that_conceals_continues_the_sound(name: str) -> None:
    """In the place of one lost packet is sound, not silence; before it nothing changes; the card says who does it."""
    codec = opened(name)
    assert codec.card.conceals_loss
    audio = _speech(2.0)
    encoded = codec.encode(audio, RATE)
    times, lost = codec.packet_times(encoded), _none(codec, encoded)
    # a loud moment: the middle of a syllable
    place = int(np.argmin(np.abs(times - 0.95)))
    lost[place] = True
    clean, concealed = codec.decode(encoded)[0], codec.decode_lossy(encoded, lost)[0]
    delay = codec.card.delay_samples / codec.card.sampling_rate
    begin, end = (int(RATE * (times[place + step] - delay)) for step in (0, 1))
    # the resampler's filter is as long before as after
    assert np.allclose(concealed[: begin - 200], clean[: begin - 200], atol=1e-4)
    assert not np.array_equal(concealed, clean)
    there = slice(begin, end)
    assert concealed[there].std() > 0.2 * clean[there].std()


@pytest.mark.parametrize("name", ["g711_alaw", "codec2_3200", "mp3_64k", "aac_64k"])
def test_a_codec_that_does_not_is_silent_in_that_place(name: str) -> None:
    """Three packets lost in a row leave silence as long; the sound after them is in its place."""
    codec = opened(name)
    assert codec.card.conceals_loss is None
    assert codec.card.lost_packets == "silence takes the place of a lost packet"
    encoded = codec.encode(_speech(2.0), RATE)
    times, lost = codec.packet_times(encoded), _none(codec, encoded)
    place = lost.size // 2
    lost[place : place + 3] = True
    clean, damaged = codec.decode(encoded)[0], codec.decode_lossy(encoded, lost)[0]
    middle = int(RATE * (times[place + 1] + 0.5 * times[1] - codec.card.delay_samples / codec.card.sampling_rate))
    assert np.abs(damaged[middle - 20 : middle + 20]).max() < 0.02 * np.abs(clean).max()
    tail = slice(int(RATE * (times[place + 3] + 0.2)), None)
    if name != "codec2_3200":  # its phases are drawn anew
        assert np.allclose(damaged[tail], clean[tail], atol=0.01)


@pytest.mark.parametrize("name", ["opus_12k", "amrnb_12.2k", "lc3_32k", "codec2_3200", "mp3_64k", "g711_alaw"])
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 1.0))
@examples(20)
def test_any_pattern_of_losses_gives_a_clip_of_the_right_length(name: str, seed: int, share: float) -> None:
    """Also where the first packets are lost, or all; nothing is NaN, and twice is the same."""
    codec = opened(name)
    encoded = codec.encode(_speech(0.5), RATE)
    lost = np.random.default_rng(seed).random(codec.packet_times(encoded).size) < share
    damaged = codec.decode_lossy(encoded, lost)
    assert damaged.shape == (1, RATE // 2)
    assert np.isfinite(damaged).all()
    assert np.array_equal(damaged, codec.decode_lossy(encoded, lost))
    if lost.all():
        assert not damaged.any()


def test_a_time_step_of_lc3_is_one_packet_of_all_channels() -> None:
    """In stereo a packet holds the frames of both channels, which are lost together."""
    codec = open_codec("lc3_32k", "cpu")
    stereo, mono = (codec.encode(_speech(0.5, channels), RATE) for channels in (2, 1))
    assert len(stereo.frames) == 2 * codec.packet_times(stereo).size
    assert codec.packet_times(stereo).size == codec.packet_times(mono).size
    lost = _none(codec, stereo)
    lost[20] = True
    assert codec.decode_lossy(stereo, lost).shape == (2, RATE // 2)


class _Tokens(Codec):
    """Gives the tokens back as sound: one sample a frame, of the first codebook."""

    def __init__(self) -> None:
        super().__init__(make_card("tokens", codebooks=2, codebook_size=1 << 12, nominal_kbps=384.0))

    def _encode(self, audio: Audio) -> Packets:
        tokens = np.stack([np.arange(audio.shape[1]), np.zeros(audio.shape[1], dtype=int)])
        return Packets(tokens, self.card.bits_of(audio.shape[1]))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return np.asarray(packets.payload)[:1].astype(np.float32)


def test_a_token_codec_repeats_the_last_frame() -> None:
    """A lost frame is the one before that arrived; lost first ones are the first that arrived; a frame is a packet."""
    codec = _Tokens()
    assert codec.card.lost_packets == "the last frame of tokens that arrived is repeated"
    encoded = codec.encode(np.zeros((1, 8), dtype=np.float32), RATE)
    assert np.allclose(codec.packet_times(encoded), np.arange(8) / RATE)
    lost = np.array([1, 1, 0, 0, 1, 1, 0, 1], dtype=bool)
    assert codec.decode_lossy(encoded, lost)[0].tolist() == [2, 2, 2, 3, 3, 3, 6, 6]
    assert codec.decode_lossy(encoded, np.ones(8, dtype=bool))[0].tolist() == [0] * 8


class _Stream(_Tokens):
    """Gives bytes without packets."""

    def __init__(self) -> None:
        Codec.__init__(self, make_card("stream"))

    def _encode(self, audio: Audio) -> Packets:
        return Packets(bytes(audio.shape[1]), 8 * audio.shape[1])


def test_a_stream_without_packets_has_none_to_lose() -> None:
    """Refused in one sentence."""
    codec = _Stream()
    encoded = codec.encode(np.zeros((1, 8), dtype=np.float32), RATE)
    with pytest.raises(RefusedSetting, match="stream: its payload is one stream of bytes, without packets to lose"):
        codec.packet_times(encoded)


def test_wrong_marks_and_damaged_packets_are_refused() -> None:
    """A mark for each packet, and packets that make up the payload."""
    codec = open_codec("opus_12k", "cpu")
    encoded = codec.encode(_speech(0.3), RATE)
    lost = _none(codec, encoded)
    with pytest.raises(RefusedSetting, match="a mark for each packet"):
        codec.decode_lossy(encoded, lost[1:])
    assert isinstance(encoded.payload, bytes)
    with pytest.raises(CodingFailed, match="expected packets of"):
        codec.decode_lossy(replace(encoded, payload=encoded.payload[:-1]), lost)
    nothing = replace(encoded, payload=b"\xff" * len(encoded.payload))
    with pytest.raises(CodingFailed, match="libopus could not decode a packet"):
        codec.decode_lossy(nothing, lost)


def test_a_card_cannot_claim_what_its_class_does_not_do() -> None:
    """``conceals_loss`` needs a decoder that is told of lost packets; cards of the catalogue that have it say how."""

    class Deaf(_Stream):
        def __init__(self, its: Card) -> None:
            Codec.__init__(self, its)

    with pytest.raises(RefusedSetting, match="does nothing about lost packets"):
        Deaf(make_card("deaf", conceals_loss="it does not"))
    families = {card(name).family for name in CLASSICAL if card(name).conceals_loss}
    assert {"opus", "amrnb", "lc3"} <= families


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(lambda marks: not all(marks)))
@examples(100)
def test_what_arrived_last(marks: list[bool]) -> None:
    """Each place gets the nearest place before it that arrived, the first ones the first that did."""
    lost = np.array(marks)
    there = [place for place, gone in enumerate(marks) if not gone]
    expected = [max([each for each in there if each <= place], default=there[0]) for place in range(len(marks))]
    assert last_arrived(lost).tolist() == expected
    pieces = arrived(bytes(range(lost.size)), (1,) * lost.size, lost)
    assert pieces == [None if gone else bytes([place]) for place, gone in enumerate(marks)]
