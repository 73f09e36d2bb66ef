"""Stored resyntheses: 24 bits exactly, whole files only, a name for every id."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from codec_superb.base_codec.fitting import PIECE
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.audio_store import (
    FULL_SCALE,
    digest,
    file_name,
    quantise,
    read_audio,
    write_audio,
)


@pytest.mark.parametrize("rate", [7000, 8000, 44100, 192000])
@pytest.mark.parametrize("samples", [1, 17, 5000])
def test_24_bit_samples_come_back_exactly(tmp_path: Path, rate: int, samples: int) -> None:
    """What 24 bits can hold is stored without loss, at any rate and length."""
    integers = np.random.default_rng(samples).integers(-FULL_SCALE, FULL_SCALE, samples)
    audio = (integers / FULL_SCALE).astype(np.float32)
    stored = write_audio(tmp_path / "deep" / "a.flac", audio, rate)
    back, its_rate = read_audio(tmp_path / "deep" / "a.flac", stored.sha256)
    assert its_rate == rate
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, audio)
    assert stored.clipped_samples == 0


def test_samples_beyond_full_scale_are_clamped_and_counted(tmp_path: Path) -> None:
    """Exactly ±1 is no clipping; beyond it is, and 24 bits hold the nearest they have."""
    audio = np.array([1.0, -1.0, 1.0001, -3.0, 0.5], dtype=np.float32)
    stored = write_audio(tmp_path / "a.flac", audio, 8000)
    back, _ = read_audio(tmp_path / "a.flac", stored.sha256)
    assert stored.clipped_samples == 2
    assert back.tolist() == [1 - 2**-23, -1.0, 1 - 2**-23, -1.0, 0.5]


def test_a_long_clip_is_stored_in_pieces_as_one(tmp_path: Path) -> None:
    """More than one piece: the file, its SHA-256 and the count are those of all samples together."""
    audio = np.random.default_rng(0).uniform(-1.2, 1.2, 2 * PIECE + 77).astype(np.float32)
    stored = write_audio(tmp_path / "a.flac", audio, 8000)
    whole = quantise(audio)
    assert stored.sha256 == digest(whole)
    assert stored.clipped_samples == np.count_nonzero(np.abs(audio) > 1)
    back, _ = read_audio(tmp_path / "a.flac", stored.sha256)
    assert np.array_equal(back, whole / FULL_SCALE)
    assert np.array_equal(whole, np.clip(np.rint(audio.astype(np.float64) * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1))


def test_quantising_rounds_to_nearest() -> None:
    """Half a step and less is rounded, so that no offset is added."""
    steps = np.array([0.4, 0.6, -0.4, -0.6, 1.4], dtype=np.float32) / np.float32(FULL_SCALE)
    assert quantise(steps).tolist() == [0, 1, 0, -1, 1]


def test_the_file_is_24_bit_flac(tmp_path: Path) -> None:
    """Any player opens it."""
    write_audio(tmp_path / "a.flac", np.zeros(100, dtype=np.float32), 16000)
    info = soundfile.info(tmp_path / "a.flac")
    assert (info.format, info.subtype, info.channels, info.frames) == ("FLAC", "PCM_24", 1, 100)


@pytest.mark.parametrize("damage", ["missing", "emptied", "cut", "replaced"])
def test_a_damaged_file_is_never_read_as_sound(tmp_path: Path, damage: str) -> None:
    """A lost, emptied, cut or exchanged file raises with what to do."""
    path = tmp_path / "a.flac"
    audio = np.random.default_rng(0).uniform(-0.5, 0.5, 9000).astype(np.float32)
    stored = write_audio(path, audio, 16000)
    if damage == "missing":
        path.unlink()
    elif damage == "replaced":
        write_audio(path, -audio, 16000)
    else:
        os.truncate(path, 0 if damage == "emptied" else path.stat().st_size // 2)
    with pytest.raises(RunFolderError, match="--overwrite"):
        read_audio(path, stored.sha256)


def test_names_of_clips_never_meet_and_never_leave_the_folder() -> None:
    """Long, odd and clashing ids have names of their own, below the folder, that file systems take."""
    ids = ["a", "a.flac", "a.flac/b", "a/b", "..", "../a", "a//b", "x" * 300, "x" * 301, "é" * 150, ".part-a", "a\0b"]
    names = [file_name(clip_id) for clip_id in ids]
    assert len(set(names)) == len(ids)
    folders = {str(Path(name).parent) for name in names}
    assert folders.isdisjoint(names)
    for name in names:
        assert all(len(part.encode()) <= 255 and part not in {"", ".", ".."} for part in name.split("/"))
        assert "\0" not in name
    assert names[:2] == ["a.flac", "a.flac.flac"]
