"""Audio files without a folder of their own are a dataset too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.folders.files_dataset import gather_files
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Make a folder with audio, other files, and a line feed in a name."""
    for number, name in enumerate(["a.wav", "x/b.WAV", "x/c\nd.wav"]):
        path = tmp_path / "sound" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wav_bytes(noise(0.05, seed=number)))
    (tmp_path / "sound/notes.md").write_text("no audio")
    return tmp_path / "sound"


def _gathered(*specs: str | Path, listed: bytes = b"") -> list[str]:
    return gather_files([str(spec) for spec in specs], io.BytesIO(listed))


def test_a_file_is_a_dataset_of_one_clip(files: Path) -> None:
    """It has its own name, no folder in its id, and a category that may be given."""
    assert _gathered(files / "x/b.WAV", "mini") == [str(files / "x/b.WAV"), "mini"]
    dataset = open_dataset(str(files / "x/b.WAV"), category="music")
    assert (dataset.name, list(dataset.clip_ids()), dataset.clip("b.WAV").category) == ("b", ["b.WAV"], "music")


def test_several_files_have_ids_and_hash_of_a_folder_with_them(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are named: one by one, relative, on standard input, in a list, in any order."""
    whole = FolderDataset(files)
    monkeypatch.chdir(files)
    (files / "mine.txt").write_text("\ufeffx/b.WAV\r\n\na.wav\n")
    names = {}
    for spec in (
        *_gathered("a.wav", "x/b.WAV", files / "x/c\nd.wav"),
        *_gathered("x/b.WAV", "-", listed=b"./a.wav\0x/c\nd.wav\0"),
    ):
        dataset = open_dataset(spec)
        assert list(dataset.clip_ids()) == list(whole.clip_ids())
        assert dataset.manifest_hash == whole.manifest_hash
        assert not dataset.collections
        names[spec] = dataset.name
    assert set(names.values()) == {"a_and_2_more"}
    listed = open_dataset("mine.txt")
    assert (listed.name, list(listed.clip_ids())) == ("mine", ["a.wav", "x/b.WAV"])
    assert _gathered("speech", "a.wav", "mini", "x/b.WAV")[::2] == ["speech", "mini"]


@pytest.mark.parametrize(
    ("specs", "listed", "told"),
    [
        (["nothing.wav"], b"", r"there is no file .*nothing\.wav$"),
        (["a.wav", "nothing.wav"], b"", r"there is no file .*nothing\.wav$"),
        (["lost.txt"], b"", r"there is no file .*nothing\.wav; paths in a list are relative to its folder$"),
        (["-"], b"\n \n", "on standard input, a path a line; got nothing"),
        (["-"], b"a.wav\nnotes.md\n", "expected audio files in the list, got .*notes.md"),
        (["a.wav", "./a.wav"], b"", "a.wav is named 2 times"),
        (["empty.txt"], b"", "empty.txt, a path a line; got an empty file"),
        (["notes.md"], b"", "no dataset is called 'notes.md' and no such file or folder"),
        (["x/notes.md"], b"", "there is no folder x/notes.md"),
    ],
)
def test_a_list_that_cannot_be_a_dataset_is_refused(
    files: Path, specs: list[str], listed: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence says what was expected."""
    monkeypatch.chdir(files)
    (files / "empty.txt").touch()
    (files / "lost.txt").write_text("nothing.wav")
    with pytest.raises(DatasetError, match=told):
        open_dataset(_gathered(*specs, listed=listed)[0])
