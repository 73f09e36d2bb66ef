"""Bad files in a folder: each gets a row with status and reason, and the others go on."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.runs import noise

from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow

RATE = 16000
FAILED = {
    "truncated.wav": "truncated",
    "truncated.flac": "",
    "empty.wav": "empty",
    "header.wav": "0 samples",
    "nan.wav": "NaN",
    "inf.wav": "infinite",
    "text.wav": "",
    "dangling.wav": "no such file",
    "link_to_itself.wav": "",
}
FINE = {
    "good.wav",
    "silent.wav",
    "clipped.wav",
    "dc.wav",
    "one_sample.wav",
    "ten_channels.wav",
    "rate_7k.wav",
    "rate_192k.wav",
    "flac_called.mp3",
    "line%0Afeed.wav",
    "bytes%FF%FE.wav",
    "per%25cent.wav",
    "deep/inside/good.wav",
    "x" * 180 + ".wav",
}


def _write(folder: Path, name: str, audio: np.ndarray, rate: int = RATE, subtype: str = "PCM_16") -> None:
    soundfile.write(folder / name, audio, rate, subtype=subtype)


def _fill(folder: Path) -> None:
    """Make all the files."""
    (folder / "deep" / "inside").mkdir(parents=True)
    speech = speech_like(0.3, RATE)
    for name in ("good.wav", "deep/inside/good.wav", "truncated.wav", "per%cent.wav", "x" * 180 + ".wav"):
        _write(folder, name, speech)
    _write(folder, "truncated.flac", noise(RATE))
    for name in ("truncated.wav", "truncated.flac"):
        os.truncate(folder / name, (folder / name).stat().st_size // 2)
    (folder / "empty.wav").touch()
    _write(folder, "header.wav", np.zeros(0))
    for name, value in (("nan.wav", np.nan), ("inf.wav", np.inf)):
        _write(folder, name, np.where(np.arange(500) == 77, value, 0.1), subtype="FLOAT")
    (folder / "text.wav").write_text("this is no audio at all, but quite a long text about it. " * 20)
    _write(folder, "silent.wav", np.zeros(4000))
    _write(folder, "clipped.wav", 5 * noise(4000), subtype="FLOAT")
    _write(folder, "dc.wav", np.full(4000, 0.5))
    _write(folder, "one_sample.wav", np.array([0.25]))
    _write(folder, "ten_channels.wav", noise(4000, channels=10))
    _write(folder, "rate_7k.wav", speech_like(0.3, 7000), 7000)
    _write(folder, "rate_192k.wav", speech_like(0.3, 192_000), 192_000)
    soundfile.write(folder / "flac_called.mp3", speech, RATE, format="FLAC")
    _write(folder, "line\nfeed.wav", speech)
    with open(os.fsencode(folder) + b"/bytes\xff\xfe.wav", "wb") as file:  # noqa: PTH123 - a name that is no text
        file.write((folder / "good.wav").read_bytes())
    (folder / "loop").symlink_to(folder)
    (folder / "deep" / "up").symlink_to("..")
    (folder / "link_to_itself.wav").symlink_to("link_to_itself.wav")
    (folder / "dangling.wav").symlink_to("nowhere.wav")
    (folder / "notes.txt").write_text("no clip")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """Run a real codec over all of it."""
    place = tmp_path_factory.mktemp("bad")
    _fill(place / "zoo")
    (result,) = resynthesise(["opus_24k"], [str(place / "zoo")], out=place / "runs", workers=2)
    return result


@pytest.fixture(scope="module")
def rows(outcome: RunOutcome) -> dict[str, ClipRow]:
    """Give the rows by clip."""
    return {row.clip: row for row in RunFolder(outcome.path).rows()}


def test_every_file_has_a_row_and_loops_are_walked_once(outcome: RunOutcome, rows: dict[str, ClipRow]) -> None:
    """No file is missing, none is there twice, and what is no audio by name is no clip."""
    assert set(rows) == set(FAILED) | FINE
    assert outcome.asked == outcome.done == len(rows)
    assert {failure.clip for failure in outcome.failed} == set(FAILED)


@pytest.mark.parametrize("clip", sorted(FAILED))
def test_a_bad_file_fails_with_its_reason(rows: dict[str, ClipRow], clip: str) -> None:
    """The row says that loading failed and why, in words without this machine's paths."""
    row = rows[clip]
    assert (row.status, row.stage, row.error_type) == ("failed", "load", "AudioFileError")
    assert FAILED[clip].lower() in row.error.lower()
    assert clip in row.error
    assert "/zoo/" not in row.error
    assert row.bits is None


@pytest.mark.parametrize("clip", sorted(FINE))
def test_an_odd_but_sound_file_is_resynthesised(outcome: RunOutcome, rows: dict[str, ClipRow], clip: str) -> None:
    """Odd rates, lengths, channels and names go through a real codec, and the file has rate and length of the clip."""
    row = rows[clip]
    assert (row.status, row.error) == ("ok", "")
    info = soundfile.info(RunFolder(outcome.path).audio_path(clip))
    assert (info.samplerate, info.frames, info.channels) == (row.sampling_rate, row.samples, 1)


def test_what_is_special_about_a_clip_is_in_its_row(rows: dict[str, ClipRow]) -> None:
    """Lengths, rates and missing lags are those of the files."""
    assert rows["one_sample.wav"].samples == 1
    assert rows["rate_7k.wav"].sampling_rate == 7000
    assert rows["rate_192k.wav"].sampling_rate == 192_000
    assert rows["silent.wav"].lag_samples is None


def test_the_whole_zoo_is_scored(outcome: RunOutcome) -> None:
    """Scoring gives every clip a value, a reason why there is none, or a failure that was counted before."""
    (scored,) = score([outcome.path], metrics=["stft", "pesq", "stoi", "si_sdr"], workers=2)
    assert {failure.clip for failure in scored.failed} == set(FAILED)
    for row in RunFolder(outcome.path).rows():
        for key, value in row.metrics.items():
            assert (value.status == "ok") == (value.value is not None), key
            assert value.status == "ok" or value.reason
    silent = next(row for row in RunFolder(outcome.path).rows() if row.clip == "silent.wav")
    assert silent.metrics["pesq"].status == "undefined"
