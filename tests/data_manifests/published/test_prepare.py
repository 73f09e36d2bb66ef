"""A published dataset comes by one call: fetched, checked, unpacked, indexed; stopped anywhere, it goes on."""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.datasets.archives import librispeech, published, served, tar_gz, zipped
from support.datasets.package_files import IndexServer, noise, wav_bytes

from codec_superb.data_manifests import check
from codec_superb.data_manifests.errors import DatasetError, FetchError, LayoutError, WriteError
from codec_superb.data_manifests.home import datasets_home, published_home
from codec_superb.data_manifests.indexing.index import index_manifest
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import how_to_get, prepare_manifest
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate, ignore_progress
from codec_superb.data_manifests.published.plan import plan
from codec_superb.data_manifests.published.prepare import Prepared, prepare_published

_NAME = "test-clean.tar.gz"
_RULE = {"members": ["LibriSpeech/test-clean/*"]}


@pytest.fixture
def tiny(index: IndexServer) -> Manifest:
    """Serve LibriSpeech, as OpenSLR lays it out."""
    archive = served(index, _NAME, tar_gz(librispeech("test-clean")), **_RULE)
    return published("librispeech", archive, splits=("test-clean",))


def _prepare(manifest: Manifest, folder: Path, progress: OnProgress = ignore_progress, **options: Any) -> Prepared:
    return prepare_published(plan(manifest, folder), progress, **options)


def _files(folder: Path) -> set[str]:
    """Return the files that a user sees."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)}


def test_it_is_fetched_unpacked_by_its_rule_and_indexed(tiny: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """Members outside the rule stay in the archive; a second call asks nobody, with or without the archive."""
    what = plan(tiny, tmp_path / "place")
    assert what.lines()[0].startswith("Tiny: ")
    assert "licence: CC0-1.0" in "".join(what.lines())
    first = _prepare(tiny, tmp_path / "place")
    assert first.report is not None
    assert (first.report.clips, first.report.complete, first.report.unlabelled) == (2, True, 0)
    chapter = "LibriSpeech/test-clean/61/70968/61-70968"
    kept = {f"{chapter}.trans.txt", f"{chapter}-0000.flac", f"{chapter}-0001.flac"}
    assert _files(tmp_path / "place") == kept | {f"archives/{_NAME}"}
    assert check(datasets_home() / "tiny").right
    asked = len(index.requests)
    assert _prepare(tiny, tmp_path / "place", remove_archives=True).report is None
    assert _files(tmp_path / "place") == kept
    again = _prepare(tiny, tmp_path / "place")
    assert (again.report, again.index) == (None, first.index)
    assert len(index.requests) == asked
    (tmp_path / "place" / f"{chapter}-0001.flac").unlink()
    assert _prepare(tiny, tmp_path / "place").index.manifest_hash == first.index.manifest_hash
    assert check(datasets_home() / "tiny").right


class _StoppedAt:
    """Stops at a call of the progress, as Ctrl-C does."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, _update: ProgressUpdate) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_stopped_at_any_moment_it_goes_on(tiny: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """At each step of downloading, unpacking and indexing in turn; the connection breaks off besides."""
    index.break_after[_NAME] = [300_000, 300_000]
    stops = 0
    while True:
        try:
            done = _prepare(tiny, tmp_path / "place", _StoppedAt(stops))
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops >= 5
    assert done.index.clips == 2
    assert check(datasets_home() / "tiny").right
    whole = _prepare(tiny, tmp_path / "other")
    assert whole.index.manifest_hash == done.index.manifest_hash


def test_below_the_home_folder_datasets_of_a_publisher_share_what_they_need(tiny: Manifest, index: IndexServer) -> None:
    """The default place is that of the layout; a dataset with the same archive fetches nothing."""
    assert prepare_manifest(tiny).clips == 2
    assert (published_home() / "librispeech" / "archives" / _NAME).is_file()
    asked = len(index.requests)
    assert prepare_manifest(tiny).made == 0
    assert prepare_manifest(tiny.model_copy(update={"name": "other"})).made == 2
    assert len(index.requests) == asked


def test_what_the_user_has_is_not_fetched_again(tiny: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """A folder of the user's own that was indexed whole is enough."""
    for name, content in librispeech("test-clean").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    index_manifest(tiny, tmp_path)
    assert prepare_manifest(tiny).made == 0
    assert not index.requests


def test_a_wrong_hash_leaves_nothing(tiny: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """Neither an archive nor a dataset."""
    index.files[_NAME] = ("", bytes(len(index.files[_NAME][1])))
    with pytest.raises(FetchError, match=r"serves it with SHA-256 [0-9a-f]{64}, expected"):
        _prepare(tiny, tmp_path / "place")
    assert not _files(tmp_path / "place")
    assert not (datasets_home() / "tiny").exists()


def test_the_first_hash_is_held_to_where_none_is_published(index: IndexServer, tmp_path: Path) -> None:
    """It is shown and kept beside the data; another file is refused with the day of the first one."""
    content = tar_gz(librispeech("test-clean"))
    entry = served(index, _NAME, content, sha256=None, size=None)
    manifest, place = published("librispeech", entry, splits=("test-clean",)), tmp_path / "place"
    what = plan(manifest, place)
    assert what.bytes == len(content), "the server was asked"
    assert "no hash is published of test-clean.tar.gz" in what.lines()[-1]
    [sentence] = _prepare(manifest, place, remove_archives=True).notes
    assert f"SHA-256 {hashlib.sha256(content).hexdigest()}" in sentence
    chapter = place / "LibriSpeech" / "test-clean" / "61" / "70968"
    (chapter / "61-70968-0000.flac").unlink()
    index.files[_NAME] = ("", tar_gz({**librispeech("test-clean"), "more": b""}))
    with pytest.raises(FetchError, match=r"expected .*; it came otherwise on \d{4}-\d\d-\d\d, as .*\.prepared notes"):
        _prepare(manifest, place)
    index.files[_NAME] = ("", content)
    assert _prepare(manifest, place).notes == ()
    (chapter / "61-70968-0000.flac").unlink()
    (place / ".prepared" / "lock.json").write_text("{")
    with pytest.raises(DatasetError, match=r"lock\.json cannot be read; it holds the hashes"):
        _prepare(manifest, place, remove_archives=True)


def test_a_licence_that_must_be_agreed_to_is_asked_for(index: IndexServer, tmp_path: Path) -> None:
    """Before anything is fetched; once it is there, nobody is asked again."""
    archive = served(index, _NAME, tar_gz(librispeech("test-clean")))
    manifest = published("librispeech", archive, splits=("test-clean",), agreement="Research only.")
    with pytest.raises(DatasetError, match=r'\(Research only; see .*\): add --accept-licence "CC0-1.0" if you agree'):
        _prepare(manifest, tmp_path)
    assert not index.requests
    assert _prepare(manifest, tmp_path, accepted=["CC0-1.0"]).index.clips == 2
    assert _prepare(manifest, tmp_path).report is None


def test_without_room_it_does_not_begin(tiny: Manifest, index: IndexServer, tmp_path: Path) -> None:
    """An exabyte fits on no disk of these tests."""
    archive = served(index, _NAME, b"", size=10**18)
    with pytest.raises(
        DatasetError, match=r"Tiny needs 1000000000\.0 GB for what is fetched and at least 1.* room for"
    ):
        _prepare(published("librispeech", archive), tmp_path)
    assert not index.requests


def test_a_disk_that_fills_while_it_is_unpacked_is_told(index: IndexServer, tmp_path: Path) -> None:
    """With room again, the archive is not fetched again."""
    members = {**librispeech("test-clean"), "LibriSpeech/test-clean/61/zeros.bin": bytes(3_000_000)}
    manifest = published("librispeech", served(index, _NAME, tar_gz(members), **_RULE), splits=("test-clean",))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(WriteError, match=r"cannot write .*zeros\.bin: File too large; make room there"):
            _prepare(manifest, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert _prepare(manifest, tmp_path).index.clips == 2
    assert len(index.downloads(_NAME)) == 1


@pytest.mark.skipif(shutil.which("zip") is None, reason="Info-ZIP, which makes split zip files, is not installed")
def test_a_split_zip_is_read_from_its_parts(index: IndexServer, tmp_path: Path) -> None:
    """FSD50K as Zenodo has it: parts of a zip file made by Info-ZIP, a table in another; nothing is joined on disk."""
    source = tmp_path / "source" / "FSD50K.eval_audio"
    source.mkdir(parents=True)
    for number in range(4):
        (source / f"{number}.wav").write_bytes(wav_bytes(noise(2.0, seed=number)))
    zip_file = tmp_path / "FSD50K.eval_audio.zip"
    subprocess.run(["zip", "-q", "-s", "64k", "-r", zip_file, source.name], cwd=source.parent, check=True)
    parts = sorted(tmp_path.glob("FSD50K.eval_audio.z*"))
    assert len(parts) > 3
    table = b"fname,labels,mids\n" + b"".join(b"%d,Bark,/m/0\n" % number for number in range(4))
    entries = [served(index, part.name, part.read_bytes()) for part in parts]
    tables = served(index, "FSD50K.ground_truth.zip", zipped({"FSD50K.ground_truth/eval.csv": table}))
    done = _prepare(published("fsd50k", *entries, tables, splits=("eval",)), tmp_path / "place")
    assert done.report is not None
    assert (done.report.clips, done.report.complete) == (4, True)
    for path in source.iterdir():
        assert (tmp_path / "place" / source.name / path.name).read_bytes() == path.read_bytes()
    lost = published("fsd50k", *entries[1:], tables, splits=("eval",))
    with pytest.raises(FetchError, match=r"FSD50K\.eval_audio\.zip cannot be read as an archive"):
        _prepare(lost, tmp_path / "lost")


def test_archives_within_an_archive_are_unpacked_where_they_lie(index: IndexServer, tmp_path: Path) -> None:
    """AISHELL-1 as OpenSLR has it: of the archives of speakers, only what is of the test set."""
    sound = wav_bytes(noise(0.2))
    utterance, line = "BAC009S0764W0121", "BAC009S0764W0121 甚至 出现 交易\n"
    members = {
        "data_aishell/transcript/aishell_transcript_v0.8.txt": line.encode(),
        "data_aishell/wav/S0002.tar.gz": tar_gz({"./train/S0002/BAC009S0002W0122.wav": sound}),
        "data_aishell/wav/S0764.tar.gz": tar_gz({f"./test/S0764/{utterance}.wav": sound, "../outside.wav": sound}),
    }
    rule = {"members": ["*/transcript/*", "*/S0[789]*.tar.gz"], "inner": ["test/*"]}
    manifest = published("aishell1", served(index, "data_aishell.tgz", tar_gz(members), **rule), splits=("test",))
    report = _prepare(manifest, tmp_path / "place", remove_archives=True).report
    assert report is not None
    assert (report.clips, report.complete, report.unlabelled) == (1, True, 0)
    assert _files(tmp_path / "place") == {
        "data_aishell/transcript/aishell_transcript_v0.8.txt", f"data_aishell/wav/test/S0764/{utterance}.wav",
    }  # fmt: skip


def test_plain_files_come_as_they_are(index: IndexServer, tmp_path: Path) -> None:
    """Files that are no archives lie where they belong, and are not removed with the archives."""
    table = b"filename,fold,target,category,esc10,src_file,take\n1-a-A-0.wav,1,0,dog,True,1,A\n"
    entries = (
        served(index, "1-a-A-0.wav", wav_bytes(noise(0.2)), into="audio"),
        served(index, "esc50.csv", table, into="meta"),
    )
    assert _prepare(published("esc50", *entries), tmp_path, remove_archives=True).index.clips == 1
    assert _files(tmp_path) >= {"audio/1-a-A-0.wav", "meta/esc50.csv"}


def test_another_archive_than_described_is_told(index: IndexServer, tmp_path: Path) -> None:
    """No member fits the rule; what fits it but no indexer is told by the indexer."""
    stranger = served(index, "a.zip", zipped({"notes.txt": b"hello"}), members=["LibriSpeech/*"])
    with pytest.raises(FetchError, match=r"a\.zip has no member that is needed \(LibriSpeech/\*\): it is another"):
        _prepare(published("librispeech", stranger), tmp_path / "a")
    with pytest.raises(LayoutError, match="does not have its publisher's layout"):
        _prepare(published("librispeech", served(index, "b.zip", zipped({"notes.txt": b"hello"}))), tmp_path / "b")
    damaged = served(index, "c.zip", zipped({"notes.txt": bytes(9000)})[:-30])
    with pytest.raises(FetchError, match=r"c\.zip cannot be read as an archive: .*; delete it and prepare again"):
        _prepare(published("librispeech", damaged), tmp_path / "c")


def test_a_dataset_that_is_not_there_names_its_command_or_its_steps(tiny: Manifest) -> None:
    """``prepare`` where it is offered to everybody, otherwise what to do by hand, in order."""
    assert how_to_get(tiny) == "Tiny is not on this machine: run `codec-superb datasets prepare tiny`"
    source = tiny.source.model_copy(update={"download": None, "steps": ("ask for it", "unpack it")})
    by_hand = tiny.model_copy(update={"source": source})
    with pytest.raises(
        DatasetError, match=r"(?s)had by hand:\n  1\. ask for it\n  2\. unpack it\n  then: codec-superb"
    ):
        prepare_manifest(by_hand)


@pytest.mark.parametrize(
    ("archives", "complaint"),
    [
        ([], "either archives or a folder of the hub"),
        ([{"url": "https://a.example/x.zip"}, {"url": "https://b.example/x.zip"}], "have the same name: x.zip"),
        ([{"url": "https://a.example/x.zip", "into": "../x"}], "is no clip id"),
        ([{"url": "https://a.example/x.zip", "md5": "0"}], "should match pattern"),
        ([{"url": "file:///etc/passwd"}], "should match pattern"),
    ],
)
def test_a_manifest_cannot_describe_what_makes_no_sense(archives: list[dict[str, Any]], complaint: str) -> None:
    """Names are different, places lie within the folder, hashes are hashes."""
    with pytest.raises(ValueError, match=complaint):
        published("librispeech", *archives)
