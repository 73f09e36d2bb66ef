"""Any folder of audio is a dataset, however its files are called."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import cast

import pytest
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests import Category, open_dataset
from codec_superb.data_manifests.errors import AudioFileError, DatasetError, ManifestError, UnknownDataset
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.folders import folder_dataset as module
from codec_superb.data_manifests.folders.folder_dataset import UNSTATED, FolderDataset

_WAV = wav_bytes(noise(0.05))


def _put(root: Path, *names: str | bytes, content: bytes = _WAV) -> Path:
    for name in names:
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def test_audio_is_found_at_any_depth_and_other_files_are_counted(tmp_path: Path) -> None:
    """Endings decide, in any case; the rest is ignored and counted."""
    _put(tmp_path, "a.wav", "x/y/z/b.FLAC", "x/c.Mp3", "x/notes.txt", "README", ".wav")
    dataset = FolderDataset(tmp_path)
    assert list(dataset.clip_ids()) == ["a.wav", "x/c.Mp3", "x/y/z/b.FLAC"]
    assert (len(dataset), dataset.ignored) == (3, 3)


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clips are not left out in silence. The refusal is made up: root is never refused."""
    _put(tmp_path, "a.wav", "locked/b.wav")
    scandir = os.scandir

    def refusing(folder: Path) -> object:
        if folder.name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DatasetError, match=r"cannot list the folder .*locked: permission denied"):
        FolderDataset(tmp_path)


def test_the_labels_are_not_called_ignored(tmp_path: Path) -> None:
    """labels.csv at the root is read, so it is no other file; one further down is."""
    _put(tmp_path, "a.wav", "x/labels.csv")
    (tmp_path / "labels.csv").write_text("path,speaker\na.wav,anna\n")
    assert FolderDataset(tmp_path).ignored == 1


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    """A path to one file is told from a path to nothing."""
    _put(tmp_path, "a.wav")
    with pytest.raises(UnknownDataset, match="is no folder"):
        FolderDataset(tmp_path / "a.wav")


def test_a_wrong_ending_is_a_clip_that_fails_with_its_reason(tmp_path: Path) -> None:
    """A text that is called .wav gets a row with an error; it is not overlooked."""
    dataset = FolderDataset(_put(tmp_path, "text.wav", content=b"hello"))
    with pytest.raises(AudioFileError, match="neither libsndfile nor FFmpeg"):
        dataset.clip("text.wav").load()


@pytest.mark.parametrize(
    ("name", "clip_id"),
    [
        (b"two\nlines.wav", "two%0Alines.wav"),
        (b"caf\xe9.wav", "caf%E9.wav"),
        (b"100% sure.wav", "100%25 sure.wav"),
        (b".hidden/.x.wav", "%2Ehidden/%2Ex.wav"),
        ("日本/語.wav".encode(), "日本/語.wav"),
        (b"-rf *.wav", "-rf %2A.wav"),
        (b"\xff" * 251 + b".wav", None),
    ],
)
def test_hostile_names_are_clips_like_any_other(tmp_path: Path, name: bytes, clip_id: str | None) -> None:
    """Each has an id that is safe to print, and its audio can be read."""
    dataset = FolderDataset(_put(tmp_path, name))
    [found] = dataset.clip_ids()
    assert clip_id is None or found == clip_id
    assert dataset.clip(found).load()[0].shape == (1, 800)


def test_loops_and_links_are_read_once(tmp_path: Path) -> None:
    """A loop ends; a folder is read under its own name, and a linked one outside under the link's."""
    root = _put(tmp_path / "root", "a/one.wav", "b/two.wav")
    outside = _put(tmp_path / "outside", "three.wav")
    (root / "a" / "loop").symlink_to(root)
    (root / "a" / "also").symlink_to(root / "b")
    (root / "self").symlink_to(root / "self")
    (root / "0_out").symlink_to(outside)
    (root / "linked.wav").symlink_to(outside / "three.wav")
    assert list(FolderDataset(root).clip_ids()) == ["0_out/three.wav", "a/one.wav", "b/two.wav", "linked.wav"]


def test_a_link_to_nothing_is_a_clip_and_a_pipe_is_not(tmp_path: Path) -> None:
    """The first fails with its reason; the second would block whoever opened it."""
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "broken.wav").symlink_to("nowhere")
    dataset = FolderDataset(tmp_path)
    assert list(dataset.clip_ids()) == ["broken.wav"]
    with pytest.raises(AudioFileError, match="no such file"):
        dataset.clip("broken.wav").load()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {"music/a.wav": "music", "speech.wav": "speech", "x/b.wav": "speech", "x/c.wav": "audio"}),
        ("music", {"music/a.wav": "music", "speech.wav": "music", "x/b.wav": "music", "x/c.wav": "audio"}),
    ],
)
def test_the_category_is_the_first_that_is_known(tmp_path: Path, given: str | None, expected: dict[str, str]) -> None:
    """labels.csv, then the folder at the top, then the caller, then speech."""
    _put(tmp_path, *expected)
    (tmp_path / "labels.csv").write_text("path,category\nx/c.wav,audio\n")
    dataset = open_dataset(tmp_path, category=cast("Category | None", given))
    assert {clip_id: dataset.clip(clip_id).category for clip_id in dataset.clip_ids()} == expected
    assert isinstance(dataset, FolderDataset)
    assert dataset.assumed_category == (None if given else "speech")
    (tmp_path / "labels.csv").write_text("path,category\nx/c.wav,audio\nx/b.wav,speech\nspeech.wav,speech\n")
    assert FolderDataset(tmp_path).assumed_category is None


def test_labels_come_from_the_csv_file(tmp_path: Path) -> None:
    """Known columns fill the labels, others are extra, a file without a line has none."""
    _put(tmp_path, "a b.wav", b"caf\xe9.wav", "c.wav")
    (tmp_path / "labels.csv").write_text(
        "\ufeffpath,text,language,speaker,emotion,events,licence,attribution,room\n"
        'a b.wav,"Hello, you",en,ann,happy,dog; cat ;,CC0-1.0,Ann,kitchen\n'
        "caf%E9.wav,,,bob,,,,,\n",
        encoding="utf-8",
    )
    dataset = FolderDataset(tmp_path)
    first = dataset.clip("a b.wav")
    assert (first.labels.text, first.labels.language, first.labels.speaker) == ("Hello, you", "en", "ann")
    assert (first.labels.emotion, first.labels.events) == ("happy", ("dog", "cat"))
    assert (first.labels.extra, first.licence, first.attribution) == ((("room", "kitchen"),), "CC0-1.0", "Ann")
    assert dataset.clip("caf%E9.wav").labels.speaker == "bob"
    assert (dataset.clip("c.wav").licence, dataset.clip("c.wav").labels.text) == (UNSTATED, None)
    assert dataset.licence == "several, stated clip by clip"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: expected a column path, got an empty file"),
        ("file,text\na.wav,hi\n", "line 1: expected a column path, got file, text"),
        ("path,text,text\n", "line 1: every column needs a name of its own"),
        ("path\na.wav\nnone.wav\n", "line 3, column path: no audio file 'none.wav'"),
        ("path\na.wav\n./a.wav\n", r"line 3, column path: a\.wav was given before"),
        ("path\n../a.wav\n", "line 2, column path: no audio file"),
        ("path,category\na.wav,noise\n", "line 2, column category: expected one of speech, audio, music, got 'noise'"),
        ("path,text\na.wav\n", "line 2, column text: expected 2 cells, got 1"),
        ("path,text\na.wav,hi,there\n", "line 2, column after text: expected 2 cells, got 3"),
        ('path,text\na.wav,"open\n', "line 2: no CSV"),
    ],
)
def test_a_mistake_in_the_labels_names_line_and_column(tmp_path: Path, text: str, complaint: str) -> None:
    """A label that is silently dropped would change a score."""
    _put(tmp_path, "a.wav")
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(ManifestError, match=complaint):
        FolderDataset(tmp_path)


def test_labels_that_are_no_utf_8_are_refused(tmp_path: Path) -> None:
    """A transcript in another encoding would be compared letter by letter."""
    _put(tmp_path, "a.wav")
    (tmp_path / "labels.csv").write_bytes(b"path,text\na.wav,caf\xe9\n")
    with pytest.raises(ManifestError, match="expected UTF-8, got byte 0xe9"):
        FolderDataset(tmp_path)


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    """The same files elsewhere have the same hash; another file, name or label another one."""
    one, two = _put(tmp_path / "one", "a.wav", "b.wav"), _put(tmp_path / "two", "a.wav", "b.wav")
    base = FolderDataset(one).manifest_hash
    assert FolderDataset(two).manifest_hash == base
    (two / "labels.csv").write_text("path,text\na.wav,hi\n")
    assert FolderDataset(two).manifest_hash != base
    _put(one, "a.wav", content=wav_bytes(noise(0.05, seed=1)))
    changed = FolderDataset(one).manifest_hash
    assert changed != base
    (one / "b.wav").rename(one / "c.wav")
    assert FolderDataset(one).manifest_hash not in {base, changed}


def test_files_are_read_once_for_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second opening reads only what changed since."""
    _put(tmp_path, "a.wav", "b.wav")
    base = FolderDataset(tmp_path).manifest_hash
    read: list[str] = []

    def noting(path: Path) -> str:
        read.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(module, "file_sha256", noting)
    assert FolderDataset(tmp_path).manifest_hash == base
    assert read == []
    os.utime(tmp_path / "b.wav", ns=(1, 1))
    assert FolderDataset(tmp_path).manifest_hash == base
    assert read == ["b.wav"]


def test_a_file_that_cannot_be_read_has_a_place_in_the_hash(tmp_path: Path) -> None:
    """It is neither an error nor the same as a file that is not there."""
    _put(tmp_path, "a.wav")
    without = FolderDataset(tmp_path).manifest_hash
    (tmp_path / "b.wav").symlink_to("nowhere")
    broken = FolderDataset(tmp_path).manifest_hash
    assert broken != without
    assert FolderDataset(tmp_path).manifest_hash == broken


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my songs (live)!", "my_songs_live"),
        ("...", "folder"),
        # printf größe | sha256sum, in UTF-8; decomposed the same
        ("größe", "gr_e_d353a267"),
        ("gro\u0308ße", "gr_e_d353a267"),
        ("音", "folder_bec69dd9"),
    ],
)
def test_the_name_of_the_dataset_is_safe_for_a_file(tmp_path: Path, folder: str, name: str) -> None:
    """Run folders are called by it."""
    assert FolderDataset(_put(tmp_path / folder, "a.wav")).name == name


def test_what_is_no_folder_of_audio_is_told(tmp_path: Path) -> None:
    """A missing folder, one without audio, and a name that is neither are told apart."""
    with pytest.raises(UnknownDataset, match="there is no folder"):
        open_dataset(tmp_path / "gone")
    with pytest.raises(UnknownDataset, match="there is no folder"):
        open_dataset("./gone")
    with pytest.raises(UnknownDataset, match=r"no audio in .*: none of 1 files ends in one of \.aac"):
        open_dataset(_put(tmp_path / "texts", "a.txt"))
    with pytest.raises(UnknownDataset, match="no dataset is called 'gone'"):
        open_dataset("gone")


def test_a_name_of_a_manifest_wins_over_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``mini`` is always the dataset; ``./mini`` is the folder; a category is only for folders."""
    _put(tmp_path / "mini", "a.wav")
    _put(tmp_path / "maxi", "a.wav")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match="datasets prepare mini"):
        open_dataset("mini")
    assert open_dataset("./mini").name == "mini"
    assert open_dataset("maxi", category="music").clip("a.wav").category == "music"


def test_an_unknown_clip_is_a_key_error(tmp_path: Path) -> None:
    """As with every mapping."""
    with pytest.raises(KeyError):
        FolderDataset(_put(tmp_path, "a.wav")).clip("b.wav")


def test_a_large_folder_costs_little_memory(tmp_path: Path) -> None:
    """5,000 clips stay below 500 bytes each."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5000):
        (folder / f"clip_{number:05d}.wav").touch()
    tracemalloc.start()
    try:
        dataset = FolderDataset(folder)
        # pathlib interns every name: the interpreter's own table of them may happen to grow here, by megabytes.
        taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, "*pathlib*")])
    finally:
        tracemalloc.stop()
    assert sum(statistic.size for statistic in taken.statistics("filename")) < 5000 * 500
    assert len(dataset) == 5000
