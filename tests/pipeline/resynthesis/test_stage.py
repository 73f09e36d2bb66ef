"""Resynthesis of a dataset: what rows say, what is reused, what a fault of a codec or of a file costs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise, speech_folder

from codec_superb.base_codec.errors import MissingDependency, UnknownCodec
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder, find_runs
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.executor import Executor

PLAIN, TREACHEROUS = f"{HERE}:Plain", f"{HERE}:Treacherous"


class Listener:
    """Keeps what progress says."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int]] = []
        self.advanced = 0
        self.messages: list[str] = []

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Note the step."""
        self.steps.append((title, total, done))

    def advance(self, count: int = 1) -> None:
        """Count."""
        self.advanced += count

    def message(self, text: str) -> None:
        """Note the message."""
        self.messages.append(text)


def _rows(run: Path) -> dict[str, ClipRow]:
    return {row.clip: row for row in RunFolder(run).rows()}


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Give a folder of six short clips."""
    return speech_folder(tmp_path / "clips", 6)


def test_a_row_says_what_the_codec_did(tmp_path: Path) -> None:
    """Rate, length, bits, lag, clipping and hash are those of the clip; the audio is the resynthesis at that length."""
    folder = tmp_path / "one"
    folder.mkdir()
    audio = speech_like(1.0, 22050)
    soundfile.write(folder / "a.wav", np.stack([audio, 0 * audio], axis=1), 22050, subtype="FLOAT")
    (outcome,) = resynthesise([PLAIN], [str(folder)], out=tmp_path / "runs", workers=1)
    assert (outcome.asked, outcome.done, outcome.reused, outcome.complete) == (1, 1, 0, True)
    (row,) = _rows(outcome.path).values()
    assert (row.status, row.sampling_rate, row.samples) == ("ok", 22050, 22050)
    assert row.bits == 16 * 16000
    assert (row.lag_samples, row.clipped_samples, row.tokens) == (0, 0, None)
    assert row.encode_s is not None
    assert row.encode_s > 0
    stored, rate = soundfile.read(RunFolder(outcome.path).audio_path(row.clip))
    assert (stored.shape, rate) == ((22050,), 22050)
    assert float(np.abs(stored - audio / 2).mean()) < 1e-3  # the mean of a channel and silence


def test_nothing_finished_is_done_again(tmp_path: Path, clips: Path) -> None:
    """A second call starts no worker, changes no file, and says that all was there."""
    listener = Listener()
    (first,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=2)
    files = {path: path.stat().st_mtime_ns for path in first.path.rglob("*") if path.is_file()}
    with Executor(1) as pool:
        (again,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", executor=pool, progress=listener)
        assert not pool.running
    assert (again.done, again.reused, again.complete) == (0, 6, True)
    assert listener.steps == [("plain on clips", 6, 6)]
    assert {path: path.stat().st_mtime_ns for path in first.path.rglob("*") if path.is_file()} == files


def test_a_codec_without_tokens_keeps_none(tmp_path: Path, clips: Path) -> None:
    """Asking for tokens of a payload of bytes changes nothing, and what is finished stays finished."""
    (first,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1, tokens=True)
    assert not RunFolder(first.path).tokens.exists()
    (again,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1, tokens=True)
    assert (again.done, again.reused) == (0, 6)


def test_a_lost_audio_file_is_made_again(tmp_path: Path, clips: Path) -> None:
    """Deleted and emptied files cost their own clips only."""
    (first,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    before = contents(first.path)
    lost, emptied, *_ = sorted((first.path / "audio").iterdir())
    lost.unlink()
    emptied.write_bytes(b"")
    (again,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    assert (again.done, again.reused) == (2, 4)
    assert contents(first.path) == before


@pytest.mark.sample(1, among="workers change nothing")
def test_rows_do_not_depend_on_the_number_of_workers(tmp_path: Path, clips: Path) -> None:
    """One worker and three give the same rows and the same files."""
    (one,) = resynthesise(["opus_12k"], [str(clips)], out=tmp_path / "one", workers=1)
    (three,) = resynthesise(["opus_12k"], [str(clips)], out=tmp_path / "three", workers=3)
    assert contents(one.path) == contents(three.path)


def test_a_limit_is_nested_and_extended_without_loss(tmp_path: Path, clips: Path) -> None:
    """A larger limit computes only what is new, a smaller one shows fewer rows and forgets nothing."""
    out = tmp_path / "runs"
    (two,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1, limit=2)
    small = set(_rows(two.path))
    (four,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1, limit=4)
    assert (four.asked, four.done, four.reused) == (4, 2, 2)
    assert small < set(_rows(four.path))
    assert RunFolder(four.path).info().dataset.selected == 4
    (again,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1, limit=2)
    assert (again.asked, again.done, again.reused) == (2, 0, 2)
    assert set(_rows(again.path)) == small
    (full,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1)
    assert (full.asked, full.done, full.reused) == (6, 2, 4)


def test_a_changed_dataset_starts_the_run_anew_and_keeps_the_old_one(tmp_path: Path, clips: Path) -> None:
    """Other audio under the same names is another manifest: nothing old is reused, nothing old is deleted."""
    out = tmp_path / "runs"
    (first,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1)
    old = contents(first.path)
    soundfile.write(clips / "clip00.wav", noise(7000), 16000)
    listener = Listener()
    (second,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1, progress=listener)
    assert (second.done, second.reused) == (6, 0)
    assert _rows(second.path)["clip00.wav"].samples == 7000
    (message,) = listener.messages
    assert "the dataset clips has changed" in message
    aside = first.path.with_name(".clips.old1")
    assert str(aside) in message
    assert contents(aside) == old
    assert [run.path for run in find_runs([out])] == [second.path]


def test_a_changed_codec_file_starts_the_run_anew(tmp_path: Path, clips: Path) -> None:
    """The code of a codec given as a file belongs to its specification."""
    own = tmp_path / "own.py"
    shutil.copy(HERE, own)
    (first,) = resynthesise([f"{own}:Plain"], [str(clips)], out=tmp_path / "runs", workers=1)
    own.write_text(own.read_text() + "\n# another version\n")
    listener = Listener()
    (second,) = resynthesise([f"{own}:Plain"], [str(clips)], out=tmp_path / "runs", workers=1, progress=listener)
    assert (second.path, second.done) == (first.path, 6)
    assert "the codec plain has changed (its file)" in listener.messages[0]


def test_a_folder_that_was_moved_or_renamed_in_category_is_followed(tmp_path: Path, clips: Path) -> None:
    """A moved folder is reused and found again; another category does its clips again under that category."""
    out = tmp_path / "runs"
    (first,) = resynthesise([PLAIN], [str(clips)], out=out, workers=1)
    (tmp_path / "new").mkdir()
    moved = clips.rename(tmp_path / "new" / "clips")
    (again,) = resynthesise([PLAIN], [str(moved)], out=out, workers=1)
    assert (again.done, again.reused) == (0, 6)
    assert RunFolder(first.path).info().dataset.location == str(moved)
    (music,) = resynthesise([PLAIN], [str(moved)], out=out, workers=1, category="music")
    assert (music.done, music.reused) == (6, 0)
    assert {row.category for row in _rows(music.path).values()} == {"music"}


def test_overwrite_deletes_and_begins_again(tmp_path: Path, clips: Path) -> None:
    """All is computed again and no old file of the run stays; a file that is not the run's does."""
    (first,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    (first.path / "audio" / "stray.flac").write_bytes(b"x")
    (first.path / "notes.txt").write_text("mine")
    (again,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1, overwrite=True)
    assert (again.done, again.reused) == (6, 0)
    assert not (first.path / "audio" / "stray.flac").exists()
    assert (first.path / "notes.txt").read_text() == "mine"


FAULTS = {
    1: ("worker", "worker process killed by SIGKILL"),
    2: ("worker", "worker process ended with exit code 9"),
    3: ("worker", "no answer within"),
    4: ("encode", "not to my taste: <object object at 0x…>"),
    5: ("encode", "MemoryError"),
    10: ("decode", "expected finite samples from the codec, got 1 NaN or infinite of 4010"),
    11: ("decode", "expected float32 of shape (channels, 4011) from the codec, got float32 of (1, 4010)"),
    12: ("decode", "got float64"),
    13: ("decode", "cannot decode my own bits"),
}


def test_a_fault_of_the_codec_costs_one_clip(tmp_path: Path) -> None:
    """Death, hanging, exceptions and broken contracts make failed rows with stage and reason; the others are ok."""
    folder = tmp_path / "faults"
    folder.mkdir()
    for fault in [*FAULTS, 0, 14, 50]:
        soundfile.write(folder / f"f{fault:02}.wav", noise(4000 + fault), 16000)
    listener = Listener()
    (outcome,) = resynthesise(
        [TREACHEROUS], [str(folder)], out=tmp_path / "runs", workers=2, timeout=12, progress=listener
    )
    rows = _rows(outcome.path)
    for fault, (stage, reason) in FAULTS.items():
        row = rows[f"f{fault:02}.wav"]
        assert (row.status, row.stage) == ("failed", stage)
        assert reason in row.error
        assert row.bits is None
        assert not RunFolder(outcome.path).audio_path(row.clip).exists()
    assert {clip for clip, row in rows.items() if row.status == "ok"} == {"f00.wav", "f14.wav", "f50.wav"}
    clipped = rows["f14.wav"].clipped_samples
    assert clipped is not None
    assert 0 < clipped < 4000
    assert (outcome.asked, outcome.done, outcome.complete) == (12, 12, False)
    assert [failure.clip for failure in outcome.failed] == [f"f{fault:02}.wav" for fault in FAULTS]
    assert listener.messages[0].startswith("faults: no category is stated, taken as speech")
    assert len(listener.messages) == 4
    assert listener.advanced == 12


def test_failed_clips_are_tried_again_and_change_nothing_when_they_fail_again(tmp_path: Path) -> None:
    """A second call tries the failed clip only, and its row stays."""
    folder = tmp_path / "faults"
    folder.mkdir()
    for fault in (0, 4):
        soundfile.write(folder / f"f{fault:02}.wav", noise(4000 + fault), 16000)
    (first,) = resynthesise([TREACHEROUS], [str(folder)], out=tmp_path / "runs", workers=1)
    before = contents(first.path), RunFolder(first.path).info().status
    (again,) = resynthesise([TREACHEROUS], [str(folder)], out=tmp_path / "runs", workers=1)
    assert (again.done, again.reused, len(again.failed)) == (1, 1, 1)
    assert (contents(first.path), RunFolder(first.path).info().status) == before


def test_two_runs_in_one_folder_are_refused(tmp_path: Path, clips: Path) -> None:
    """Two folders of the same name would overwrite each other's results."""
    other = speech_folder(tmp_path / "elsewhere" / "clips", 1)
    with pytest.raises(PipelineError, match="both kept in"):
        resynthesise([PLAIN], [str(clips), str(other)], out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_an_unknown_codec_is_refused_before_anything_is_written(tmp_path: Path, clips: Path) -> None:
    """A typing error costs nothing."""
    with pytest.raises(UnknownCodec, match="opus_12k"):
        resynthesise([PLAIN, "opus12k"], [str(clips)], out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_codec_that_cannot_be_loaded_is_refused_before_anything_is_written(tmp_path: Path, clips: Path) -> None:
    """What a package is missing reaches the caller as the codec said it, and no run is begun."""
    with pytest.raises(MissingDependency, match="needs a cpu package: pip install it") as caught:
        resynthesise([f"{HERE}:Unavailable"], [str(clips)], out=tmp_path / "runs", workers=1)
    assert "in a worker process" in caught.value.__notes__[0]
    with pytest.raises(RunFolderError):
        find_runs([tmp_path / "runs"])


def test_an_output_folder_inside_the_dataset_is_refused(clips: Path) -> None:
    """Resyntheses would be the clips of the next call."""
    with pytest.raises(PipelineError, match="lies inside the dataset"):
        resynthesise([PLAIN], [str(clips)], out=clips / "runs", workers=1)
    assert not (clips / "runs").exists()


def test_a_run_that_another_process_works_on_is_refused(tmp_path: Path, clips: Path) -> None:
    """Two processes never write one run."""
    with RunFolder(tmp_path / "runs" / "plain" / "clips").lock(), pytest.raises(PipelineError, match="another process"):
        resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)


def test_an_unfinished_run_is_not_read(tmp_path: Path, clips: Path) -> None:
    """Rows of a run that was killed are not given for the whole."""
    (outcome,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    folder = RunFolder(outcome.path)
    folder.write_info(folder.info().model_copy(update={"status": "started"}))
    with pytest.raises(RunFolderError, match="not finished"):
        list(folder.rows())


def test_a_damaged_run_json_is_named(tmp_path: Path, clips: Path) -> None:
    """The error says which file and what to do."""
    (outcome,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    (outcome.path / "run.json").write_text('{"format": 2}')
    with pytest.raises(RunFolderError, match=r"run\.json .*--overwrite"):
        resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    (again,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1, overwrite=True)
    assert again.complete


def test_runs_are_found_at_every_level(tmp_path: Path, clips: Path) -> None:
    """A run, a codec's folder and the output folder name the same run once; anything else is an error."""
    (outcome,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    levels = [outcome.path, outcome.path.parent, tmp_path / "runs"]
    assert [[run.path for run in find_runs([level])] for level in levels] == [[outcome.path]] * 3
    assert len(find_runs(levels)) == 1
    with pytest.raises(RunFolderError, match=r"found no run\.json"):
        find_runs([clips])


def test_provenance_is_enough_to_run_it_again(tmp_path: Path, clips: Path) -> None:
    """The stamp names program, commit, machine, packages and command."""
    (outcome,) = resynthesise([PLAIN], [str(clips)], out=tmp_path / "runs", workers=1)
    (stamp,) = RunFolder(outcome.path).info().provenance
    assert (stamp.stage, stamp.device) == ("resynth", "cpu")
    assert {"numpy", "scipy", "soxr", "av", "pesq", "numba", "ffmpeg libavcodec"} <= set(stamp.packages)
    assert stamp.packages["numpy"] == np.__version__
    assert stamp.commit is None or len(stamp.commit) == 40
