"""Samples as integers: exact decoding, cutting, joining, storing, hashing."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests.audio.samples import (
    JOIN_SECONDS,
    Samples,
    cut,
    decode_exactly,
    hash_samples,
    join,
    samples_sha256,
    write_flac,
)
from codec_superb.data_manifests.errors import AudioFileError, ManifestError


def _decoded(seconds: float = 0.5, rate: int = 16_000, channels: int = 1, subtype: str = "PCM_16") -> Samples:
    return decode_exactly(wav_bytes(noise(seconds, rate, channels), rate, subtype=subtype), "a.wav")


@pytest.mark.parametrize(("subtype", "bits"), [("PCM_16", 16), ("PCM_24", 24), ("PCM_U8", 16)])
def test_stored_samples_are_those_of_the_source(tmp_path: Path, subtype: str, bits: int) -> None:
    """Decode, store and read again: bit for bit the same, at the source's own resolution."""
    samples = _decoded(subtype=subtype, channels=2, rate=44_100)
    assert samples.bits == bits
    write_flac(tmp_path / "new" / "a.flac", samples)
    assert soundfile.info(tmp_path / "new" / "a.flac").subtype == f"PCM_{bits}"
    read, rate = soundfile.read(tmp_path / "new" / "a.flac", dtype="int32", always_2d=True)
    np.testing.assert_array_equal(read, samples.data)
    assert rate == 44_100


def test_the_hash_is_of_the_sound_and_not_of_the_file(tmp_path: Path) -> None:
    """16 and 24 bits, FLAC and WAV, any encoder: one hash; another sample, rate or channel count: another."""
    samples = _decoded()
    write_flac(tmp_path / "a.flac", samples)
    soundfile.write(tmp_path / "b.flac", samples.data, 16_000, subtype="PCM_24", compression_level=1.0)
    soundfile.write(tmp_path / "c.wav", samples.data, 16_000, subtype="PCM_32")
    hashes = {samples_sha256(tmp_path / name) for name in ("a.flac", "b.flac", "c.wav")}
    assert hashes == {hash_samples(samples.data, 16_000)}
    changed = samples.data.copy()
    changed[100] += 1 << 16
    assert hash_samples(changed, 16_000) not in hashes
    assert hash_samples(samples.data, 16_001) not in hashes
    assert hash_samples(np.repeat(samples.data, 2, axis=1), 16_000) not in hashes


def test_the_hash_is_what_it_always_was() -> None:
    """Manifests hold such hashes: the layout that is hashed must never change."""
    data = np.array([[1 << 16, -1 << 16]], dtype=np.int32)
    expected = hashlib.sha256(b"8000 2\n" + bytes([0, 0, 1, 0]) + bytes([0, 0, 255, 255])).hexdigest()
    assert hash_samples(data, 8000) == expected


def test_mp3_decodes_to_integers(tmp_path: Path) -> None:
    """The fixed-point decoder gives 16-bit samples close to the sound that went in."""
    audio = noise(1.0, 44_100, 2)
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, 44_100, format="MP3", bitrate_mode="CONSTANT", compression_level=0.0)
    samples = decode_exactly(buffer.getvalue(), "a.MP3")
    assert (samples.rate, samples.bits, samples.data.shape[1]) == (44_100, 16, 2)
    assert not np.any(samples.data & 0xFFFF)
    loudness = np.std(samples.data / 2.0**31) / np.std(audio)
    assert loudness == pytest.approx(1.0, abs=0.1)


def test_a_cut_is_exact() -> None:
    """Start and duration are rounded to samples; nothing is faded."""
    samples = _decoded()
    piece = cut(samples, 0.1, 0.25, "a")
    np.testing.assert_array_equal(piece.data, samples.data[1600:5600])
    assert piece.seconds == 0.25
    np.testing.assert_array_equal(cut(samples, 0.1, None, "a").data, samples.data[1600:])


@pytest.mark.parametrize(("start", "duration"), [(0.6, None), (0.4, 0.2), (0.0, 0.502)])
def test_a_cut_beyond_the_end_is_refused(start: float, duration: float | None) -> None:
    """A clip that is shorter than its manifest says would be another clip."""
    with pytest.raises(ManifestError, match=r"clip a: expected .* got a recording of 0\.500 s"):
        cut(_decoded(), start, duration, "a")


def test_joined_recordings_have_a_silence_between_them() -> None:
    """Nothing stands before the first and after the last."""
    first, second = _decoded(0.1), _decoded(0.2)
    joined = join([first, second], "a")
    gap = round(JOIN_SECONDS * 16_000)
    np.testing.assert_array_equal(joined.data[:1600], first.data)
    assert not joined.data[1600 : 1600 + gap].any()
    np.testing.assert_array_equal(joined.data[1600 + gap :], second.data)


def test_only_like_recordings_are_joined() -> None:
    """Another rate would change the pitch without a word."""
    with pytest.raises(ManifestError, match="one rate, resolution and channel count"):
        join([_decoded(rate=16_000), _decoded(rate=8_000)], "a")


@pytest.mark.parametrize(
    ("content", "name", "complaint"),
    [
        (b"no audio", "a.wav", r"a\.wav: cannot be decoded"),
        (b"no audio" * 100, "a.mp3", r"a\.mp3: cannot be decoded"),
        (wav_bytes(noise(0.1), subtype="FLOAT"), "a.wav", "expected integer PCM, got FLOAT"),
    ],
)
def test_a_member_that_cannot_be_decoded_exactly_is_refused(content: bytes, name: str, complaint: str) -> None:
    """The member is named with the reason."""
    with pytest.raises(AudioFileError, match=complaint):
        decode_exactly(content, name)


def test_a_stored_clip_that_is_damaged_has_no_hash(tmp_path: Path) -> None:
    """The hash of half a clip would be an answer to another question."""
    write_flac(tmp_path / "a.flac", _decoded())
    content = (tmp_path / "a.flac").read_bytes()
    (tmp_path / "a.flac").write_bytes(content[: len(content) // 2])
    with pytest.raises(AudioFileError, match="cannot read"):
        samples_sha256(tmp_path / "a.flac")
