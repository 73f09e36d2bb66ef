"""Scoring audio made elsewhere: partners by path, never a silent shift, never a silent repair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from support.audio import speech_like

from codec_superb.data_manifests import DatasetError
from codec_superb.metrics.table import metrics_for
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.folders import score_folders
from codec_superb.pipeline.scoring.stage import score

KEYS = ["sdr", "si_sdr"]
RATE = 16000


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Give two folders of three pairs: identical, at half the level, and in another format."""
    first, second = tmp_path / "ref", tmp_path / "dec"
    for folder in (first, second):
        (folder / "sub").mkdir(parents=True)
    for number, name in enumerate(["a", "b", "sub/a"]):
        audio = speech_like(0.6, RATE, seed=number)
        soundfile.write(first / f"{name}.wav", audio, RATE, subtype="FLOAT")
        gain = 0.5 if name == "b" else 1.0
        soundfile.write(second / f"{name}.{'flac' if name == 'a' else 'wav'}", gain * audio, RATE)
    return first, second


def test_pairs_are_made_by_path_without_ending(folders: tuple[Path, Path]) -> None:
    """Every reference meets the file of its own name: half the level is 6 dB SDR, and only there."""
    rows = score_folders(*folders, metrics=KEYS, workers=1).rows
    assert [row.clip for row in rows] == ["a.wav", "b.wav", "sub/a.wav"]
    assert {row.status for row in rows} == {"ok"}
    assert rows[1].metrics["sdr"].value == pytest.approx(20 * np.log10(2), abs=0.01)
    for row in (rows[0], rows[2]):
        value = row.metrics["sdr"].value
        assert value is not None
        assert value > 60
    assert {(row.lag_samples, row.samples, row.bits) for row in rows} == {(0, 9600, None)}


def test_missing_partners_are_all_named(folders: tuple[Path, Path]) -> None:
    """Both folders' lonely files are in the error, and nothing is scored."""
    first, second = folders
    (second / "b.wav").rename(second / "c.wav")
    (first / "sub" / "a.wav").unlink()
    with pytest.raises(PipelineError) as caught:
        score_folders(first, second, metrics=KEYS, workers=1)
    text = str(caught.value)
    assert f"1 of {first} have no partner in {second}: b.wav" in text
    assert f"2 of {second} have no partner in {first}: c.wav, sub/a.wav" in text


def test_two_candidates_are_refused(folders: tuple[Path, Path]) -> None:
    """Files that differ only in their ending leave it open which one is meant."""
    first, second = folders
    soundfile.write(second / "b.flac", np.zeros(100), RATE)
    with pytest.raises(PipelineError, match=r"differ only in their ending: b\.flac and b\.wav"):
        score_folders(first, second, metrics=KEYS, workers=1)


def test_another_rate_another_length_and_noise_for_a_file_fail(folders: tuple[Path, Path]) -> None:
    """Each becomes a failed row that says what was expected and what came; nothing is trimmed."""
    first, second = folders
    soundfile.write(second / "a.flac", speech_like(0.6, 8000), 8000)
    soundfile.write(second / "b.wav", speech_like(0.6, RATE)[:-1], RATE)
    (second / "sub" / "a.wav").write_bytes(b"no audio")
    rows = score_folders(first, second, metrics=KEYS, workers=1).rows
    assert [(row.status, row.stage) for row in rows] == [("failed", "score")] * 3
    assert rows[0].error == "expected a resynthesis at 16000 Hz, got 8000 Hz"
    assert rows[1].error == "expected a resynthesis of 9600 samples, got 9599"
    assert "sub/a.wav" in rows[2].error
    assert str(second) not in rows[2].error
    assert {value.status for row in rows for value in row.metrics.values()} == {"failed"}


def test_fitting_resamples_and_fits_lengths_and_says_so(folders: tuple[Path, Path]) -> None:
    """What ordinary decoders write is scored on request: their rate, their last frame; a file that fits has no note."""
    first, second = folders
    soundfile.write(second / "a.flac", soxr.resample(speech_like(0.6, RATE), RATE, 48000, quality="VHQ"), 48000)
    soundfile.write(second / "b.wav", speech_like(0.6, RATE, seed=1)[:-1000], RATE)
    rows, fitted, _ = score_folders(first, second, metrics=KEYS, fit=True, workers=1)
    assert {row.status for row in rows} == {"ok"}
    assert fitted == {"a.wav": (48000, 0), "b.wav": (RATE, 1000)}
    sdr = [row.metrics["sdr"].value for row in rows]
    assert sdr[0] is not None
    assert sdr[0] > 35
    assert rows[1].samples == 9600


def test_fitting_has_a_bound(folders: tuple[Path, Path]) -> None:
    """A quarter of a second is fitted at either end of the bound, a sample more is another sound."""
    first, second = folders
    audio = speech_like(0.6, RATE, seed=1)
    longer = np.concatenate([audio, np.zeros(4001, np.float32)])
    for samples, status in [(5600, "ok"), (13600, "ok"), (5599, "failed"), (13601, "failed")]:
        soundfile.write(second / "b.wav", longer[:samples], RATE)
        rows, fitted, _ = score_folders(first, second, metrics=KEYS, fit=True, workers=1)
        assert (rows[1].status, "b.wav" in fitted) == (status, status == "ok")
    assert "give or take 0.25 s, got 0.850 s" in rows[1].error


def test_a_run_is_a_folder_of_resyntheses(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """The audio that a run keeps meets its references, with the numbers of the run, by its folder or by `audio/`."""
    first, _ = folders
    resynthesise(["g711_alaw"], [str(first)], out=tmp_path / "runs", workers=1)
    score([tmp_path / "runs"], metrics=["sdr"], workers=1)
    run = RunFolder(tmp_path / "runs" / "g711_alaw" / "ref")
    for folder in (run.path, run.audio):
        scored = score_folders(first, folder, metrics=["sdr"], workers=1)
        assert [(row.clip, row.metrics) for row in scored.rows] == [(row.clip, row.metrics) for row in run.rows()]


def test_a_delay_is_measured_and_not_repaired(folders: tuple[Path, Path]) -> None:
    """A late resynthesis keeps its poor SDR and shows its lag."""
    first, second = folders
    audio = speech_like(0.6, RATE, seed=1)
    soundfile.write(second / "b.wav", np.concatenate([np.zeros(40, np.float32), audio[:-40]]), RATE)
    row = score_folders(first, second, metrics=KEYS, workers=1).rows[1]
    assert row.lag_samples == 40
    value = row.metrics["sdr"].value
    assert value is not None
    assert value < 10


def test_the_category_chooses_the_metrics(folders: tuple[Path, Path]) -> None:
    """Without a choice the metrics are those of the category."""
    rows = score_folders(*folders, category="audio", workers=2).rows
    assert {(row.category, tuple(row.metrics)) for row in rows} == {("audio", metrics_for("audio"))}


def test_a_folder_without_audio_is_refused(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    """A typing error in a path is no empty result."""
    with pytest.raises(DatasetError, match="nowhere"):
        score_folders(folders[0], tmp_path / "nowhere", workers=1)
