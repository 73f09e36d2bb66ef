"""Speech coders frame by frame: sizes of the standards, other decoders of the same bits, and frames that are lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest
from support.codecs.every_codec import waveform_lag
from support.codecs.opening import opened
from support.speech import real_speech

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.amrwb import AmrWb
from codec_superb.base_codec.families.frames import FrameCodec
from codec_superb.base_codec.families.g729 import G729
from codec_superb.base_codec.families.gsm import Gsm
from codec_superb.base_codec.families.ilbc import Ilbc
from codec_superb.base_codec.families.speex import Speex
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Encoded
from codec_superb.base_codec.packets import split_packets

pytestmark = pytest.mark.network

SIZES = {
    # ETSI GSM 06.10: 260 bits in 20 ms; libsndfile puts four bits before them
    "gsm_13k": (Fraction(20), 260, 33),
    # 3GPP TS 26.201, table 2; an octet of storage header (RFC 4867) before them
    "amrwb_6.6k": (Fraction(20), 132, 18), "amrwb_8.85k": (Fraction(20), 177, 24),
    "amrwb_12.65k": (Fraction(20), 253, 33), "amrwb_14.25k": (Fraction(20), 285, 37),
    "amrwb_15.85k": (Fraction(20), 317, 41), "amrwb_18.25k": (Fraction(20), 365, 47),
    "amrwb_19.85k": (Fraction(20), 397, 51), "amrwb_23.05k": (Fraction(20), 461, 59),
    "amrwb_23.85k": (Fraction(20), 477, 61),
    # The Speex Codec Manual: bits of each mode
    "speex_nb_3.95k": (Fraction(20), 79, 10), "speex_nb_5.95k": (Fraction(20), 119, 15),
    "speex_nb_8k": (Fraction(20), 160, 20), "speex_nb_11k": (Fraction(20), 220, 28),
    "speex_nb_15k": (Fraction(20), 300, 38), "speex_nb_24.6k": (Fraction(20), 492, 62),
    "speex_wb_7.75k": (Fraction(20), 155, 20), "speex_wb_12.8k": (Fraction(20), 256, 32),
    "speex_wb_16.8k": (Fraction(20), 336, 42), "speex_wb_20.6k": (Fraction(20), 412, 52),
    "speex_wb_27.8k": (Fraction(20), 556, 70), "speex_wb_42.2k": (Fraction(20), 844, 106),
    # ITU-T G.729: 80 bits in 10 ms
    "g729_8k": (Fraction(10), 80, 10),
    # RFC 3951, section 3: 304 bits in 20 ms, 400 in 30 ms
    "ilbc_15.2k": (Fraction(20), 304, 38), "ilbc_13.33k": (Fraction(30), 400, 50),
}  # fmt: skip
"""Milliseconds of a frame, its bits, and the bytes of its packet."""
CONCEALING = [name for name in SIZES if name != "gsm_13k"]


def coded(name: str, seconds: float = 2) -> tuple[Audio, Encoded]:
    """Return speech at the codec's own rate, and what the codec makes of it."""
    codec = opened(name)
    speech = real_speech(codec.card.sampling_rate, seconds)
    return speech, codec.encode(speech, codec.card.sampling_rate)


def by_ffmpeg(decoder: str, name: str, encoded: Encoded) -> Audio:
    """Decode packets by another implementation than the codec's."""
    context = av.CodecContext.create(decoder, "r")
    context.sample_rate, context.layout = registry.card(name).sampling_rate, "mono"
    context.options = {"block_align": str(encoded.frames[0])}  # by which FFmpeg knows iLBC's two modes apart
    assert isinstance(encoded.payload, bytes)
    packets = split_packets(encoded.payload, encoded.frames)
    frames = [frame.to_ndarray().reshape(1, -1) for packet in packets for frame in context.decode(av.Packet(packet))]
    sound = np.concatenate(frames, axis=1)
    return (sound / np.float32(2**15) if sound.dtype == np.int16 else sound).astype(np.float32)


def decoded(name: str, encoded: Encoded) -> Audio:
    """Return what the codec's own decoder gives, with the delay in it."""
    codec = opened(name)
    return codec._decode(*codec._received(encoded))


@pytest.mark.parametrize("name", SIZES)
def test_frames_have_the_bits_of_the_standard(name: str) -> None:
    """Every frame of speech is as long as the standard says, in bits and in octets, and the rate is theirs."""
    milliseconds, bits, octets = SIZES[name]
    _, encoded = coded(name)
    assert set(encoded.frames) == {octets}
    assert encoded.bits == bits * len(encoded.frames)
    assert len(encoded.frames) in {-(-2000 // milliseconds) + more for more in (0, 1)}
    kbps = registry.card(name).nominal_kbps
    assert kbps is not None
    assert kbps == pytest.approx(float(bits / milliseconds), rel=5e-4)


@pytest.mark.parametrize(
    ("name", "decoder", "closest"),
    [
        ("gsm_13k", "gsm", 1.0),
        ("amrwb_6.6k", "amrwb", 0.995), ("amrwb_12.65k", "amrwb", 0.998), ("amrwb_23.85k", "amrwb", 0.998),
        ("speex_nb_5.95k", "speex", 0.9999), ("speex_nb_15k", "speex", 0.9999),
        # bcg729's postfilter is that of Annex A, FFmpeg's that of the main body
        ("g729_8k", "g729", 0.99),
    ],
)  # fmt: skip
def test_another_decoder_gives_the_same_sound(name: str, decoder: str, closest: float) -> None:
    """FFmpeg's own decoders, written from the standards, make nearly the same waveform of our packets."""
    _, encoded = coded(name)
    other = by_ffmpeg(decoder, name, encoded)
    own = decoded(name, encoded)[:, : other.shape[1]]
    assert np.corrcoef(own[0], other[0])[0, 1] > closest or np.array_equal(own, other)


@pytest.mark.parametrize(("name", "late"), [("ilbc_15.2k", 40), ("ilbc_13.33k", 80)])
def test_another_decoder_reads_ilbc(name: str, late: int) -> None:
    """FFmpeg's iLBC decoder, which leaves out the enhancer and its delay, finds the speech in our packets.

    Its waveform agrees with libilbc's by 0.6 to 0.7; packets with their bytes swapped give 0.07.
    """
    _, encoded = coded(name)
    other = by_ffmpeg("ilbc", name, encoded)
    lag, correlation = waveform_lag(other, decoded(name, encoded)[:, : other.shape[1]], 8000)
    assert lag == late
    assert correlation > 0.55


@pytest.mark.parametrize(
    "name", ["amrwb_12.65k", "speex_nb_8k", "speex_wb_20.6k", "g729_8k", "ilbc_13.33k", "ilbc_15.2k"]
)
def test_a_lost_frame_is_concealed(name: str) -> None:
    """A frame in the midst of speech is made up, with sound and of the same length; soon after all is as before."""
    codec = opened(name)
    assert isinstance(codec, FrameCodec)
    _, encoded = coded(name)
    assert isinstance(encoded.payload, bytes)
    frames: list[bytes | None] = list(split_packets(encoded.payload, encoded.frames))
    whole = codec.decode_frames(frames)[0].reshape(len(frames), -1)
    assert np.array_equal(whole.reshape(1, -1), decoded(name, encoded))
    loudest = int(np.argmax((whole**2).mean(axis=1)[5:-40])) + 5
    frames[loudest] = None
    holed = codec.decode_frames(frames)[0].reshape(whole.shape)
    assert np.array_equal(holed[:loudest], whole[:loudest])
    lost, made = whole[loudest], holed[loudest]
    assert not np.array_equal(lost, made)
    assert (made**2).mean() > (lost**2).mean() / 100
    # half a second later the decoder's memory has forgotten it
    error, sound = ((part[loudest + 30 :] ** 2).mean() for part in (holed - whole, whole))
    assert error < sound / 100


@pytest.mark.parametrize("name", ["amrwb_12.65k", "speex_nb_8k", "g729_8k", "ilbc_15.2k", "gsm_13k"])
def test_broken_payloads_fail(name: str) -> None:
    """A byte that is missing, half of the packets, and tokens are refused and never decoded to something."""
    codec = opened(name)
    _, encoded = coded(name)
    assert isinstance(encoded.payload, bytes)
    with pytest.raises(CodingFailed, match="expected"):
        codec.decode(replace(encoded, payload=encoded.payload[:-1]))
    with pytest.raises(CodingFailed, match="expected"):
        codec.decode(replace(encoded, payload=b"", frames=()))
    with pytest.raises(CodingFailed, match="expected"):
        codec.decode(replace(encoded, payload=np.zeros((1, 4), dtype=np.int64)))
    kept = encoded.frames[: len(encoded.frames) // 2]
    with pytest.raises(CodingFailed, match="lost audio"):
        codec.decode(replace(encoded, payload=encoded.payload[: sum(kept)], frames=kept))


@pytest.mark.parametrize("name", ["amrwb_12.65k", "g729_8k", "ilbc_15.2k"])
def test_a_short_packet_is_not_read_beyond_its_end(name: str) -> None:
    """A packet of another size than the mode's is refused before a C library reads it."""
    _, encoded = coded(name)
    assert isinstance(encoded.payload, bytes)
    short = (encoded.frames[0] - 1, encoded.frames[1] + 1, *encoded.frames[2:])
    with pytest.raises(CodingFailed, match=r"expected packets of \d+ bytes, got \d+"):
        opened(name).decode(replace(encoded, frames=short))


@pytest.mark.parametrize(
    ("name", "kind", "changes", "message"),
    [
        ("amrwb_6.6k", AmrWb, {"settings": {"bit_rate": 7000}}, r"AMR-WB has \[6600, 8850, .*; got 7000"),
        ("amrwb_6.6k", AmrWb, {"sampling_rate": 8000}, "at 8000 Hz"),
        ("speex_nb_8k", Speex, {"settings": {"quality": 11}}, "the qualities 0 to 10 .*; got 11"),
        ("speex_nb_8k", Speex, {"sampling_rate": 44100}, "at 44100 Hz"),
        ("speex_nb_8k", Speex, {"settings": {"quality": 8}}, "libspeex has 15000 bit/s at quality 8, not 8.0 kbps"),
        ("g729_8k", G729, {"settings": {"annex": "D"}}, "no settings; got {'annex': 'D'}"),
        ("ilbc_15.2k", Ilbc, {"settings": {"frame_ms": 10}}, r"frames of \[20, 30\] ms .*; got 10"),
        ("gsm_13k", Gsm, {"channels": (1, 2)}, r"at 8000 Hz, channels \(1, 2\)"),
    ],
)
def test_settings_that_do_not_exist_are_refused(
    name: str, kind: Callable[..., object], changes: dict[str, object], message: str
) -> None:
    """Another rate, mode or frame than the standard's is refused when the codec is made, with what there is."""
    card = registry.card(name)
    if system.missing(card) and kind is Speex:
        pytest.skip(system.missing(card))
    with pytest.raises(RefusedSetting, match=message):
        kind(card.model_copy(update=changes))


def test_amr_wb_rises_with_its_rate() -> None:
    """The waveform comes closer with each of the nine rates but the last, which spends its bits on the highest band."""
    speech, _ = coded("amrwb_6.6k")
    near = []
    for name in [name for name in SIZES if name.startswith("amrwb")]:
        codec = opened(name)
        near.append(waveform_lag(speech, codec.decode(codec.encode(speech, 16000)), 16000)[1])
    assert near[:8] == sorted(near[:8])
