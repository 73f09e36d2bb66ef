"""Vorbis and Musepack: packets out of their containers, at the clip's own rate, against their own decoders."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.codecs.every_codec import waveform_lag
from support.codecs.opening import opened
from support.speech import real_speech

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.musepack import Musepack
from codec_superb.base_codec.families.pcm import to_int16
from codec_superb.base_codec.families.vorbis import Vorbis

pytestmark = pytest.mark.network

RATES = {8000: 8000, 11025: 11025, 16000: 16000, 22050: 22050, 32000: 32000, 44100: 44100, 48000: 48000, 96000: 48000}


@pytest.mark.parametrize("rate", [16000, 44100])
@pytest.mark.parametrize("channels", [1, 2])
def test_vorbis_is_what_libvorbis_decodes(rate: int, channels: int) -> None:
    """FFmpeg's decoder on bare packets gives what libsndfile reads from the same sound's Ogg file, within rounding."""
    codec = opened("vorbis_q4")
    speech = real_speech(rate, 1, channels)
    file = io.BytesIO()
    padded = np.pad(speech, ((0, 0), (0, round(codec._delay(rate)))))
    soundfile.write(file, padded.T, rate, format="OGG", subtype="VORBIS", compression_level=0.6)
    file.seek(0)
    expected, _ = soundfile.read(file, dtype="float32", always_2d=True)
    resynthesis = codec.decode(codec.encode(speech, rate))
    assert np.abs(resynthesis - expected.T[:, : speech.shape[1]]).max() < 1e-6


def test_vorbis_counts_packets_and_states_its_headers() -> None:
    """An Ogg file is larger than the bits by its pages and by three headers, which are those of ``side``."""
    codec = opened("vorbis_q4")
    speech = real_speech(16000, 10)
    encoded = codec.encode(speech, 16000)
    file = io.BytesIO()
    soundfile.write(file, speech.T, 16000, format="OGG", subtype="VORBIS", compression_level=0.6)
    headers = len(encoded.side)
    assert 3000 < headers < 5000
    pages = len(file.getvalue()) - encoded.bits // 8 - headers
    assert 0 < pages < 0.02 * len(file.getvalue())
    assert encoded.side[4:].count(b"vorbis") == 3
    assert codec.encode(0.5 * speech, 16000).side == encoded.side


@pytest.mark.parametrize("name", ["vorbis_q0", "vorbis_q6"])
def test_vorbis_encodes_at_the_rate_of_the_clip(name: str) -> None:
    """Sound comes back in place at every rate, mono and stereo, and the stream has the clip's rate, or 48 kHz."""
    codec = opened(name)
    for rate, own in RATES.items():
        for channels in (1, 2):
            speech = real_speech(rate, 1, channels)
            encoded = codec.encode(speech, rate)
            assert int.from_bytes(encoded.side[:4], "little") == own
            assert waveform_lag(speech, codec.decode(encoded), rate)[0] == 0, (rate, channels)


def test_musepack_is_what_mpcdec_decodes(tmp_path: Path) -> None:
    """FFmpeg's decoder on bare packets gives what the format's own program makes of the same file, within 16 bits."""
    codec = opened("musepack_q5")
    speech = real_speech(44100, 2)
    source = tmp_path / "speech.wav"
    soundfile.write(source, to_int16(np.pad(speech, ((0, 0), (0, 481)))).T, 44100)
    assert codec.card.system is not None
    subprocess.run(
        [system.find(codec.card.system), "--silent", "--quality", "5.00", source, tmp_path / "speech.mpc"], check=True
    )
    subprocess.run(["mpcdec", tmp_path / "speech.mpc", tmp_path / "back.wav"], check=True, capture_output=True)
    expected, rate = soundfile.read(tmp_path / "back.wav", dtype="float32", always_2d=True)
    assert rate == 44100
    resynthesis = codec.decode(codec.encode(speech, 44100))
    assert np.abs(resynthesis - expected.T[:, : speech.shape[1]]).max() < 3 / 2**15


def test_musepack_refuses_what_no_stream_holds() -> None:
    """A payload with a byte missing and a program that fails raise CodingFailed."""
    codec = opened("musepack_q3")
    encoded = codec.encode(real_speech(44100, 1), 44100)
    assert isinstance(encoded.payload, bytes)
    with pytest.raises(CodingFailed, match="expected packets of"):
        codec.decode(replace(encoded, payload=encoded.payload[:-1]))
    assert isinstance(codec, Musepack)
    broken = Musepack(codec.card)
    broken._command = ("false",)
    with pytest.raises(CodingFailed, match="musepack_q3: mpcenc ended with 1: no words"):
        broken.encode(real_speech(44100, 1), 44100)


def test_qualities_that_do_not_exist_are_refused() -> None:
    """Vorbis and Musepack have the qualities 0 to 10."""
    with pytest.raises(RefusedSetting, match="the qualities 0 to 10, got 11"):
        Vorbis(registry.card("vorbis_q0").model_copy(update={"settings": {"quality": 11}}))
    with pytest.raises(RefusedSetting, match="the qualities 0 to 10, got -1"):
        Musepack(registry.card("musepack_q2").model_copy(update={"settings": {"quality": -1}}))
