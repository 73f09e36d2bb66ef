"""Files of a folder belong to clips by their names, or to none."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile
from support.pipeline.runs import noise

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.names import reference_names
from codec_superb.pipeline.importing.pairing import ClipNames, pair_files
from codec_superb.pipeline.importing.references import export_references
from codec_superb.pipeline.runs.folder import RunFolder

_LONG = "x" * 230


@pytest.mark.parametrize(
    ("clips", "path", "clip"),
    [
        (["speech/utt.1"], "speech/utt.1.wav", "speech/utt.1"),
        (["speech/utt.1"], "speech/utt.wav", None),
        (["a/b.wav"], "a/b.wav", "a/b.wav"),
        (["a/b.wav"], "a/b.FLAC", "a/b.wav"),
        (["a/b.wav"], "a/b.wav.flac", "a/b.wav"),
        (["a/b.wav"], "b.wav", None),
        (["a.wav", "a.flac"], "a.flac", "a.flac"),
        (["a.wav", "a.flac"], "a.flac.wav", "a.flac"),
        (["a.wav", "a.flac"], "a.mp3", None),
        (["a", "a.wav"], "a.wav", "a.wav"),
        (["a", "a.wav"], "a.wav.wav", "a.wav"),
        (["50%25/a%3Fb"], "50%/a?b.wav", "50%25/a%3Fb"),
        (["50%25/a%3Fb"], "50%25/a%3Fb.wav", "50%25/a%3Fb"),
        (["caf\xe9.wav"], "cafe\u0301.wav", "caf\xe9.wav"),
        (["cafe\u0301.wav"], "caf\xe9.flac", "cafe\u0301.wav"),
        (["caf\xe9", "cafe\u0301"], "cafe\u0301.wav", "cafe\u0301"),
        (["a"], "../a.wav", None),
        (["a"], "", None),
    ],
)
def test_the_closest_name_wins(clips: list[str], path: str, clip: str | None) -> None:
    """With or without an ending on either side, written out or escaped; what is ambiguous belongs to none."""
    assert ClipNames(clips).clip_of(path) == clip


def test_what_is_exported_and_what_a_run_stores_comes_back(tmp_path: Path) -> None:
    """Every id has its file again, also one whose name is too long for a file system or reserved."""
    ids = [f"a/{_LONG}/b.wav", "a/b.wav/c", ".part-/x", "a.wav", "a.flac", "plain"]
    names, run = ClipNames(ids), RunFolder(tmp_path)
    for clip, file in reference_names(ids).items():
        assert names.clip_of(file) == clip
        assert names.clip_of(str(run.audio_path(clip).relative_to(run.audio))) == clip


def test_doubled_and_extra_files_are_listed(tmp_path: Path) -> None:
    """Nothing is chosen between two files; other endings do not count."""
    sounds, made = tmp_path / "sounds", tmp_path / "made"
    for name in ("a.wav", "b.wav", "caf\xe9.wav", "x/c.wav"):
        (sounds / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(sounds / name, noise(100), 8000)
    export_references(str(sounds), made)
    soundfile.write(made / "b.flac", noise(100), 8000)
    soundfile.write(made / "z.wav", noise(100), 8000)
    soundfile.write(made / "cafe\u0301.wav", noise(100), 8000)
    for name in ("._z.wav", ".hidden.wav", "x/._c.wav"):
        (made / name).write_bytes(b"\0\5\x16\7")
    pairing = pair_files(made, ClipNames(open_dataset(sounds).clip_ids()), AUDIO_SUFFIXES)
    assert pairing.files == {"a.wav": "a.wav", "x/c.wav": "x/c.wav"}
    assert pairing.doubled == {"b.wav": ["b.flac", "b.wav"], "caf\xe9.wav": ["cafe\u0301.wav", "caf\xe9.wav"]}
    assert pairing.extra == ["z.wav"]
    with pytest.raises(PipelineError, match="there is no such folder"):
        pair_files(tmp_path / "nothing", ClipNames([]), AUDIO_SUFFIXES)
