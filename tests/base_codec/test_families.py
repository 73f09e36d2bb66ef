"""Wrappers of FFmpeg, Codec 2 and LC3: refused settings, broken payloads, and what each of them must not do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pycodec2
import pytest
from support.codecs.cards import make_card

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.codec2 import Codec2
from codec_superb.base_codec.families.lc3 import Lc3Codec
from codec_superb.base_codec.families.libav import LibavCodec
from codec_superb.base_codec.families.pcm import SAMPLE_FORMATS, from_pcm, to_format, to_int16, to_int24, to_uint8

TONE = (0.3 * np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)).astype(np.float32)[None]


def changed(name: str, settings: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Return a catalogue card with other settings."""
    card = registry.card(name)
    return card.model_copy(update={"settings": {**card.settings, **(settings or {})}, **fields})


@pytest.mark.parametrize(
    ("name", "settings", "fields", "message"),
    [
        ("amrnb_12.2k", {"bit_rate": 12000}, {}, r"no 12000 bit/s, only \[4750, 5150"),
        ("mp3_64k", {"bit_rate": 63000}, {}, "no 63000 bit/s"),
        ("ac3_64k", {"bit_rate": 1000}, {}, r"no 1000 bit/s, only \[32000"),
        ("g723_1_6.3k", {"bit_rate": 5300}, {}, r"no 5300 bit/s, only \[6300\]"),
        ("opus_12k", {}, {"sampling_rate": 44100}, r"no 44100 Hz, only \[8000, 12000, 16000, 24000, 48000\]"),
        ("opus_12k", {"application": "voip"}, {}, "application"),
        ("opus_12k", {"encoder": "libnothing"}, {}, "no encoder libnothing"),
        ("opus_12k", {"decoder": "libnothing"}, {}, "no decoder libnothing"),
        ("opus_12k", {"encoder": "libdav1d"}, {}, "libdav1d"),
        ("opus_12k", {"sample_format": "u8"}, {}, r"a sample_format that libopus takes .*\(flt, s16\), got u8"),
        ("opus_12k", {"encoder": "pcm_s64le"}, {}, r"pcm_s64le takes .*\(there is none\), got"),
        ("opus_12k", {}, {"channels": (1, 6)}, r"expected 1 or 2 channels, got \[6\]"),
    ],
)
def test_libav_refuses_what_the_codec_lacks(name: str, settings: Any, fields: Any, message: str) -> None:
    """A bitrate, rate, channel count or name that does not exist is refused when the codec is made."""
    with pytest.raises(RefusedSetting, match=message):
        LibavCodec(changed(name, settings, **fields))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("opus_12k", {"bit_rate": 100}, "libopus refuses 16000 Hz, mono, 100 bit/s"),
        ("opus_12k", {"options": {"vbr": "perhaps"}}, "libopus refuses"),
        ("opus_12k", {"options": {"no_such_option": "1"}}, "libopus has no option no_such_option"),
    ],
)
def test_libav_refusals_name_the_setting(name: str, settings: Any, message: str) -> None:
    """What only the library can judge is refused on first use, with the settings in the text."""
    with pytest.raises(RefusedSetting, match=message):
        LibavCodec(changed(name, settings)).encode(TONE, 16000)


@pytest.mark.parametrize(
    ("name", "kind", "settings", "fields", "message"),
    [
        ("codec2_1300", Codec2, {"mode": 450}, {}, r"the modes \[700, 1200, 1300, 1400, 1600, 2400, 3200\].*got 450"),
        ("codec2_1300", Codec2, {}, {"sampling_rate": 16000}, "8000 Hz, mono; got 1300 at 16000 Hz"),
        ("lc3_32k", Lc3Codec, {"bit_rate": 8000}, {}, "frames of 10 bytes"),
        ("lc3_32k", Lc3Codec, {"bit_rate": 16000}, {}, "each of 2 channels, LC3 has whole ones from 20 to 400"),
        ("lc3_32k", Lc3Codec, {}, {"sampling_rate": 44100}, "liblc3 refuses 44100 Hz"),
        ("lc3_32k", Lc3Codec, {"frame_duration_us": 3000}, {}, "3000"),
        ("lc3_32k", Lc3Codec, {}, {"delay_samples": 0}, "states a delay of 40 samples, not 0"),
        ("lc3_32k", Lc3Codec, {"bitrate": 1}, {}, "bitrate"),
    ],
)
def test_speech_coders_refuse_what_they_lack(name: str, kind: Any, settings: Any, fields: Any, message: str) -> None:
    """Codec 2 and LC3 refuse other modes, rates, frames and delays when they are made."""
    with pytest.raises(RefusedSetting, match=message):
        kind(changed(name, settings, **fields))


@pytest.mark.parametrize("name", ["opus_12k", "aac_64k", "codec2_1300", "lc3_32k"])
def test_a_payload_cut_short_fails(name: str) -> None:
    """A payload with a byte missing raises CodingFailed; it is not decoded to something."""
    codec = registry.open_codec(name)
    encoded = codec.encode(TONE, 16000)
    assert isinstance(encoded.payload, bytes)
    with pytest.raises(CodingFailed, match="expected"):
        codec.decode(replace(encoded, payload=encoded.payload[:-1]))
    with pytest.raises(CodingFailed, match="expected"):
        codec.decode(replace(encoded, payload=b"", frames=()))


@pytest.mark.parametrize("name", ["opus_12k", "mp3_64k", "wma_64k", "g711_alaw", "codec2_1300", "lc3_32k"])
def test_missing_packets_fail(name: str) -> None:
    """Half of the packets do not decode to a whole clip: that raises and is never filled up."""
    codec = registry.open_codec(name)
    encoded = codec.encode(TONE, 16000)
    assert isinstance(encoded.payload, bytes)
    kept = encoded.frames[: len(encoded.frames) // 2]
    with pytest.raises(CodingFailed, match="lost audio"):
        codec.decode(replace(encoded, payload=encoded.payload[: sum(kept)], frames=kept))


def test_garbage_fails_where_the_format_can_tell() -> None:
    """Packets of noise raise CodingFailed with FFmpeg's reason."""
    codec = registry.open_codec("flac")
    encoded = codec.encode(TONE, 16000)
    garbage = np.random.default_rng(0).bytes(sum(encoded.frames))
    with pytest.raises(CodingFailed, match="flac could not decode"):
        codec.decode(replace(encoded, payload=garbage))


def test_tokens_are_not_packets() -> None:
    """A token array given to a packet codec is refused with its type."""
    codec = registry.open_codec("opus_12k")
    encoded = codec.encode(TONE, 16000)
    with pytest.raises(CodingFailed, match="expected a payload of bytes, got ndarray"):
        codec.decode(replace(encoded, payload=np.zeros((1, 4), dtype=np.int64)))


def test_codec2_noise_does_not_depend_on_earlier_clips() -> None:
    """A process that has decoded other clips, also through pycodec2, gives the samples that a fresh process gives."""
    program = (
        "import hashlib, numpy as np\n"
        "from codec_superb.base_codec import registry\n"
        "codec = registry.open_codec('codec2_700')\n"
        "clip = (0.1 * np.random.default_rng(5).standard_normal((1, 8000))).astype(np.float32)\n"
        "print(hashlib.sha256(codec.decode(codec.encode(clip, 8000)).tobytes()).hexdigest())\n"
    )
    fresh = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    outer = pycodec2.Codec2(700)
    codec = registry.open_codec("codec2_700")
    clip = (0.1 * np.random.default_rng(5).standard_normal((1, 8000))).astype(np.float32)
    encoded = codec.encode(clip, 8000)
    for _ in range(3):
        outer.decode(encoded.payload[:4])
        codec.decode(codec.encode(TONE, 16000))
    import hashlib

    assert hashlib.sha256(codec.decode(encoded).tobytes()).hexdigest() == fresh


def test_codec2_sends_the_bits_that_pycodec2_sends() -> None:
    """Our calls into libcodec2 give, frame by frame, the bytes of pycodec2's own encoder."""
    speechlike = to_int16(TONE[0, :8000] * np.linspace(0.1, 1, 8000, dtype=np.float32))
    for mode in (700, 1200, 1300, 1400, 1600, 2400, 3200):
        own = registry.open_codec(f"codec2_{mode}")
        encoder = pycodec2.Codec2(mode)
        frame = encoder.samples_per_frame()
        padded = np.pad(speechlike, (0, own.card.delay_samples))
        padded = np.pad(padded, (0, -padded.size % frame))
        expected = b"".join(encoder.encode(padded[start : start + frame]) for start in range(0, padded.size, frame))
        encoded = own.encode(from_pcm(speechlike)[None], 8000)
        assert encoded.payload == expected
        assert encoded.bits == len(encoded.frames) * encoder.bits_per_frame()


def test_amrnb_counts_speech_bits_only() -> None:
    """At 12.2 kbit/s a frame of 20 ms counts 244 bits, although it is stored in 32 octets."""
    encoded = registry.open_codec("amrnb_12.2k").encode(TONE, 16000)
    assert set(encoded.frames) == {32}
    assert encoded.bits == 244 * len(encoded.frames)


def test_full_scale_stereo_dc_is_coded_by_lc3() -> None:
    """A stuck converter, both channels at full scale, is coded; lc3py's own stereo call refuses it."""
    stuck = np.ones((2, 3200), dtype=np.float32)
    codec = registry.open_codec("lc3_32k")
    assert codec.decode(codec.encode(stuck, 16000)).shape == stuck.shape


def test_sample_formats_share_one_grid() -> None:
    """16- and 24-bit PCM return values on their grid exactly, saturate beyond full scale, and floats pass unchanged."""
    grid16 = np.arange(-32768, 32768, 7, dtype=np.float32)[None] / 32768
    assert np.array_equal(from_pcm(to_int16(grid16)), grid16)
    assert np.array_equal(from_pcm(to_int24(grid16)), grid16)
    over = np.array([[-3.0, 3.0]], dtype=np.float32)
    assert to_int16(over).tolist() == [[-32768, 32767]]
    assert to_int24(over).tolist() == [[-(2**31), (2**23 - 1) * 256]]
    assert to_format(over, "fltp") is over


@pytest.mark.parametrize("sample_format", sorted(SAMPLE_FORMATS))
def test_every_sample_format_comes_back_within_half_a_step(sample_format: str) -> None:
    """Sound on the grid of 8 bits is on that of every format, and silence is silence in all of them."""
    grid = np.arange(-128, 128, dtype=np.float32)[None] / 128
    assert np.array_equal(from_pcm(to_format(grid, sample_format)), grid)
    assert to_uint8(np.array([[-3.0, 0.0, 3.0]], dtype=np.float32)).tolist() == [[0, 128, 255]]


@pytest.mark.parametrize("encoder", ["pcm_u8", "pcm_s8", "pcm_s8_planar", "pcm_f64le", "pcm_s16be_planar"])
@pytest.mark.parametrize("channels", [1, 2])
def test_an_entry_is_enough_for_what_ffmpeg_encodes(encoder: str, channels: int) -> None:
    """A card that names encoder, decoder and sample format is a whole codec, to half a step of its resolution."""
    kind = {"pcm_u8": "u8", "pcm_s8": "u8", "pcm_s8_planar": "u8p", "pcm_f64le": "dbl", "pcm_s16be_planar": "s16p"}
    settings = {"encoder": encoder, "decoder": encoder, "sample_format": kind[encoder], "granule": 1}
    codec = LibavCodec(make_card(sampling_rate=16000, channels=(1, 2), delay_samples=0, settings=settings))
    clip = np.repeat(TONE, channels, axis=0)
    encoded = codec.encode(clip, 16000)
    assert encoded.bits == clip.size * {"u": 8, "d": 64, "s": 16}[kind[encoder][0]]
    assert np.abs(codec.decode(encoded) - clip).max() <= 0.5 / 128


def test_a_card_of_another_rate_is_noticed_at_the_decoder() -> None:
    """A decoder that answers with another rate than the card's raises; sound is never returned at a wrong pitch."""
    codec = LibavCodec(changed("mp3_64k"))
    encoded = codec.encode(TONE, 16000)
    other = LibavCodec(changed("mp3_64k", sampling_rate=48000))
    with pytest.raises(CodingFailed, match="returned 44100 Hz, expected 48000 Hz"):
        other.decode(encoded)


@pytest.mark.parametrize(
    "name", ["g726_16k", "g726_24k", "g726_32k", "g726_40k", "g722_64k", "ima_adpcm_32k", "g711_alaw", "sbc_64k"]
)
def test_overload_does_not_wrap_around(name: str) -> None:
    """The flat tops of a clipped 100 Hz tone with noise keep their sign: nothing jumps to the other end."""
    codec = registry.open_codec(name)
    own = codec.card.sampling_rate
    tone = 1.5 * np.sin(2 * np.pi * 100 * np.arange(own) / own) + 0.1 * np.random.default_rng(1).standard_normal(own)
    clipped = np.clip(tone, -1, 1).astype(np.float32)[None]
    tops = np.abs(tone) > 1.2
    assert (codec.decode(codec.encode(clipped, own))[:, tops] * clipped[:, tops]).min() > 0


def test_settings_of_another_family_are_refused() -> None:
    """A card without an encoder is refused by the FFmpeg wrapper, field by field."""
    with pytest.raises(RefusedSetting, match="encoder"):
        LibavCodec(make_card())
