"""Shards: what this program writes is what it reads, and what is wrong with strangers' costs itself alone."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from support.applications.xares import TONES, make_training, write_tones
from support.profile import examples

from codec_superb.applications.errors import ApplicationError, MissingLabels, PredictionFailed
from codec_superb.applications.xares.configuration import track_named
from codec_superb.applications.xares.shard_examples import examples_of_shards
from codec_superb.applications.xares.shard_writer import write_shards
from codec_superb.applications.xares.shards import decode, find_shards, is_corrupt, read_shard
from codec_superb.applications.xares.training import Training, train
from codec_superb.data_manifests.audio.webdataset import ShardReport, expand


def _flac(samples: np.ndarray, rate: int = 16000) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="FLAC")
    return file.getvalue()


TONE = _flac(0.5 * np.sin(np.arange(1600) / 5))


def _shard(file: Path, members: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(file, "w:gz") as shard:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            shard.addfile(info, io.BytesIO(content))
    return file


def _json(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Every clip with its label, the samples as the dataset has them; the same bytes when it is written again."""
    tones = write_tones(tmp_path / "tones", 3)
    done = write_shards(str(tones), "events", tmp_path / "one", 4)
    assert done == (6, 2, 2, 0)
    assert write_shards(str(tones), "events", tmp_path / "one", 4).written == 0
    write_shards(str(tones), "events", tmp_path / "two", 4)
    files = find_shards(tmp_path / "one", "tones_{000000..000001}.tar.gz")
    assert [file.read_bytes() for file in files] == [(tmp_path / "two" / file.name).read_bytes() for file in files]
    report = ShardReport()
    found = [of for file in files for of in read_shard(file, ("label",), report, training=True)]
    assert not report.faults
    assert [of.target for of in found] == ["cat"] * 3 + ["dog"] * 3
    for of, name in zip(found, [f"{name}{number}" for name in TONES for number in range(3)], strict=True):
        original, _ = soundfile.read(tones / f"{name}.wav", dtype="float32")
        np.testing.assert_array_equal(decode(of, 16000), original)
    before = files[0].read_bytes()
    files[0].write_bytes(b"of another label")
    assert write_shards(str(tones), "events", files[0].parent, 4).written == 1
    assert files[0].read_bytes() == before
    with pytest.raises(MissingLabels, match="expected clips with the label emotion, got none"):
        write_shards(str(tones), "emotion", tmp_path / "three", 4)
    with pytest.raises(MissingLabels, match=r"expected a label of text, .* or extra:NAME, got 'mood'"):
        write_shards(str(tones), "mood", tmp_path / "three", 4)


def test_faults_are_counted_with_their_places(tmp_path: Path) -> None:
    """Eight kinds in one shard; the good samples around them are there."""
    members = [
        ("a.flac", TONE), ("a.json", _json(label="cat")),
        ("b.flac", TONE),
        ("c.json", _json(label="dog")),
        ("d.flac", TONE), ("d.json", b"{no json"),
        ("e.flac", TONE), ("e.json", _json(other="x")),
        ("f.flac", TONE), ("f.json", b"[1]"),
        ("g.flac", TONE), ("g.json", _json(label="!!!! ????")),
        ("h.wav", TONE), ("h.flac", TONE), ("h.json", _json(text=7)),
        ("../i.txt", b"ignored"),
        ("j.json", _json(captions=["one", "two"])), ("j.flac", TONE),
    ]  # fmt: skip
    file = _shard(tmp_path / "s.tar.gz", members)
    report = ShardReport()
    found = [(of.key, of.target) for of in read_shard(file, ("label", "text"), report, training=True)]
    assert found == [("a", "cat"), ("h", "7"), ("j", "one"), ("j", "two")]
    assert dict(report.faults) == {
        "JSON that cannot be read": 1, "JSON without a text": 1, "JSON without fields": 1,
        "a text that training leaves out": 1, "a key that comes twice": 1, "a sound without JSON": 1,
        "a text without sound": 1,
    }  # fmt: skip
    assert any(said.startswith("s.tar.gz d: JSON that cannot be read") for said in report.examples)
    # a test leaves nothing out: what is odd there is answered, and counts
    assert "!!!! ????" in [of.target for of in read_shard(file, ("label",), ShardReport(), training=False)]


def test_strange_headers_and_texts_are_counted(tmp_path: Path) -> None:
    """A sparse file's header that is no number, JSON of 100,000 lists, half a surrogate pair: each costs itself."""
    members = [
        ("a.flac", TONE), ("a.json", b"[" * 100_000), ("b.flac", TONE), ("b.json", b'{"text": "cat \\ud800"}'),
        ("c.flac", TONE), ("c.json", _json(text="dog")),
    ]  # fmt: skip
    file = tmp_path / "s.tar"
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as shard:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            shard.addfile(info, io.BytesIO(content))
        sparse = tarfile.TarInfo("d.flac")
        sparse.pax_headers = {"GNU.sparse.map": "a,b"}
        shard.addfile(sparse)
    report = ShardReport()
    assert [of.target for of in read_shard(file, ("label",), report, training=True)] == ["dog"]
    assert dict(report.faults) == {
        "JSON that cannot be read": 1, "JSON without a text": 1, "a shard that is cut off or damaged": 1,
    }  # fmt: skip


@given(cut=st.floats(0.02, 0.98))
@examples(40)
def test_a_shard_that_is_cut_off_gives_what_stands_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, cut: float
) -> None:
    """Wherever it is cut, one fault is counted, and no sample is half."""
    folder = tmp_path_factory.mktemp("cut")
    noise = np.random.default_rng(0)
    members = []
    for number in range(4):
        members += [(f"{number}.flac", _flac(noise.uniform(-0.5, 0.5, 1600))), (f"{number}.json", _json(label="cat"))]
    whole = _shard(folder / "whole.tar.gz", members)
    keys = {of.key: of.audio for of in read_shard(whole, ("label",), ShardReport(), training=True)}
    assert len(keys) == 4
    file = folder / "cut.tar.gz"
    file.write_bytes(whole.read_bytes()[: int(len(whole.read_bytes()) * cut)])
    report = ShardReport()
    for of in read_shard(file, ("label",), report, training=True):
        assert of.audio == keys[of.key]
        decode(of, 16000)
    assert report.faults["a shard that is cut off or damaged"] == 1


def test_a_sound_is_read_as_published(tmp_path: Path) -> None:
    """Mixed to mono, divided by its peak where that is above 1, at 16 kHz; no sound and 0 samples are reasons."""
    loud = io.BytesIO()
    soundfile.write(loud, np.full((800, 2), [3.0, 1.0]), 8000, format="WAV", subtype="FLOAT")
    empty = io.BytesIO()
    soundfile.write(empty, np.zeros(0), 8000, format="WAV")
    members = [
        ("a.wav", loud.getvalue()), ("a.json", _json(text="x")), ("b.wav", b"RIFF"), ("b.json", _json(text="x")),
        ("c.wav", empty.getvalue()), ("c.json", _json(text="x")),
    ]  # fmt: skip
    first, second, third = read_shard(_shard(tmp_path / "s.tar.gz", members), (), ShardReport(), training=True)
    samples = decode(first, 16000)
    assert samples.size == 1600
    assert np.abs(samples[400:1200] - 1).max() < 1e-3
    for of in (second, third):
        with pytest.raises(PredictionFailed, match=f"s.tar.gz {of.key}"):
            decode(of, 16000)


def test_patterns_stand_for_names(tmp_path: Path) -> None:
    """Leading zeros stay; several braces are all their pairs; what is missing is named with its number."""
    assert expand("a_{008..010}.tar.gz") == ["a_008.tar.gz", "a_009.tar.gz", "a_010.tar.gz"]
    assert expand("{x,y}/{1..2}") == ["x/1", "x/2", "y/1", "y/2"]
    assert len(expand("NSynth/train/train_000{000..371}.tar.gz")) == 372
    (tmp_path / "a_0.tar").touch()
    with pytest.raises(ApplicationError, match=r"a_1.tar: expected a shard, found none \(2 of 3 of a_\{0..2\}.tar are"):
        find_shards(tmp_path, "a_{0..2}.tar")


def test_texts_that_training_leaves_out() -> None:
    """Half of it no letters, more than ten signs of fewer than four kinds, accents by themselves."""
    for text in ("", "!?!? ab", "aaaaaaaaaaab", "cafe\u0301"):
        assert is_corrupt(text), text
    for text in ("cat", "a;b", "今天天气很好", "café", "7", "aaaaaaaaaa"):
        assert not is_corrupt(text), text


@pytest.mark.sample(2, among="decoders are trained")
def test_a_decoder_is_trained_on_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sounds of a dataset and of its shards are the same training but for their keys; a shard is read once."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    training, store = make_training(tmp_path, steps=4)
    write_shards(str(tmp_path / "tones"), "events", tmp_path / "data", 10)
    file = tmp_path / "track.yaml"
    said = file.read_text().replace(
        "train:", "fields: [label]\n    shards: ['tones_{000000..000002}.tar.gz']\n    train:"
    )
    file.write_text(said)
    track = track_named(str(file))
    damaged = tmp_path / "data" / "tones_000002.tar.gz"
    damaged.write_bytes(gzip.compress(gzip.decompress(damaged.read_bytes())[:600]))
    report = ShardReport()
    found = examples_of_shards(track, tmp_path / "data", store, report)
    (sounds,) = found.values()
    assert len(sounds) == 20
    assert report.faults["a shard that is cut off or damaged"] == 1
    again = ShardReport()
    monkeypatch.setattr(
        "codec_superb.applications.xares.shard_examples.read_shard", lambda *_, **__: pytest.fail("read")
    )
    assert [of.key for of in examples_of_shards(track, tmp_path / "data", store, again)["xares_sound"]] == [
        of.key for of in sounds
    ]
    assert again.faults == report.faults
    other = Training(track, training.configuration, training.language, found, 42, store.digest)
    assert other.key != training.key
    train(other, store)
