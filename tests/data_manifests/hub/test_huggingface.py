"""Rows of a hub dataset become FLAC files and clips, from Parquet shards and through the package `datasets`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import soundfile

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import read_records
from codec_superb.data_manifests.errors import FetchError, LayoutError, ManifestError
from codec_superb.data_manifests.hub.huggingface import from_hub
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.progress import ProgressUpdate

NAME = "codec_superb_tiny"
FEATURES = {"info": {"features": {"id": {"dtype": "string", "_type": "Value"}, "audio": {"_type": "Audio"}}}}
RATE = 16_000
TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE // 20) / RATE)


def _encode(audio: np.ndarray, kind: str, subtype: str, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, audio, rate, format=kind, subtype=subtype)
    return file.getvalue()


def _shard(path: Path, rows: list[tuple[str, bytes | None]]) -> None:
    """Write a shard of the hub's shape: id, and a struct of bytes and path that the schema declares as Audio."""
    audio = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    schema = pa.schema({"id": pa.string(), "audio": audio}, metadata={"huggingface": json.dumps(FEATURES)})
    data = {
        "id": [name for name, _ in rows],
        "audio": [{"bytes": content, "path": f"{name}.wav"} for name, content in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table(data, schema=schema), path)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a local copy of the repository's shape: two shards of speech, one each of audio and music."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    folder = tmp_path / "hub"
    wav = _encode(TONE, "WAV", "PCM_16")
    _shard(folder / "data/Speech-00000-of-00002.parquet", [("librispeech_1", wav), ("crema/1001 x", wav)])
    _shard(folder / "data/Speech-00001-of-00002.parquet", [("quesst_7", _encode(TONE[:100], "WAV", "PCM_U8", 8_000))])
    _shard(folder / "data/Audio-00000-of-00001.parquet", [("esc50_3", _encode(TONE / 3, "WAV", "FLOAT", 44_100))])
    stereo = np.stack([TONE, -TONE], axis=1)
    _shard(folder / "data/Music-00000-of-00001.parquet", [("nsynth_9", _encode(stereo, "FLAC", "PCM_24", 48_000))])
    return folder


def test_rows_become_clips_with_split_and_category(hub: Path) -> None:
    """Ids are split and row id; the split decides the category; 6000 rows are published."""
    report = index(NAME, hub)
    dataset = open_dataset(NAME)
    assert list(dataset.clip_ids()) == [
        "Audio/esc50_3",
        "Music/nsynth_9",
        "Speech/crema/1001 x",
        "Speech/librispeech_1",
        "Speech/quesst_7",
    ]
    assert [dataset.clip(name).category for name in dataset.clip_ids()] == ["audio", "music", *["speech"] * 3]
    assert (report.clips, report.published, report.missing) == (5, 6000, 5995)
    assert dict(dataset.clip("Speech/quesst_7").labels.extra) == {"split": "Speech", "source_file": "quesst_7.wav"}


@pytest.mark.parametrize(
    ("clip_id", "rate", "subtype"),
    [
        ("Speech/librispeech_1", 16_000, "PCM_16"),
        ("Speech/quesst_7", 8_000, "PCM_16"),
        ("Music/nsynth_9", 48_000, "PCM_24"),
    ],
)
def test_integers_are_stored_sample_for_sample(clip_id: str, rate: int, subtype: str, hub: Path) -> None:
    """What the row's bytes hold and what the FLAC file holds are the same integers, at the same rate."""
    index(NAME, hub)
    split, name = clip_id.split("/")
    rows = [row for shard in sorted(hub.rglob(f"{split}-*")) for row in pa.parquet.read_table(shard).to_pylist()]
    content = next(row["audio"]["bytes"] for row in rows if row["id"] == name)
    path = open_dataset(NAME).clip(clip_id).path
    info = soundfile.info(path)
    assert (info.format, info.samplerate, info.subtype) == ("FLAC", rate, subtype)
    assert np.array_equal(soundfile.read(path, dtype="int32")[0], soundfile.read(io.BytesIO(content), dtype="int32")[0])


def test_floats_are_stored_with_24_bits(hub: Path) -> None:
    """Floating-point audio is within half a step of 24 bits, and carries its rate."""
    index(NAME, hub)
    clip = open_dataset(NAME).clip("Audio/esc50_3")
    audio, rate = clip.load()
    assert rate == clip.sampling_rate == 44_100
    assert np.abs(audio[0] - TONE / 3).max() <= 0.5 / 2**23 + 1e-8


def test_the_package_datasets_gives_the_same_rows(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder laid out as a hub repository, read by `load_dataset`, gives the bytes of the shards, undecoded."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    opened = from_hub(str(hub), "Speech", None)
    rows = list(opened.rows)
    assert opened.count == 3
    assert [row.id for row in rows] == ["librispeech_1", "crema/1001 x", "quesst_7"]
    assert rows[0].content == _encode(TONE, "WAV", "PCM_16")


def test_offline_ends_with_one_clear_line(tmp_path: Path) -> None:
    """With HF_HUB_OFFLINE set and an empty cache nothing is asked of the network, and the error says what to do."""
    code = (
        "import socket, sys\n"
        "def refuse(*_):\n    sys.exit('the network was asked')\n"
        "socket.getaddrinfo = socket.socket.connect = refuse\n"
        "from codec_superb.data_manifests.indexing.index import index\n"
        "from codec_superb.data_manifests.errors import FetchError\n"
        "try:\n    index('codec_superb_tiny', None, revision='0123abc')\n"
        "except FetchError as error:\n    print(error)\n"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "CODEC_SUPERB_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cannot read split Speech of voidful/codec-superb-tiny at 0123abc: ")
    assert "--root DIR" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_second_export_decodes_nothing(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were stored from the same bytes are kept; a changed row is stored anew."""
    first = index(NAME, hub)
    written: list[str] = []
    original = soundfile.write

    def spy(file: Path, *rest: object, **named: object) -> None:
        written.append(str(file))
        original(file, *rest, **named)

    monkeypatch.setattr(soundfile, "write", spy)
    assert index(NAME, hub).manifest_hash == first.manifest_hash
    assert written == []
    monkeypatch.undo()
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(first.folder.parents[1]))
    _shard(hub / "data/Speech-00001-of-00002.parquet", [("quesst_7", _encode(-TONE, "WAV", "PCM_16"))])
    assert index(NAME, hub).manifest_hash != first.manifest_hash


def test_hashes_are_of_samples_not_of_files(hub: Path) -> None:
    """The identity of a clip is its samples, so that another FLAC encoder gives the same dataset."""
    report = index(NAME, hub)
    assert {record.sha256_of for record in read_records(report.folder)} == {"samples"}


def test_a_row_that_is_no_audio_is_missing(hub: Path) -> None:
    """Bytes that cannot be decoded, that hold nothing, and NaN cost one clip each, with a note; others go on."""
    empty, nan = _encode(TONE[:0], "WAV", "PCM_16"), _encode(TONE * np.nan, "WAV", "FLOAT")
    good = _encode(TONE, "WAV", "PCM_16")
    _shard(hub / "data/Audio-00000-of-00001.parquet", [("a", b"RIFF?"), ("b", empty), ("c", nan), ("d", good)])
    report = index(NAME, hub)
    assert report.missing_names == ("Audio/a", "Audio/b", "Audio/c")
    notes = "\n".join(report.notes)
    assert "row 0 (a) is no audio" in notes
    assert "row 1 (b) holds no samples" in notes
    assert "row 2 (c) holds NaN or Inf" in notes
    assert "Audio/d" in open_dataset(NAME).clip_ids()


def test_absent_shards_are_told(hub: Path) -> None:
    """A shard that its own numbering promises and that is not there is noted; a split without shards is an error."""
    (hub / "data/Speech-00000-of-00002.parquet").unlink()
    assert "shards of Speech are not there: 0 of 0 to 1" in index(NAME, hub).notes
    (hub / "data/Music-00000-of-00001.parquet").unlink()
    with pytest.raises(LayoutError, match=r"expected Parquet shards Music-NNNNN-of-NNNNN\.parquet in"):
        index(NAME, hub)


def test_files_of_another_shape_are_refused(hub: Path) -> None:
    """A shard without the two columns, without bytes, or that is no Parquet is named."""
    music = hub / "data/Music-00000-of-00001.parquet"
    pa.parquet.write_table(pa.table({"id": ["a"], "sound": ["b"]}), music)
    with pytest.raises(
        LayoutError, match=r"Music-00000-of-00001\.parquet: expected the columns id and audio, got id, sound"
    ):
        index(NAME, hub)
    _shard(music, [("a", None)])
    with pytest.raises(LayoutError, match=r"parquet row 0: expected the column audio to hold bytes and path"):
        index(NAME, hub)
    music.write_bytes(b"PAR1 no more")
    with pytest.raises(LayoutError, match=r"Music-00000-of-00001\.parquet is no Parquet file"):
        index(NAME, hub)


def test_an_id_given_twice_is_an_error(hub: Path) -> None:
    """Two rows of one id would overwrite each other's audio."""
    wav = _encode(TONE, "WAV", "PCM_16")
    _shard(hub / "data/Music-00000-of-00001.parquet", [("same", wav), ("same", wav)])
    with pytest.raises(ManifestError, match="'Music/same' is given twice"):
        index(NAME, hub)


@pytest.mark.parametrize("name", ["../up", "a//b", ""])
def test_an_id_that_leaves_the_store_is_refused(name: str, hub: Path) -> None:
    """An id is a path below the store; one that is not is an error that names the row."""
    _shard(hub / "data/Music-00000-of-00001.parquet", [(name, _encode(TONE, "WAV", "PCM_16"))])
    with pytest.raises(LayoutError, match="row 0: the id"):
        index(NAME, hub)


def test_progress_counts_rows_then_files(hub: Path) -> None:
    """Storing and hashing are two stages, each of which ends at its total."""
    heard: list[ProgressUpdate] = []
    index(NAME, hub, heard.append)
    assert [(step.stage, step.done, step.total) for step in heard] == [
        *(("cut", number, 5) for number in range(1, 6)),
        ("check", 5, 5),
    ]


def test_the_manifest_reads_three_splits() -> None:
    """The manifest names the repository and a category for each split."""
    source = load_manifest(NAME).source
    assert source.kind == "huggingface"
    assert source.repo == "voidful/codec-superb-tiny"
    assert [(split.split, split.category) for split in source.splits] == [
        ("Speech", "speech"),
        ("Audio", "audio"),
        ("Music", "music"),
    ]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `datasets` is not installed, the error is the install command."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(FetchError, match=r"needs datasets, .* pip install 'codec-superb\[datasets\]'"):
        from_hub("voidful/codec-superb-tiny", "Speech", None)
