"""Runs on datasets that lie in a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3, SECRET, Fault
from support.pipeline.runs import contents, speech_folder

from codec_superb.cli.main import call
from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.data_manifests.errors import AudioFileError, StoreError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.lists.clip_table import write_clip_table
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.stored import get, put
from codec_superb.pipeline.scoring.stage import score

__all__ = ["s3", "s3_of_process"]
pytestmark = [pytest.mark.network, pytest.mark.sample(3, among="runs and stores")]
CODEC = "g711_alaw"


@pytest.fixture
def clips(tmp_path: Path, s3: S3) -> Path:
    """Give a folder of clips with labels, which lies in the store too."""
    folder = speech_folder(tmp_path / "clips", 6)
    (folder / "labels.csv").write_text("path,text,speaker\nclip00.wav,one,ann\nclip01.wav,two,bob\n")
    s3.put_folder(folder, "takes/clips")
    return folder


def test_a_run_on_a_store_has_the_rows_of_one_on_a_folder(clips: Path, s3: S3, tmp_path: Path) -> None:
    """Rows, scores and stored sound are the same to the last bit, and nothing that is written has a credential."""
    here, there = tmp_path / "here", tmp_path / "there"
    for place, out in ((str(clips), here), (f"{s3.url}/takes/clips/", there)):
        assert call(["resynth", "--codec", CODEC, "--dataset", place, "--out", str(out), "--workers", "2"]) == 0
        score([out], metrics=["si_sdr"], workers=2)
    assert contents(there / CODEC / "clips") == contents(here / CODEC / "clips")
    info = RunFolder(there / CODEC / "clips").info()
    assert info.dataset.location == f"{s3.url}/takes/clips"
    files = (path for top in (there, tmp_path / "home") for path in top.rglob("*") if path.is_file())
    written = b"".join(path.read_bytes() for path in files)
    assert SECRET.encode() not in written
    assert b"AKIATESTS" not in written
    # each object was read once by two stages and two processes
    read = [each.path for each in s3.requests if each.method == "GET" and each.path.endswith(".wav")]
    assert len(read) == len(set(read)) == 6


def test_one_object_costs_its_clip_and_a_store_that_is_away_the_command(clips: Path, s3: S3, tmp_path: Path) -> None:
    """An object that cannot be had is a failed row with its reason; without the store the command ends, and goes on."""
    url = f"{s3.url}/takes/clips"
    assert len(open_dataset(url).manifest_hash) == 64
    for path in (tmp_path / "home" / "objects").rglob("?" * 64):
        path.unlink()  # as a full cache would
    s3.faults.append(Fault("503", "clip03.wav"))
    (outcome,) = resynthesise([CODEC], [url], out=tmp_path / "one", workers=1)
    failed = [row for row in RunFolder(outcome.path).rows() if row.status == "failed"]
    assert [(row.clip, row.stage, row.error_type) for row in failed] == [("clip03.wav", "load", "ObjectError")]
    assert "HTTP 503" in failed[0].error
    s3.faults[:] = [Fault("gone", "takes/clips/clip"), Fault("gone", "anybody")]
    for path in (tmp_path / "home" / "objects").rglob("?" * 64):
        path.unlink()
    with pytest.raises(StoreError, match="does not answer"):
        resynthesise([CODEC], [url], out=tmp_path / "two", workers=1)
    s3.faults.clear()
    (outcome,) = resynthesise([CODEC], [url], out=tmp_path / "two", workers=1)
    assert [row.status for row in RunFolder(outcome.path).rows()] == ["ok"] * 6


def test_runs_are_copied_into_a_store_whole_and_back(clips: Path, s3: S3, tmp_path: Path) -> None:
    """A copy that was cut off goes on, its mark comes last, other runs are not written over, and it comes back."""
    runs, url = tmp_path / "runs", f"{s3.url}/runs"
    resynthesise([CODEC], [str(clips)], out=runs, workers=1)
    assert call(["resynth", "--codec", CODEC, "--dataset", str(clips), "--out", url]) != 0
    assert not Path("s3:").exists()
    s3.faults.append(Fault("503", "run.json"))
    assert call(["copy", str(runs), url]) != 0
    with pytest.raises(RunFolderError, match=r"found no run\.json"):
        get(url, tmp_path / "back")
    s3.faults.clear()
    assert put(runs, url) == 1
    assert put(runs, url) == 0
    assert call(["copy", url, str(tmp_path / "back")]) == 0
    assert get(url, tmp_path / "back") == 0
    assert contents(tmp_path / "back" / CODEC / "clips") == contents(runs / CODEC / "clips")
    assert call(["score", str(tmp_path / "back"), "--metric", "si_sdr", "--workers", "1"]) == 0
    with pytest.raises(RunFolderError, match="holds something else than"):
        put(tmp_path / "back", url)


def test_a_dataset_with_its_list_in_the_store_is_opened_by_its_url(clips: Path, s3: S3, tmp_path: Path) -> None:
    """A dataset's folder that was copied is opened by its URL, as lines or as a table, and holds what it held."""
    folder = tmp_path / "set"
    shutil.copytree(clips, folder / "audio")
    records = [
        ClipRecord(
            id=path.stem, path=f"audio/{path.name}", category="speech", licence="CC0-1.0", attribution="A",
            sha256=file_sha256(path) if number else samples_sha256(path), sha256_of="file" if number else "samples",
        )
        for number, path in enumerate(sorted(clips.glob("*.wav")))
    ]  # fmt: skip
    index = DatasetIndex(name="set", manifest_version="1", root=".", clips=0, manifest_hash="0" * 64)
    for name, write in (("lines", write_clip_list), ("table", write_clip_table)):
        written = write(folder, index, records)
        put(folder, f"{s3.url}/{name}")
        there = open_dataset(f"{s3.url}/{name}")
        assert there.manifest_hash == written.manifest_hash
        assert list(there.clip_ids()) == [record.id for record in records]
        for record in records:
            assert there.clip(record.id).load()[0].tobytes() == read_audio(folder / record.path)[0].tobytes()
        s3.put(f"{name}/audio/clip00.wav", (clips / "clip01.wav").read_bytes())
        s3.put(f"{name}/audio/clip02.wav", (clips / "clip01.wav").read_bytes())
        for path in (tmp_path / "home" / "objects").rglob("?" * 64):
            path.unlink()
        for clip in ("clip00", "clip02"):
            with pytest.raises(AudioFileError, match="not what the clip list says"):
                there.clip(clip).load()
    assert open_dataset(f"{s3.url}/takes/clips/clip02.wav").clip_ids() == ["clip02.wav"]
