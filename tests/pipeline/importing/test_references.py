"""References leave as WAV files that hold what the pipeline compares with, sample for sample."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.pipeline.runs import noise

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.files import file_sha256
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing import references as module
from codec_superb.pipeline.importing.references import export_references
from codec_superb.pipeline.runs.dataset_access import load_mono


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """Make clips of several encodings, rates and channel counts, of which one cannot be read."""
    folder = tmp_path / "sounds"
    (folder / "music").mkdir(parents=True)
    full = np.array([-1.0, 32767 / 32768, 0.25, -0.5])
    soundfile.write(folder / "a.wav", full, 8000, subtype="PCM_16")
    soundfile.write(folder / "music/b.flac", noise(400), 44100, subtype="PCM_24")
    soundfile.write(folder / "music/stereo.wav", noise(300, 2), 16000, subtype="PCM_24")
    soundfile.write(folder / "loud.wav", 3 * noise(200), 48000, subtype="FLOAT")
    (folder / "broken.wav").write_bytes(b"RIFF")
    return folder


def _index(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "index.csv").open(newline="") as file:
        return {row["clip"]: row for row in csv.DictReader(file)}


def test_files_hold_every_sample_and_the_index_every_fact(sounds: Path, tmp_path: Path) -> None:
    """Each in the smallest encoding that holds it; what cannot be read is listed and has no file."""
    out = tmp_path / "out"
    done = export_references(str(sounds), out)
    assert (done.clips, done.done, [failed.clip for failed in done.failed]) == (4, 4, ["broken.wav"])
    assert "broken.wav" in done.failed[0].reason
    assert str(sounds) not in done.failed[0].reason
    index, dataset = _index(out), open_dataset(sounds)
    assert {clip: (row["file"], row["encoding"]) for clip, row in index.items()} == {
        "a.wav": ("a.wav", "PCM_16"),
        "loud.wav": ("loud.wav", "FLOAT"),
        "music/b.flac": ("music/b.wav", "PCM_24"),
        "music/stereo.wav": ("music/stereo.wav", "FLOAT"),  # the mean of two channels has a bit more
    }
    for clip, row in index.items():
        written, rate = read_audio(out / row["file"])
        expected, its_rate = load_mono(dataset.clip(clip))
        assert np.array_equal(written[0], expected)
        assert (rate, str(rate), str(written.size)) == (its_rate, row["rate"], row["samples"])
        assert row["sha256"] == file_sha256(out / row["file"])
        assert row["category"] == dataset.clip(clip).category


def test_an_export_goes_on_where_it_was(sounds: Path, tmp_path: Path) -> None:
    """What was removed, changed or not yet selected is written; the bytes are those of a single call."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    assert export_references(str(sounds), out, limit=2).clips <= 2
    export_references(str(sounds), out)
    assert export_references(str(sounds), out).done == 0
    (out / "a.wav").unlink()
    (out / "loud.wav").write_bytes(b"what a codec wrote over it")
    assert export_references(str(sounds), out).done == 2
    export_references(str(sounds), whole)
    assert (out / "index.csv").read_bytes() == (whole / "index.csv").read_bytes()


def test_names_that_would_meet_keep_their_endings(tmp_path: Path) -> None:
    """a.wav and a.flac are two clips."""
    for name in ("a.wav", "a.flac"):
        soundfile.write(tmp_path / name, noise(100), 8000)
    export_references(str(tmp_path), tmp_path.parent / "both")
    assert {row["file"] for row in _index(tmp_path.parent / "both").values()} == {"a.wav.wav", "a.flac.wav"}


def test_what_cannot_end_well_is_refused_before_it_begins(
    sounds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output inside the dataset would be its clips at the next call; a full disk would end it half way."""
    with pytest.raises(PipelineError, match="lies inside the dataset sounds"):
        export_references(str(sounds), sounds / "out")
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(PipelineError, match=r"expected [\d.]+ [kM]B free in .* for 5 references, got 1.0 kB: "):
        export_references(str(sounds), tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.wav"))
    monkeypatch.undo()
    assert export_references(str(sounds / "a.wav"), sounds / "out").done == 1  # beside a file is not inside it


def test_no_file_is_replaced_that_no_export_wrote(sounds: Path, tmp_path: Path) -> None:
    """Neither the original itself, nor resyntheses in a folder that was named by mistake."""
    original = (sounds / "a.wav").read_bytes()
    with pytest.raises(PipelineError, match=r"a\.wav is there, and no export wrote it: name another folder"):
        export_references(str(sounds / "a.wav"), sounds)
    assert (sounds / "a.wav").read_bytes() == original
    assert not (sounds / "index.csv").exists()
    (tmp_path / "made").mkdir()
    for name in ("a.wav", "index.csv"):
        (tmp_path / "made" / name).write_bytes(b"mine")
        with pytest.raises(PipelineError, match=rf"{name} is there, and no export wrote it"):
            export_references(str(sounds), tmp_path / "made")
        assert (tmp_path / "made" / name).read_bytes() == b"mine"
        (tmp_path / "made" / name).unlink()
