"""Shards and tables in a store: listed as in a folder, read a clip at a time."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from support.objects.s3 import S3, Fault
from support.shards import flac, write_shard

from codec_superb.data_manifests import check, open_dataset
from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexing import streamed
from codec_superb.data_manifests.indexing.index import index_manifest
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.stored_dataset import StoredDataset

pytestmark = pytest.mark.network
_MANIFEST = """
schema_version: 1
name: birds
title: Birds
version: "1"
description: Birds.
categories: [audio]
licence: CC0-1.0
homepage: https://example.org/birds
partition: {{text: all}}
source:
  kind: local
  layout: {layout}
  url: https://example.org/birds
  options: {options}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[[str, str], Manifest]:
    """Return what makes a manifest of a layout with options."""

    def make(layout: str, options: str) -> Manifest:
        path = tmp_path / "birds.yaml"
        path.write_text(_MANIFEST.format(layout=layout, options=options))
        return load_manifest(str(path))

    return make


def _sound(form: str, seed: int, **options: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.random.default_rng(seed).uniform(-0.9, 0.9, 8000), 16_000, format=form, **options)
    return file.getvalue()


def _sounds(manifest: Manifest) -> dict[str, tuple[bytes, int]]:
    dataset = open_dataset(str(manifest.name))
    return {clip: (audio.tobytes(), rate) for clip in dataset.clip_ids() for audio, rate in [dataset.clip(clip).load()]}


def _same_from_both(manifest: Manifest, folder: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> StoredDataset:
    """Index a folder and the same in the store: hash, labels, missing ones and samples are the same."""
    monkeypatch.setattr("codec_superb.data_manifests.dataset.manifest_names", lambda: ("birds",))
    monkeypatch.setattr("codec_superb.data_manifests.dataset.load_manifest", lambda _: manifest)
    here = index_manifest(manifest, folder)
    sounds = _sounds(manifest)
    s3.put_folder(folder, "birds")
    there = index_manifest(manifest, f"{s3.url}/birds/")
    assert there.manifest_hash == here.manifest_hash
    assert (there.clips, there.missing, there.seconds) == (here.clips, here.missing, here.seconds)
    assert _sounds(manifest) == sounds
    assert check("birds").right
    dataset = open_dataset("birds")
    assert isinstance(dataset, StoredDataset)
    return dataset


def test_shards_of_a_store_are_those_of_a_folder(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FLAC, floats and lossy sound in shards have one hash and the same samples from a folder and from a store."""
    shards = tmp_path / "shards"
    names = {
        "flac": flac(0.5),
        "wav": _sound("WAV", 1, subtype="FLOAT"),
        "ogg": _sound("OGG", 2),
        "mp3": _sound("MP3", 3),
    }
    for number, (suffix, content) in enumerate(names.items()):
        samples = [(f"{number}_{each}", content, {"text": f"number {each}"}) for each in range(3)]
        write_shard(shards / f"b-{number:02}.tar", [*samples, ("bad", b"no sound", {"text": "x"})], suffix=suffix)
    dataset = _same_from_both(
        manifest("described_shards", '{files: "b-{00..03}.tar", labels: ["text: {_text}"]}'), shards, s3, monkeypatch
    )
    assert dataset.clip("b-00/0_1").labels.text == "number 1"
    # one clip is one request, of its bytes; the second time it lies here
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(_home_without_cache(tmp_path)))
    clip = dataset.clip("b-01/1_2")
    s3.requests.clear()
    assert clip.header() == (16_000, 8000)
    clip.load()
    assert [(each.method, each.sent) for each in s3.requests] == [("GET", len(names["wav"]))]
    clip.load()
    assert len(s3.requests) == 1


def _home_without_cache(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_tables_of_a_store_are_those_of_a_folder(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with sound have one hash and the same samples from both, and a clip costs its row group, not its table."""
    table = tmp_path / "tables" / "data" / "test-00000-of-00001.parquet"
    table.parent.mkdir(parents=True)
    cells = [_sound("WAV" if number % 2 else "OGG", number) for number in range(40)]
    rows = [{"audio": {"bytes": cell, "path": f"{n}.wav"}, "text": f"bird {n}"} for n, cell in enumerate(cells)]
    pq.write_table(
        pa.Table.from_pylist([*rows, {"audio": {"bytes": b"x", "path": ""}, "text": ""}]), table, row_group_size=4
    )
    made = manifest("described_rows", '{files: "data/test-*.parquet", labels: ["text: {text}"]}')
    dataset = _same_from_both(made, tmp_path / "tables", s3, monkeypatch)
    assert dataset.clip("test/9").labels.text == "bird 8"
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(_home_without_cache(tmp_path)))
    dataset.clip("test/1").load()  # opens the table
    s3.requests.clear()
    for number in (9, 10, 11, 12):  # one row group
        dataset.clip(f"test/{number}").load()
    assert sum(each.sent for each in s3.requests) < table.stat().st_size / 8
    assert len(s3.requests) <= 2  # the leaves of the column
    s3.put(f"birds/data/{table.name}", table.read_bytes()[::-1])
    with pytest.raises(AudioFileError, match="was changed since it was listed"):
        dataset.clip("test/20").load()


def test_what_goes_wrong_in_a_store_costs_its_own_clips(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard that changes after it was listed fails its clips with one sentence; those of others are read."""
    made = manifest("described_shards", '{files: "*.tar", labels: ["text: {_text}"]}')
    monkeypatch.setattr("codec_superb.data_manifests.dataset.manifest_names", lambda: ("birds",))
    monkeypatch.setattr("codec_superb.data_manifests.dataset.load_manifest", lambda _: made)
    for name in "ab":
        shard = write_shard(
            tmp_path / "s" / f"{name}.tar", [("1", flac(0.1), {"text": "x"}), ("2", flac(0.2), {"text": "y"})]
        )
        s3.put(f"s/{name}.tar", shard.read_bytes())
    monkeypatch.setattr(streamed, "LINES", 3)  # the list is a table
    index_manifest(made, f"{s3.url}/s")
    assert [path.name for path in (tmp_path / "home" / "datasets" / "birds").glob("clips.*")] == ["clips.parquet"]
    dataset = open_dataset("birds")
    assert list(dataset.clip_ids()) == ["a/1", "a/2", "b/1", "b/2"]
    write_shard(tmp_path / "s" / "a.tar", [("1", flac(0.3, seed=5), {"text": "x"})])
    s3.put("s/a.tar", (tmp_path / "s" / "a.tar").read_bytes())
    with pytest.raises(AudioFileError, match=r"a\.tar was changed since it was listed"):
        dataset.clip("a/1").load()
    s3.faults.append(Fault("short", "b.tar", times=1))
    with pytest.raises(AudioFileError, match="truncated: expected"):
        dataset.clip("b/1").load()
    assert dataset.clip("b/1").load()[0].shape == (1, 1600)  # what was truncated was not kept


def test_what_cannot_be_streamed_says_what_to_do(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest]
) -> None:
    """Compressed shards, an empty place and a layout that reads folders end with what to do."""
    s3.put("s/a.tar.gz", write_shard(tmp_path / "a.tar.gz", [("1", flac(0.1), {"text": "x"})]).read_bytes())
    with pytest.raises(LayoutError, match=r"store plain \.tar"):
        index_manifest(manifest("described_shards", '{files: "*.tar.gz"}'), f"{s3.url}/s")
    with pytest.raises(LayoutError, match="found no object below it"):
        index_manifest(manifest("described_shards", '{files: "*.tar"}'), f"{s3.url}/none")
    with pytest.raises(LayoutError, match="reads a folder of this machine"):
        index_manifest(manifest("esc50", "{}"), f"{s3.url}/s")


_INDEX = "import sys; from codec_superb.cli.main import call; sys.exit(call(sys.argv[1:]))"


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_listing_that_is_killed_goes_on_with_the_next_shard(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest]
) -> None:
    """After SIGKILL in the third shard two are not read again; nor is any that has not changed, ever."""
    manifest("described_shards", '{files: "*.tar", labels: ["text: {_text}"]}')
    for name in "abcd":
        samples = [(f"{number}", flac(0.1, seed=number), {"text": name}) for number in range(4)]
        s3.put(f"s/{name}.tar", write_shard(tmp_path / f"{name}.tar", samples).read_bytes())
    command = [sys.executable, "-c", _INDEX, "datasets", "index", str(tmp_path / "birds.yaml"), "--root", f"{s3.url}/s"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    marks, ended = tmp_path / "home" / "datasets" / ".birds.parts", time.monotonic() + 120
    s3.faults.append(Fault("slow", "c.tar", seconds=15))
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        while len(list(marks.glob("[0-9a-f]*.json"))) < 2 and time.monotonic() < ended:
            time.sleep(0.05)
        killed.kill()
    assert not (marks.with_name("birds") / "index.json").exists()
    assert _read_by(command, environment, s3) == ["c.tar", "d.tar"]
    whole = StoredDataset(marks.with_name("birds"))
    assert list(whole.clip_ids()) == [f"{name}/{number}" for name in "abcd" for number in range(4)]
    assert _read_by(command, environment, s3) == []
    (tmp_path / "b.tar").unlink()
    changed = write_shard(tmp_path / "b.tar", [("9", flac(0.1), {"text": "new"})])
    s3.put("s/b.tar", changed.read_bytes())
    assert _read_by(command, environment, s3) == ["b.tar"]
    assert [clip for clip in StoredDataset(marks.with_name("birds")).clip_ids() if clip.startswith("b")] == ["b/9"]
    assert len(list(marks.glob("*.json"))) == 4


def _read_by(command: list[str], environment: dict[str, str], s3: S3) -> list[str]:
    s3.faults.clear()
    s3.requests.clear()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return sorted({each.path.rpartition("/")[2] for each in s3.requests if each.method == "GET" and each.range})


def test_files_of_a_store_are_those_of_a_folder(
    s3: S3, tmp_path: Path, manifest: Callable[[str, str], Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files whose names say all have one hash and the same samples from both; one that is no audio is counted."""
    names = {
        "a/1.wav": _sound("WAV", 1, subtype="FLOAT"),
        "a/2.ogg": _sound("OGG", 2),
        "3.flac": flac(0.2),
        "4.mp3": b"x",
    }
    for name, content in names.items():
        path = tmp_path / "files" / "audio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    monkeypatch.setattr("codec_superb.data_manifests.dataset.manifest_names", lambda: ("birds",))
    made = manifest("named_files", '{marker: audio, folder: audio, pattern: "(?P<t>.*)", labels: ["text: {t}"]}')
    here = index_manifest(made, tmp_path / "files")
    s3.put_folder(tmp_path / "files", "birds")
    there = index_manifest(made, f"{s3.url}/birds")
    assert (there.clips, there.manifest_hash, there.seconds) == (here.clips, here.manifest_hash, here.seconds)
    assert (there.unreadable, there.unreadable_names) == (here.unreadable, here.unreadable_names) == (1, ("4",))
    dataset = StoredDataset(there.folder)
    assert dataset.clip("a/1").header() == (16_000, 8000)
    monkeypatch.setattr("codec_superb.data_manifests.dataset.load_manifest", lambda _: made)
    assert [clip for clip, _ in check("birds").corrupt] == ["4"]
    assert np.array_equal(dataset.clip("a/2").load()[0], read_audio(tmp_path / "files" / "audio" / "a" / "2.ogg")[0])


_HASH = """
import sys
from codec_superb.data_manifests import hash_cache, open_dataset
hash_cache.SAVE_SECONDS = 0.0
print(open_dataset(sys.argv[1]).manifest_hash)
"""


def _hashed(folder: Path) -> int:
    # temporary files have hidden names
    return sum(len(json.loads(path.read_bytes())) for path in folder.glob("[0-9a-f]*.json"))


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_folder_whose_hashing_was_killed_is_not_read_again(s3: S3, tmp_path: Path) -> None:
    """After SIGKILL at the seventh of eight objects, those that were hashed before are not asked for again."""
    for number in range(8):
        s3.put(f"f/{number}.flac", flac(0.1, seed=number))
    command = [sys.executable, "-c", _HASH, f"{s3.url}/f"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    s3.faults.append(Fault("slow", "f/6.flac", seconds=15))
    hashes, ended = tmp_path / "home" / "folders", time.monotonic() + 120
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as killed:
        while _hashed(hashes) < 5 and time.monotonic() < ended:
            time.sleep(0.05)
        killed.kill()
    shutil.rmtree(tmp_path / "home" / "objects")  # as if it had no room
    read = _read_by(command, environment, s3)
    assert "6.flac" in read
    assert len(read) <= 3
    assert _read_by(command, environment, s3) == []
