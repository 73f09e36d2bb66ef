"""read_audio: what comes out of good files, and the reason that comes with bad ones."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES, read_audio
from codec_superb.data_manifests.errors import AudioFileError


def _write_with_ffmpeg(path: Path, codec: str, audio: NDArray[np.float32], rate: int) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="stereo")
        stream.bit_rate = 128_000
        stream.codec_context.open()
        wanted = stream.codec_context.format.name
        resampler = av.AudioResampler(wanted, "stereo", rate, frame_size=stream.codec_context.frame_size or 1024)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(audio.T), format="fltp", layout="stereo")
        frame.rate = rate
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(ready))
        container.mux(stream.encode(None))


def _half(path: Path) -> Path:
    content = path.read_bytes()
    short = path.with_name("half" + path.suffix)
    short.write_bytes(content[: len(content) // 2])
    return short


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.aiff", "a.au", "a.caf", "a.w64", "a.rf64"])
def test_lossless_files_come_back_as_they_are(tmp_path: Path, name: str) -> None:
    """Samples, channel order and rate are those of the file."""
    audio = noise(0.2, 22_050, channels=2)
    soundfile.write(tmp_path / name, audio, 22_050, subtype="PCM_24")
    read, rate = read_audio(tmp_path / name)
    assert (rate, read.shape, read.dtype) == (22_050, (2, len(audio)), np.float32)
    assert read.flags.c_contiguous
    np.testing.assert_allclose(read, audio.T, atol=2**-23)


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.m4a", "aac"), ("a.wma", "wmav2"), ("a.mka", "libopus"), ("a.wv", "wavpack"), ("a.mp3", "mp3")],
)
def test_lossy_and_other_formats_are_decoded(tmp_path: Path, name: str, codec: str) -> None:
    """What libsndfile does not know, FFmpeg decodes, to about the same sound."""
    audio = noise(0.5, 48_000, channels=2)
    _write_with_ffmpeg(tmp_path / name, codec, audio, 48_000)
    read, rate = read_audio(tmp_path / name)
    assert rate == 48_000
    assert read.shape[0] == 2
    assert abs(read.shape[1] - len(audio)) < 0.1 * rate
    assert 0.5 < np.std(read) / np.std(audio) < 1.5


@pytest.mark.parametrize(
    ("samples", "channels", "rate"),
    [(1, 1, 16_000), (700, 10, 7_000), (4_800, 1, 192_000), (3, 2, 8_000)],
    ids=["one sample", "ten channels at 7 kHz", "192 kHz", "three samples"],
)
def test_unusual_files_are_read(tmp_path: Path, samples: int, channels: int, rate: int) -> None:
    """Length, channels and rate have no bounds here: what a codec cannot take is the codec's affair."""
    soundfile.write(tmp_path / "a.wav", noise(samples / rate, rate, channels), rate)
    read, read_rate = read_audio(tmp_path / "a.wav")
    assert (read.shape, read_rate) == ((channels, samples), rate)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("silent", np.zeros_like),
        ("DC", lambda x: np.full_like(x, 0.25)),
        ("clipped", lambda x: np.clip(x * 100, -1, 1)),
        ("beyond full scale", lambda x: x * 50),
    ],
)
def test_strange_sound_is_sound(
    tmp_path: Path, kind: str, make: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> None:
    """Silence, DC, clipping and float samples beyond ±1 are returned unchanged."""
    audio = make(noise(0.1))
    soundfile.write(tmp_path / "a.wav", audio, 16_000, subtype="FLOAT")
    np.testing.assert_array_equal(read_audio(tmp_path / "a.wav")[0], audio.T)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".aiff", ".au", ".caf", ".w64", ".rf64", ".ogg", ".mp3"])
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str) -> None:
    """Half a file is never taken for a whole one."""
    path = tmp_path / f"a{suffix}"
    soundfile.write(path, noise(1.0, 48_000, 2), 48_000)
    read_audio(path)
    with pytest.raises(AudioFileError, match=r"truncated: .*promise|damaged: "):
        read_audio(_half(path))


@pytest.mark.parametrize(
    ("name", "codec"), [("a.m4a", "aac"), ("a.wma", "wmav2"), ("a.mka", "libopus"), ("a.wv", "wavpack")]
)
def test_a_truncated_file_of_ffmpeg_is_refused(tmp_path: Path, name: str, codec: str) -> None:
    """The same for formats that only FFmpeg reads."""
    _write_with_ffmpeg(tmp_path / name, codec, noise(1.0, 48_000, 2), 48_000)
    read_audio(tmp_path / name)
    with pytest.raises(AudioFileError, match=r"truncated|can decode it"):
        read_audio(_half(tmp_path / name))


def test_a_flac_file_with_a_flipped_byte_is_refused(tmp_path: Path) -> None:
    """A frame whose checksum is wrong is an error, not a click."""
    soundfile.write(tmp_path / "a.flac", noise(1.0), 16_000)
    content = bytearray((tmp_path / "a.flac").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "a.flac").write_bytes(content)
    with pytest.raises(AudioFileError, match="damaged"):
        read_audio(tmp_path / "a.flac")


def test_a_wav_from_a_pipe_is_read(tmp_path: Path) -> None:
    """A length of all ones means that the writer did not know it: such files are whole."""
    content = bytearray(wav_bytes(noise(0.1)))
    position = content.index(b"data") + 4
    content[position : position + 4] = struct.pack("<I", 0xFFFFFFFF)
    (tmp_path / "a.wav").write_bytes(content)
    assert read_audio(tmp_path / "a.wav")[0].shape == (1, 1600)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", r"empty \(0 bytes\)"),
        (b"RIFF", "neither libsndfile nor FFmpeg"),
        (b"hello, I am a text\n" * 50, "neither libsndfile nor FFmpeg"),
        (wav_bytes(noise(0.0)), "0 samples"),
        (wav_bytes(noise(0.1))[:44], "promises 3200 bytes more"),
        (b"OggS" + bytes(10), "promises"),
        (b".snd", "neither libsndfile nor FFmpeg"),
    ],
    ids=["empty", "four bytes", "text", "no samples", "header only", "piece of Ogg", "piece of AU"],
)
def test_what_is_no_audio_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    """The text names the file and says what is wrong with it."""
    path = tmp_path / "odd.wav"
    path.write_bytes(content)
    with pytest.raises(AudioFileError, match=reason) as caught:
        read_audio(path)
    assert "odd.wav" in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_with_their_place(tmp_path: Path, value: float) -> None:
    """One bad sample would turn every metric of the clip into NaN."""
    audio = noise(0.1, channels=2)
    audio[100, 1] = value
    soundfile.write(tmp_path / "a.wav", audio, 16_000, subtype="FLOAT")
    with pytest.raises(AudioFileError, match="1 samples are NaN or infinite, the first at sample 100"):
        read_audio(tmp_path / "a.wav")


def test_a_missing_file_a_folder_and_a_link_to_nothing_are_refused(tmp_path: Path) -> None:
    """Each is an AudioFileError with the system's reason."""
    (tmp_path / "folder.wav").mkdir()
    (tmp_path / "link.wav").symlink_to("nowhere")
    for name, reason in [("none.wav", "no such file"), ("folder.wav", "is a directory"), ("link.wav", "no such file")]:
        with pytest.raises(AudioFileError, match=reason):
            read_audio(tmp_path / name)


@pytest.mark.parametrize("name", [b"caf\xe9\n%d.wav", b"concat:x.wav", b" .wav", "日本.wav".encode()])
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, name: bytes) -> None:
    """Bytes that are no UTF-8, line feeds, and names that look like FFmpeg's protocols or patterns are read."""
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(wav_bytes(noise(0.1)))
    assert read_audio(path)[1] == 16_000


def test_the_ending_of_a_name_does_not_matter(tmp_path: Path) -> None:
    """A FLAC file that is called .mp3 is read by its content."""
    (tmp_path / "a.mp3").write_bytes(wav_bytes(noise(0.1), format="FLAC"))
    assert read_audio(tmp_path / "a.mp3")[0].shape == (1, 1600)


def test_endings_are_lower_case_and_begin_with_a_dot() -> None:
    """They are compared with the lower-case ending of a name."""
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in AUDIO_SUFFIXES)
    assert {".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus"} <= AUDIO_SUFFIXES
