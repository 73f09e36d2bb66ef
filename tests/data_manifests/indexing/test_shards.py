"""Test shards as datasets: each published task's are indexed, and what is wrong in one costs itself alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support.profile import some
from support.shards import flac, write_shard

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.audio.webdataset import expand
from codec_superb.data_manifests.catalogue import list_manifests, load_manifest
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.manifest import LocalSource, Manifest

SHARDED = [
    manifest.name
    for manifest in list_manifests()
    if isinstance(manifest.source, LocalSource) and manifest.source.layout == "described_shards"
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a home of its own."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return tmp_path


def _options(manifest: Manifest) -> dict[str, Any]:
    assert isinstance(manifest.source, LocalSource)
    return dict(manifest.source.options)


@pytest.mark.parametrize("name", some(SHARDED, 5))
def test_all_shards_of_a_task_are_read(home: Path, name: str) -> None:
    """One sound in each: as many clips, each with the text of the first field that it has."""
    options = _options(load_manifest(name))
    files = [of.replace("*", "own") for pattern in options["files"] for of in expand(pattern)]
    for number, file in enumerate(files):
        write_shard(home / "data" / file, [("k", flac(0.01), {options["fields"][0]: f"label {number}"})])
    report = index(name, home / "data")
    assert (report.clips, report.missing) == (len(files), 0)
    dataset = open_dataset(name)
    clips = [dataset.clip(clip_id).labels for clip_id in dataset.clip_ids()]
    texts = sorted((of.text,) if of.text else of.answers or of.events for of in clips)
    assert texts == sorted((f"label {number}",) for number in range(len(files)))
    if name == "xares_mecat":
        assert {dict(of.extra)["domain"] for of in clips} >= {"0M0", "S0A"}
    (home / "data" / files[0]).unlink()
    if "*" not in options["files"][0]:
        with pytest.raises(LayoutError, match=r"expected a shard, found none \(1 are missing"):
            index(name, home / "data")


def test_what_is_wrong_in_a_shard_is_counted(home: Path) -> None:
    """A sound of 0 samples, one that is none, JSON without a text, a cut; several texts are several answers."""
    empty = io.BytesIO()
    soundfile.write(empty, np.zeros(0), 16000, format="WAV")  # a FLAC of no samples is no FLAC
    good, cut = (home / "data" / name for name in expand("Songdescriber/test/valid_song_describer_0000{00..01}.tar.gz"))
    samples = [
        ("a", flac(0.1), {"captions": ["one", "two"]}), ("b", empty.getvalue(), {"captions": "x"}),
        ("c", b"RIFF", {"captions": "x"}), ("d", flac(0.1), {"genre": "x"}), ("e", flac(0.1), {"caption": "other"}),
    ]  # fmt: skip
    write_shard(good, samples)
    write_shard(cut, [(str(number), flac(0.5, seed=number), {"captions": "x"}) for number in range(4)])
    cut.write_bytes(cut.read_bytes()[:-20_000])
    report = index("xares_song_describer", home / "data")
    dataset = open_dataset("xares_song_describer")
    answers = {clip_id: dataset.clip(clip_id).labels.answers for clip_id in dataset.clip_ids()}
    first = "valid_song_describer_000000"
    assert answers[f"{first}/a"] == ("one", "two")
    assert answers[f"{first}/e"] == ("other",)
    assert 2 < len(answers) < 6
    assert report.missing >= 4
    said = "\n".join(report.lines())
    for fault in ("holds no samples", "is no audio", "JSON without a text", "a shard that is cut off"):
        assert fault in said, said
    audio, rate = dataset.clip(f"{first}/a").load()
    assert (audio.shape, rate) == ((1, 1600), 16000)


def test_sound_that_libsndfile_does_not_read_is_decoded(home: Path) -> None:
    """AAC in ``.m4a``, as music comes: one second and the frames of the coder around it."""
    av = pytest.importorskip("av")
    content = io.BytesIO()
    with av.open(content, "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=16000)
        stream.layout = "mono"
        tone = (0.4 * np.sin(np.arange(16000) / 8)).astype(np.float32)[None]
        block = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
        block.sample_rate = 16000
        for packet in [*stream.encode(block), *stream.encode(None)]:
            file.mux(packet)
    shard = home / "data" / "GTZAN" / "test" / "gtzan_fold_9_0000000.tar.gz"
    write_shard(shard, [("a", content.getvalue(), {"genre": "rock"})], suffix="m4a")
    assert index("xares_gtzan", home / "data").clips == 1
    audio, rate = open_dataset("xares_gtzan").clip("gtzan_fold_9_0000000/a").load()
    assert rate == 16000
    assert 16000 <= audio.shape[1] <= 16000 + 3 * 1024
    assert 0.3 < np.abs(audio).max() < 0.5
