"""What was resynthesised elsewhere becomes a run; whatever does not fit is listed and never shifted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
from numpy.typing import NDArray
from support.pipeline.runs import contents, speech_folder

from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.card import Stated
from codec_superb.pipeline.importing.stage import Imported, import_sound
from codec_superb.pipeline.runs.audio_store import read_audio as read_stored
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.executor import Executor

RATE = 16000
CLIPS = 6


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """One worker for all imports."""
    with Executor(1) as executor:
        yield executor


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """Make references: clip00.wav to clip05.wav."""
    return speech_folder(tmp_path / "sounds", CLIPS)


@pytest.fixture
def made(sounds: Path, tmp_path: Path) -> Path:
    """Make what a codec of four bits gives for each of them, as 32-bit floats."""
    folder = tmp_path / "made"
    folder.mkdir()
    for file in sounds.iterdir():
        _write(folder / file.name, _coded(_sound(file)))
    return folder


def _sound(file: Path) -> NDArray[np.float32]:
    return read_audio(file)[0][0]


def _coded(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    return (np.rint(audio * 8) / 8).astype(np.float32)


def _write(path: Path, audio: NDArray[np.float32], rate: int = RATE) -> None:
    soundfile.write(path, audio, rate, subtype="FLOAT", format="WAV")


def _import(sounds: Path, made: Path, pool: Executor, **more: Any) -> Imported:
    stated = more.pop("stated", Stated("mine", kbps=64))
    return import_sound(made, str(sounds), stated=stated, out=sounds.parent / "runs", executor=pool, **more)


def _run(sounds: Path) -> RunFolder:
    return RunFolder(sounds.parent / "runs/mine/sounds")


def _rows(sounds: Path) -> dict[str, ClipRow]:
    return {row.clip: row for row in _run(sounds).rows()}


def test_the_sound_is_kept_and_measured_as_resynth_does(sounds: Path, made: Path, pool: Executor) -> None:
    """To 24 bits, with lag, clipped samples and hash; a stereo file is averaged; nothing is computed twice."""
    late, loud = _coded(_sound(sounds / "clip01.wav")), 9 * _coded(_sound(sounds / "clip02.wav"))
    late = np.concatenate([np.zeros(32, np.float32), late[:-32]])
    _write(made / "clip01.wav", late)
    _write(made / "clip02.wav", np.stack([loud, loud], axis=1))
    done = _import(sounds, made, pool)
    assert (done.complete, done.outcome.done, done.outcome.stage) == (True, CLIPS, "import")
    rows = _rows(sounds)
    for clip, row in rows.items():
        assert row.resynthesis_sha256 is not None
        stored, rate = read_stored(_run(sounds).audio_path(clip), row.resynthesis_sha256)
        expected = read_audio(made / clip)[0].mean(axis=0).clip(-1, 1 - 2**-23)
        assert np.abs(stored - expected).max() <= 2**-24
        assert (rate, row.samples, row.bits) == (RATE, stored.size, round(4 * stored.size))
        assert (row.encode_s, row.decode_s, row.tokens) == (None, None, None)
    assert rows["clip01.wav"].lag_samples == 32
    assert rows["clip02.wav"].clipped_samples == int((np.abs(loud) > 1).sum()) > 0
    info = _run(sounds).info()
    assert (info.status, info.card.bit_source, info.card.sampling_rate) == ("resynthesised", "declared", RATE)
    (stamp,) = info.provenance
    assert (stamp.stage, stamp.taken_over) == ("imported", done.taken_over)
    before = _state(_run(sounds))
    again = _import(sounds, made, pool)
    assert (again.outcome.done, again.outcome.reused) == (0, CLIPS)
    assert _state(_run(sounds)) == before


def _state(run: RunFolder) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in run.path.rglob("*") if file.is_file()}


def test_lengths_within_a_frame_are_fitted_and_noted(sounds: Path, made: Path, pool: Executor) -> None:
    """Cut or padded with silence at the end, by 40 ms at most, or a frame of the codec where its card states more."""
    whole = {clip: _coded(_sound(sounds / clip)) for clip in sorted(path.name for path in sounds.iterdir())}
    changes = {"clip00.wav": 640, "clip01.wav": -640, "clip02.wav": 641, "clip03.wav": -641, "clip04.wav": -4000}
    for clip, change in changes.items():
        _write(made / clip, np.pad(whole[clip], (0, max(change, 0)))[: whole[clip].size + change or None])
    done = _import(sounds, made, pool)
    reasons = {failed.clip: failed.reason for failed in done.outcome.failed}
    # clip04 has not a sample left, which is no audio
    assert reasons.keys() == {"clip02.wav", "clip03.wav", "clip04.wav"}
    assert "give or take 0.04 s" in reasons["clip02.wav"]
    assert done.taken_over is not None
    assert done.taken_over.model_dump() == {"files": 3, "fitted": 2, "longest_ms": 40.0, "resampled": 0}
    rows = _rows(sounds)
    sha256 = rows["clip01.wav"].resynthesis_sha256
    assert sha256 is not None
    stored, _ = read_stored(_run(sounds).audio_path("clip01.wav"), sha256)
    assert stored.size == whole["clip01.wav"].size
    assert not stored[-640:].any()
    assert np.abs(stored[:-640] - whole["clip01.wav"][:-640]).max() <= 2**-24
    assert rows["clip02.wav"].status == "failed"
    card = sounds.parent / "card.yaml"
    card.write_text("{frame_rate: 12.5, title: Mine}")
    slower = _import(sounds, made, pool, stated=Stated("mine", card))
    assert {failed.clip for failed in slower.outcome.failed} == {"clip04.wav"}
    # however long the blocks of a card: 200 ms
    _write(made / "clip02.wav", np.pad(whole["clip02.wav"], (0, RATE // 5 + 1)))
    card.write_text("{frame_rate: 0.001, block_frames: 600, title: Mine}")
    widest = _import(sounds, made, pool, stated=Stated("mine", card))
    assert {failed.clip for failed in widest.outcome.failed} == {"clip02.wav", "clip04.wav"}
    assert widest.outcome.failed[0].reason.startswith("AnotherLength: expected a resynthesis of")


def test_another_rate_is_refused_or_resampled_on_request(sounds: Path, made: Path, pool: Executor) -> None:
    """Never silently: the sentence says what to do, and the stamp counts what was done."""
    other = soxr.resample(_coded(_sound(sounds / "clip00.wav")), RATE, 24000, quality="VHQ")
    _write(made / "clip00.wav", other, 24000)
    refused = _import(sounds, made, pool)
    (failed,) = refused.outcome.failed
    assert failed.reason == (
        "AnotherRate: expected 16000 Hz, as its reference has, got 24000 Hz: resample the file, or import with "
        "--resample"
    )
    done = _import(sounds, made, pool, resample=True)
    assert done.complete
    assert done.taken_over is not None
    assert done.taken_over.resampled == 1
    assert _rows(sounds)["clip00.wav"].lag_samples == 0


def test_what_is_missing_doubled_damaged_or_strange_is_listed(sounds: Path, made: Path, pool: Executor) -> None:
    """As failed rows with their reasons, without paths of this machine; mended, the next call takes them alone."""
    (made / "clip00.wav").unlink()
    (made / "clip01.flac").write_bytes((made / "clip01.wav").read_bytes())
    (made / "clip02.wav").write_bytes((made / "clip02.wav").read_bytes()[:300])
    nothing = np.full(_sound(sounds / "clip03.wav").size, np.nan, np.float32)
    _write(made / "clip03.wav", nothing)
    (made / "notes.txt").write_text("no sound")
    _write(made / "clip99.wav", nothing)
    (made / "clip04.wav").unlink()
    (made / "clip04.wav").symlink_to(made / "nowhere")
    done = _import(sounds, made, pool)
    reasons = {failed.clip: failed.reason for failed in done.outcome.failed}
    assert not done.complete
    assert "there is no resynthesis for it in made" in reasons["clip00.wav"]
    assert "several files may be its resynthesis: clip01.flac, clip01.wav; keep one" in reasons["clip01.wav"]
    assert "cannot read clip02.wav as audio: truncated" in reasons["clip02.wav"]
    assert "NaN" in reasons["clip03.wav"]
    assert reasons["clip04.wav"] == "AudioFileError: cannot read clip04.wav: no such file or directory"
    assert not any(str(made) in reason for reason in reasons.values())
    assert done.strangers == ["clip99.wav: the file belongs to no clip"]
    (made / "clip01.flac").unlink()
    (made / "clip99.wav").unlink()
    (made / "clip04.wav").unlink()
    for clip in ("clip00.wav", "clip02.wav", "clip03.wav", "clip04.wav"):
        _write(made / clip, _coded(_sound(sounds / clip)))
    mended = _import(sounds, made, pool)
    assert (mended.complete, mended.outcome.done, mended.outcome.reused) == (True, 5, 1)
    _write(made / "clip05.wav", 0.5 * _coded(_sound(sounds / "clip05.wav")))
    assert _import(sounds, made, pool).outcome.done == 1  # a file that has changed


def test_tokens_give_bits_and_the_use_of_codebooks(sounds: Path, made: Path, pool: Executor) -> None:
    """Counted from their frames; other rows and entries fail their clip, and the run has tokens like any other."""
    for number, file in enumerate(sorted(sounds.iterdir())):
        np.save((made / file.name).with_suffix(".npy"), np.full((1, 2, 10 + number), number % 4))
    done = _import(sounds, made, pool, stated=Stated("mine", codebook_sizes=(1024, 4)))
    rows = _rows(sounds)
    assert [(row.bits, row.tokens) for row in rows.values()] == [(12 * n, 2 * n) for n in range(10, 16)]
    statistics = done.statistics
    assert statistics is not None
    assert (statistics.tokens, [use.used for use in statistics.codebooks]) == (2 * sum(range(10, 16)), [4, 4])
    assert statistics.kbps == pytest.approx(sum(row.bits or 0 for row in rows.values()) / statistics.seconds / 1000)
    np.save(made / "clip00.npy", np.full((3, 10), 0))
    np.save(made / "clip01.npy", np.full((2, 10), 4))
    (made / "clip02.npy").unlink()
    told = _import(sounds, made, pool, tokens=made, stated=Stated("mine", codebook_sizes=(1024, 4)))
    reasons = {failed.clip: failed.reason for failed in told.outcome.failed}
    assert "clip00.npy: expected tokens (2, frames) from 0 to 3 or 1023, got (3, 10)" in reasons["clip00.wav"]
    assert "from 4 to 4" in reasons["clip01.wav"]
    assert "there is no file of tokens for it in made" in reasons["clip02.wav"]
    assert told.outcome.reused == 3
    card = sounds.parent / "card.yaml"
    card.write_text("{frame_rate: 400, codebooks: 2, codebook_sizes: [1024, 4]}")
    other = _import(sounds, made, pool, stated=Stated("mine", card))
    reasons = {failed.clip: failed.reason for failed in other.outcome.failed}
    assert reasons["clip05.wav"].startswith("AnotherLength: clip05.npy: expected about 104 frames, as the card's")


def test_bits_of_a_table_are_measured_and_no_bits_are_unknown(sounds: Path, made: Path, pool: Executor) -> None:
    """A clip without a line fails; a run without any bits says so and has no bitrate."""
    table = sounds.parent / "bits.csv"
    table.write_text("clip,bits\n" + "".join(f"clip{n:02}.wav,{n}\n" for n in range(1, CLIPS)) + "clip77,1\n")
    done = _import(sounds, made, pool, stated=Stated("mine"), bits=table)
    assert done.card.bit_source == "measured"
    assert [row.bits for row in _rows(sounds).values()] == [None, *range(1, CLIPS)]
    assert [(failed.clip, failed.reason) for failed in done.outcome.failed] == [
        ("clip00.wav", "NoResynthesis: there is no line for it in --bits")
    ]
    assert done.strangers == ["clip77: a line of bits.csv that belongs to no clip"]
    unknown = _import(sounds, made, pool, stated=Stated("mine"))
    assert (unknown.complete, unknown.card.bit_source) == (True, "unknown")
    assert {row.bits for row in _rows(sounds).values()} == {None}
    # another card is another run: the first one is kept
    assert [path.name for path in _run(sounds).path.parent.glob(".sounds.old*")] == [".sounds.old1"]


class _Stopped(Executor):
    """Is interrupted when three clips are done, as by Ctrl-C."""

    def stream(self, *arguments: Any, **more: Any) -> Any:
        for number, event in enumerate(super().stream(*arguments, **more)):
            if number == CLIPS // 2:
                raise KeyboardInterrupt
            yield event


def test_an_import_that_is_stopped_goes_on_where_it_was(sounds: Path, made: Path, pool: Executor) -> None:
    """And ends with the rows and the sound of one that was not; also where only a row was written."""
    with pytest.raises(KeyboardInterrupt), _Stopped(1) as stopped:
        _import(sounds, made, stopped)
    lines = _run(sounds).path / "journal/import.jsonl"
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:-1]))
    assert _run(sounds).info().status == "started"
    done = _import(sounds, made, pool)
    assert (done.outcome.done, done.outcome.reused) == (CLIPS - CLIPS // 2 + 1, CLIPS // 2 - 1)
    resumed = contents(_run(sounds).path)
    _import(sounds, made, pool, overwrite=True)
    assert contents(_run(sounds).path) == resumed
    assert json.loads((_run(sounds).path / "run.json").read_text())["provenance"][0]["taken_over"]["files"] == CLIPS


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"stated": Stated("mine", kbps=3), "tokens": Path("x")},
            "give one of --kbps, --bits and --tokens, got --kbps",
        ),
        ({"folder": "sounds"}, "is the dataset itself"),
        ({"folder": "."}, "lies inside .*, whose files are imported"),
        ({"folder": "twice"}, "one file alone in .*: clip00.flac, clip00.wav are all of clip00.wav; keep one of each"),
        ({"folder": "nothing"}, "expected a folder of files, got .*nothing"),
        (
            {"folder": "other"},
            "expected names such as clip00.wav, clip01.wav, clip02.wav, got z.wav; `datasets export`",
        ),
    ],
)
def test_what_cannot_be_a_run_is_refused(
    sounds: Path, made: Path, pool: Executor, more: dict[str, Any], told: str
) -> None:
    """Before anything is written."""
    (sounds.parent / "other").mkdir()
    (sounds.parent / "twice").mkdir()
    for name in ("other/z.wav", "twice/clip00.wav", "twice/clip00.flac"):
        _write(sounds.parent / name, np.zeros(9, np.float32))
    with pytest.raises(PipelineError, match=told):
        _import(sounds, sounds.parent / more.pop("folder", made), pool, **more)
    assert not (sounds.parent / "runs").exists()
