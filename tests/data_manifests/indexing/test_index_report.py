"""What an index tells beside the clips: published counts, trials, licences, unreadable files, progress."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import soundfile
from support.datasets.layout_cases import CASES
from support.datasets.layouts import RATE, Tree

from codec_superb.data_manifests import check, open_dataset
from codec_superb.data_manifests.clip_list import read_index, read_records
from codec_superb.data_manifests.errors import DatasetNotPrepared, ManifestError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.progress import ProgressUpdate
from codec_superb.data_manifests.trials import Trial, read_trials, trial_lists


def _build(name: str, tree: Tree) -> None:
    next(case for case in CASES if case.name == name).build(tree)


def test_the_list_holds_hash_rate_and_duration(tree: Tree) -> None:
    """Each record has the SHA-256 of the publisher's file and its rate; the index has durations and counts."""
    _build("esc50", tree)
    report = index("esc50", tree.root)
    (record,) = read_records(report.folder)
    file = tree.root / "ESC-50-master" / record.path
    assert (record.sha256, record.sha256_of) == (file_sha256(file), "file")
    assert record.sampling_rate == RATE
    stored = read_index(report.folder)
    assert stored is not None
    assert (stored.clips, stored.expected_clips, stored.missing, stored.extra) == (1, 2000, 1999, 1)
    assert stored.seconds == pytest.approx(0.05)


def test_the_publishers_folder_is_not_touched(tree: Tree) -> None:
    """Everything is written under the home folder, nothing beside the audio."""
    _build("librispeech", tree)
    before = sorted(tree.root.rglob("*"))
    index("librispeech", tree.root)
    assert sorted(tree.root.rglob("*")) == before


def test_the_root_may_be_the_inner_folder_and_relative(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the archive and the folder around it give the same dataset, as does a relative path."""
    _build("librispeech", tree)
    outer = index("librispeech", tree.root)
    monkeypatch.chdir(tree.root)
    inner = index("librispeech", "LibriSpeech")
    assert inner.manifest_hash == outer.manifest_hash
    assert inner.root == tree.root / "LibriSpeech"


def test_more_clips_than_published_are_extra(tree: Tree) -> None:
    """Where no list names the clips, those above the published count are counted as extra."""
    tree.audio(*(f"music_speech/music_wav/song{number}.wav" for number in range(130)))
    report = index("gtzan_music_speech", tree.root)
    assert (report.clips, report.published, report.missing, report.extra) == (130, 128, 0, 2)
    assert "extra: 2 (the publisher's files do not name them)" in "\n".join(report.lines())


def test_a_complete_dataset_says_so(tree: Tree, tmp_path: Path) -> None:
    """Nothing missing, extra or unreadable, at the published rate, makes a report without those lines."""
    soundfile.write(tmp_path / "tone.wav", [0.1] * 100, 22_050)
    tree = Tree(tree.root, {".wav": tmp_path / "tone.wav"})
    for kind in ("music", "speech"):
        tree.audio(*(f"music_speech/{kind}_wav/{kind}{number}.wav" for number in range(64)))
    report = index("gtzan_music_speech", tree.root)
    assert report.complete
    assert len(report.lines()) == 2
    assert json.loads(json.dumps(report.as_json()))["complete"] is True


def test_another_rate_than_published_is_told(tree: Tree) -> None:
    """A resampled copy of a dataset is noticed: its scores compare with no others."""
    _build("esc50", tree)
    note = "clips not at the published 44100 Hz: 1, the first is 1-100032-A-0 at 16000 Hz"
    assert note in index("esc50", tree.root).notes


def test_an_indexed_dataset_can_be_checked(tree: Tree) -> None:
    """The check of a dataset finds an indexed one right, and a file that was changed afterwards wrong."""
    _build("esc50", tree)
    report = index("esc50", tree.root)
    before = check("esc50")
    assert (before.clips, before.missing, before.corrupt) == (1, (), ())
    changed = report.root / "audio/1-100032-A-0.wav"
    changed.unlink()  # it shares its content with the other recordings
    soundfile.write(changed, [0.1, 0.2], RATE)
    assert [name for name, _ in check("esc50").corrupt] == ["1-100032-A-0"]


def test_an_unreadable_file_stays_and_is_named(tree: Tree) -> None:
    """The corrupt jazz.00054 of GTZAN keeps its place without a rate: a run will count it as failed."""
    _build("gtzan_genre", tree)
    report = index("gtzan_genre", tree.root)
    assert (report.unreadable, report.unreadable_names) == (1, ("jazz/jazz.00054",))
    assert open_dataset("gtzan_genre").clip("jazz/jazz.00054").sampling_rate is None
    assert not report.complete


def test_clips_of_fsd50k_carry_their_own_licence(tree: Tree) -> None:
    """Licence and uploader come from the publisher's metadata, and from the manifest where that is not there."""
    _build("fsd50k", tree)
    index("fsd50k", tree.root)
    dataset = open_dataset("fsd50k")
    bark, rain = dataset.clip("dev/16399"), dataset.clip("eval/37199")
    assert bark.licence == "CC-BY-3.0"
    assert bark.attribution == "Loud dog by anna, freesound.org sound 16399"
    assert rain.licence == dataset.licence


def test_gunshots_are_cut_where_the_script_says(tree: Tree) -> None:
    """A clip has 1.5 s at 48 kHz and its shot 1/8 s after the beginning, on every microphone."""
    _build("gunshot_triangulation", tree)
    report = index("gunshot_triangulation", tree.root)
    for microphone, height in ((1, 0.9), (4, 0.4)):
        audio, rate = soundfile.read(report.root / f"mic{microphone}_shot5_fid2.flac")
        assert (len(audio), rate) == (72_000, 48_000)
        assert audio[6_000] == pytest.approx(height, abs=1e-4)
        assert abs(audio[:6_000]).max() == 0
    assert {record.sha256_of for record in read_records(report.folder)} == {"samples"}


def test_trials_are_stored_with_clip_ids(tree: Tree) -> None:
    """The trial list of VoxCeleb can be read back, in its order, once the dataset is indexed."""
    _build("voxceleb1", tree)
    report = index("voxceleb1", tree.root)
    assert report.trials == {"veri_test2": 2}
    assert trial_lists("voxceleb1") == ["veri_test2"]
    first = "id10270/5r0dWxy17C8/00001"
    assert read_trials("voxceleb1", "veri_test2") == [
        Trial(same=True, enrolment=first, test="id10270/5r0dWxy17C8/00003"),
        Trial(same=False, enrolment=first, test="id10309/_z_BR0ERa9g/00002"),
    ]


def test_an_absent_trial_list_is_told(tree: Tree) -> None:
    """Without a list the index says so, a list of an earlier index is gone, and reading names what there is."""
    _build("voxceleb1", tree)
    index("voxceleb1", tree.root)
    (tree.root / "veri_test2.txt").unlink()
    report = index("voxceleb1", tree.root)
    assert any(note.startswith("no trial list") for note in report.notes)
    with pytest.raises(DatasetNotPrepared, match=r"no trial list 'veri_test' \(stored: none\)"):
        read_trials("voxceleb1", "veri_test")


def test_a_damaged_trial_list_names_its_line(tree: Tree) -> None:
    """A stored line that is no trial is an error and never a trial of the other kind."""
    _build("voxceleb1", tree)
    folder = index("voxceleb1", tree.root).folder
    (folder / "trials-veri_test2.tsv").write_text("1\ta\tb\n\ta\tb\n", encoding="utf-8")
    with pytest.raises(ManifestError, match=r"trials-veri_test2\.tsv line 2 is no trial"):
        read_trials("voxceleb1", "veri_test2")


def test_progress_ends_at_the_number_of_files(tree: Tree) -> None:
    """The callback hears of every batch, never backwards, and of the last file."""
    tree.audio(*(f"music_speech/music_wav/song{number:03}.wav" for number in range(150)))
    heard: list[ProgressUpdate] = []
    index("gtzan_music_speech", tree.root, heard.append)
    assert [(step.stage, step.done) for step in heard] == [("check", 64), ("check", 128), ("check", 150)]
    assert {step.total for step in heard} == {150}


def test_only_changed_files_are_read_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second index hashes what was changed since, also after the first was interrupted."""
    tree.audio("music_speech/music_wav/a.wav")
    files = [tree.root / f"music_speech/music_wav/song{number:03}.wav" for number in range(150)]
    for number, file in enumerate(files):
        soundfile.write(file, [0.001 * number], RATE)
    read: list[Path] = []

    def spy(path: Path) -> str:
        read.append(path)
        return file_sha256(path)

    monkeypatch.setattr("codec_superb.data_manifests.indexing.file_facts.file_sha256", spy)

    def stop(step: ProgressUpdate) -> None:
        if step.done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index("gtzan_music_speech", tree.root, stop)
    assert len(read) == 128
    read.clear()
    first = index("gtzan_music_speech", tree.root)
    assert len(read) == 151 - 128
    read.clear()
    soundfile.write(files[7], [0.5, 0.5], RATE)
    os.utime(files[8])
    second = index("gtzan_music_speech", tree.root)
    assert sorted(read) == files[7:9]
    assert second.manifest_hash != first.manifest_hash


def test_a_damaged_cache_costs_time_only(tree: Tree) -> None:
    """What cannot be read of the cache of hashes is computed again."""
    _build("esc50", tree)
    first = index("esc50", tree.root)
    for content in ("{", "[1]", '{"a": {"size": 1}}'):
        (first.folder / "files.json").write_text(content, encoding="utf-8")
        assert index("esc50", tree.root).manifest_hash == first.manifest_hash


def test_links_to_folders_are_followed_once(tree: Tree) -> None:
    """A set on another disk, linked in, is found; a link that leads back does not loop."""
    _build("gtzan_music_speech", tree)
    music = tree.root / "music_speech/music_wav"
    music.rename(tree.root / "elsewhere")
    music.symlink_to(tree.root / "elsewhere", target_is_directory=True)
    (tree.root / "elsewhere/back").symlink_to(music, target_is_directory=True)
    assert index("gtzan_music_speech", tree.root).clips == 2


def test_the_first_set_of_mixtures_that_is_there_is_taken(tree: Tree) -> None:
    """Where only the mixtures of mode min were generated, those are indexed, and the report says so."""
    _build("libri2mix", tree)
    (tree.root / "Libri2Mix/wav16k/max").rename(tree.root / "away")
    report = index("libri2mix", tree.root)
    assert report.notes == ("the mode min was taken",)
    assert open_dataset("libri2mix").clip("4077-13754-0001_5142-33396-0065").labels.extra[0] == ("mode", "min")


def test_lyrics_in_another_encoding_cost_the_text_only(tree: Tree) -> None:
    """A clip of OpenSinger whose lyrics are no UTF-8 stays, without text, and the report names it."""
    _build("opensinger", tree)
    (tree.root / "OpenSinger/ManRaw/25_一路向北/25_一路向北_0.txt").write_bytes("后视镜".encode("gbk"))
    report = index("opensinger", tree.root)
    assert any("25_一路向北_0 are no UTF-8 text" in note for note in report.notes)
    assert open_dataset("opensinger").clip("ManRaw/25_一路向北/25_一路向北_0").labels.text is None
    assert "ManRaw/25_一路向北/25_一路向北_0" in report.unlabelled_names
