"""A source of pinned files: fetched from web servers, checked, read by an indexer as a publisher's folder."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.datasets.package_files import IndexServer, closed_port, noise, only_this_index, wav_bytes
from support.timing import wait_for

from codec_superb.data_manifests import check, open_dataset
from codec_superb.data_manifests.errors import DatasetError, DatasetNotPrepared, FetchError
from codec_superb.data_manifests.home import HOME_VARIABLE, datasets_home
from codec_superb.data_manifests.indexing.index import index_manifest
from codec_superb.data_manifests.manifest import FilesSource, Manifest, PinnedFile
from codec_superb.data_manifests.preparation import how_to_get, prepare_manifest

_TABLE = (
    b"filename,fold,target,category,esc10,src_file,take\n1-a-A-0.wav,1,0,dog,True,1,A\n1-b-A-3.wav,1,3,cow,True,1,B\n"
)


def _manifest(files: tuple[PinnedFile, ...], **source: Any) -> Manifest:
    return Manifest.model_validate({
        "name": "dogs", "title": "Dogs", "version": "1", "description": "two sounds", "categories": ["audio"],
        "licence": "CC0-1.0", "homepage": "https://example.org/dogs", "partition": {"text": "all"}, "cluster": "clip",
        "source": {"kind": "files", "layout": "esc50", "files": [file.model_dump() for file in files], **source},
    })  # fmt: skip


@pytest.fixture
def dogs(index: IndexServer) -> Manifest:
    """Serve two sounds and their table, laid out as ESC-50 is."""
    return _manifest((
        index.pin("audio/1-a-A-0.wav", wav_bytes(noise(0.2, seed=1))),
        index.pin("audio/1-b-A-3.wav", wav_bytes(noise(0.1, seed=2))),
        index.pin("meta/esc50.csv", _TABLE),
    ))  # fmt: skip


def test_files_are_fetched_and_indexed(dogs: Manifest, index: IndexServer) -> None:
    """Clips have the labels of the publisher's table; a second call does nothing and asks nobody."""
    report = prepare_manifest(dogs)
    assert (report.clips, report.made, report.seconds) == (2, 2, pytest.approx(0.3))
    dataset = open_dataset(datasets_home() / "dogs")
    assert [dataset.clip(name).labels.events for name in dataset.clip_ids()] == [("dog",), ("cow",)]
    assert check(datasets_home() / "dogs").right
    asked = len(index.requests)
    assert prepare_manifest(dogs) == dataclasses.replace(report, made=0)
    assert len(index.requests) == asked


def test_only_what_is_wrong_is_fetched_again(dogs: Manifest, index: IndexServer) -> None:
    """A clip that was changed or removed comes back with its hash; the others are not asked for."""
    first = prepare_manifest(dogs)
    folder = datasets_home() / "dogs" / "files" / "audio"
    (folder / "1-a-A-0.wav").write_bytes(wav_bytes(noise(0.2, seed=9)))
    assert not check(datasets_home() / "dogs").right
    second = prepare_manifest(dogs)
    assert (second.manifest_hash, second.made) == (first.manifest_hash, 1)
    assert len(index.downloads("1-a-A-0.wav")) == 2
    assert len(index.downloads("1-b-A-3.wav")) == 1
    newer = dogs.model_copy(update={"version": "2"})
    assert prepare_manifest(newer).made == 2
    assert len(index.downloads("1-b-A-3.wav")) == 1


def test_a_folder_that_the_user_has_is_indexed_as_well(dogs: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """Nothing is fetched; the dataset is the same."""
    for path, name in (("audio", "1-a-A-0.wav"), ("audio", "1-b-A-3.wav"), ("meta", "esc50.csv")):
        (tmp_path / "own" / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / path / name).write_bytes(index.files[name][1])
    report = index_manifest(dogs, tmp_path / "own")
    assert not index.requests
    assert prepare_manifest(dogs).manifest_hash == report.manifest_hash


def test_the_hash_of_the_manifest_is_held_to(dogs: Manifest) -> None:
    """Another hash is an error, and no dataset is left."""
    assert isinstance(dogs.source, FilesSource)
    source = dogs.source.model_copy(update={"manifest_hash": "0" * 64})
    with pytest.raises(DatasetError, match=f"expected audio with the hash {'0' * 64}, got [0-9a-f]+: scores would not"):
        prepare_manifest(dogs.model_copy(update={"source": source}))
    with pytest.raises(DatasetNotPrepared):
        open_dataset("svq_ten")
    assert not (datasets_home() / "dogs" / "index.json").exists()
    right = prepare_manifest(dogs).manifest_hash
    kept = dogs.source.model_copy(update={"manifest_hash": right})
    assert prepare_manifest(dogs.model_copy(update={"source": kept})).made == 0


def test_what_cannot_be_fetched_is_named_with_the_folder_to_put_it_into(
    dogs: Manifest, index: IndexServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All files of a folder in one sentence; put there by hand, they are taken."""
    dead = f"http://127.0.0.1:{closed_port()}"
    only_this_index(monkeypatch, tmp_path, dead)
    assert isinstance(dogs.source, FilesSource)
    files = tuple(f.model_copy(update={"url": f"{dead}/{Path(f.path).name}"}) for f in dogs.source.files)
    manifest = dogs.model_copy(update={"source": dogs.source.model_copy(update={"files": files})})
    folder = datasets_home() / "dogs" / "files" / "audio"
    with pytest.raises(FetchError, match=rf"cannot fetch 1-a-A-0.wav, 1-b-A-3.wav: .*put them by hand into {folder}$"):
        prepare_manifest(manifest)
    for file in files:
        path = datasets_home() / "dogs" / "files" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(index.files[path.name][1])
    assert prepare_manifest(manifest).clips == 2


def test_a_server_that_sends_something_else_is_refused(dogs: Manifest, index: IndexServer) -> None:
    """The SHA-256 tells; nothing of it is kept."""
    index.files["esc50.csv"] = ("", _TABLE.replace(b"dog", b"cat"))
    with pytest.raises(FetchError, match=r"cannot fetch esc50.csv: .* serves it with SHA-256 [0-9a-f]{64}, expected"):
        prepare_manifest(dogs)
    assert not (datasets_home() / "dogs" / "files" / "meta" / "esc50.csv").exists()
    assert not (datasets_home() / "dogs" / "index.json").exists()


_PREPARE = """
import sys
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import prepare_manifest
prepare_manifest(Manifest.model_validate_json(sys.stdin.read()))
"""


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_killed_process_leaves_what_the_next_one_goes_on_with(dogs: Manifest, index: IndexServer, home: Path) -> None:
    """SIGKILL in the middle of a download: the next call resumes it."""
    assert isinstance(dogs.source, FilesSource)
    large = index.pin("meta/notes.bin", bytes(1_000_000))
    dogs = dogs.model_copy(update={"source": dogs.source.model_copy(update={"files": (*dogs.source.files, large)})})
    index.stall_after["notes.bin"] = 600_000
    environment = os.environ | {HOME_VARIABLE: str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", _PREPARE], stdin=subprocess.PIPE, text=True, env=environment)
    assert process.stdin is not None
    process.stdin.write(dogs.model_dump_json())
    process.stdin.close()
    part = datasets_home() / "dogs" / "files" / "meta" / "notes.bin.part"
    wait_for(lambda: part.exists() and part.stat().st_size > 0, "the download did not get there")
    process.send_signal(signal.SIGKILL)
    process.wait()
    index.stall_after.clear()
    index.release.set()
    assert prepare_manifest(dogs).made == 2
    assert [asked is None for asked in index.downloads("notes.bin")] == [True, False]
    assert check(datasets_home() / "dogs").right


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"path": "../a.wav"}, "is no clip id"),
        ({"path": "/a.wav"}, "is no clip id"),
        ({"path": "a\\b.wav"}, "String should match pattern"),
        ({"url": "ftp://example.org/a.wav"}, "String should match pattern"),
        ({"url": "file:///etc/passwd"}, "String should match pattern"),
        ({"sha256": "0"}, "String should match pattern"),
        ({"size": 0}, "greater than 0"),
    ],
)
def test_a_manifest_cannot_name_files_outside(changes: dict[str, Any], complaint: str) -> None:
    """Neither on this machine nor without a hash."""
    fields = {"url": "https://example.org/a.wav", "sha256": "0" * 64, "size": 1, "path": "a.wav"}
    with pytest.raises(ValidationError, match=complaint):
        PinnedFile.model_validate(fields | changes)


def test_a_path_is_given_once(dogs: Manifest) -> None:
    """And the guide to a dataset that is not here names the command."""
    assert isinstance(dogs.source, FilesSource)
    with pytest.raises(ValidationError, match=r"files are given twice: meta/esc50\.csv"):
        _manifest((*dogs.source.files, dogs.source.files[-1]))
    assert how_to_get(dogs) == "Dogs is not on this machine: run `codec-superb datasets prepare dogs`"
