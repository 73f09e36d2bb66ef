"""Resynthesis in batches: planned from headers, the same rows as clip by clip, and no clip pays for another."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.codecs.checkpoints import checkpoint
from support.pipeline.killing import finish, killed
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise, speech_folder
from support.profile import amount

from codec_superb.base_codec.options import CodecOptions
from codec_superb.data_manifests import Clip, open_dataset
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.batches import plan_batches
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.token_store import read_tokens
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.executor import Executor

TOGETHER = f"{HERE}:Together"
NEURAL = [("encodec_24k_6bps", "encodec"), ("mimi_8cb", "mimi"), ("dac_16k_3cb", "dac_16k")]
MEASURED = {"encode_s", "decode_s", "resynthesis_sha256"}
"""What two runs of one codec may differ in; the samples behind the hash are compared themselves."""


def _write(folder: Path, name: str, samples: int, rate: int = 16000, channels: int = 1) -> None:
    folder.mkdir(exist_ok=True)
    sound = noise(samples, channels, seed=samples)
    soundfile.write(folder / f"{name}.wav", sound, rate, subtype="FLOAT")


def _rows(run: Path) -> dict[str, ClipRow]:
    return {row.clip: row for row in RunFolder(run).rows()}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder in which the codec notes its batches."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("BATCH_NOTES", str(folder))
    return folder


def _noted(notes: Path) -> list[list[int]]:
    """Give the lengths in each batch that the codec got, the longest first."""
    return sorted((json.loads(note.read_text()) for note in notes.iterdir()), reverse=True)


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give clips of two rates and many lengths, and one file without a header."""
    folder = tmp_path_factory.mktemp("all") / "clips"
    for number in range(12):
        _write(folder, f"{number}", 2000 + 700 * (number % 5), 16000 if number % 3 else 8000, 1 + number % 2)
    (folder / "none.wav").write_bytes(b"no sound")
    return folder


def _clips(folder: Path) -> list[Clip]:
    dataset = open_dataset(folder)
    return [dataset.clip(clip) for clip in dataset.clip_ids()]


@pytest.mark.parametrize("seconds", [0.1, 0.5, 2.0, 100.0])
def test_rates_stay_apart_and_the_order_does_not_matter(mixture: Path, seconds: float) -> None:
    """Every clip is in one batch, of one rate, within the limit; shuffled clips give the same plan."""
    clips = _clips(mixture)
    made = list(plan_batches(clips, seconds))
    assert sorted(clip for batch in made for clip in batch) == sorted(clip.id for clip in clips)
    for batch in (batch for batch in made if len(batch) > 1):
        headers = [soundfile.info(mixture / clip) for clip in batch]
        assert len({header.samplerate for header in headers}) == 1
        assert len(batch) * max(header.duration for header in headers) <= seconds
    for seed in range(5):
        random.Random(seed).shuffle(clips)
        assert list(plan_batches(clips, seconds)) == made


def test_what_only_decoding_can_tell_goes_by_itself(mixture: Path) -> None:
    """A file without a readable header is a batch of its own, the last; so is one that has gone meanwhile."""
    clips = _clips(mixture)
    assert [len(batch) for batch in plan_batches(clips, 100)] == [4, 8, 1]
    gone = replace(clips[0], path=mixture / "gone.wav")
    made = list(plan_batches([gone, *clips[1:]], 100))
    assert made[-2:] == [(clips[0].id,), ("none.wav",)]


@pytest.mark.sample(2, among="batches as asked for")
def test_clips_of_like_length_go_together(tmp_path: Path, notes: Path) -> None:
    """Batches are full, the longest first; the stamp says how long they were, and seconds are shared by length."""
    for number in range(7):
        _write(tmp_path / "clips", f"{number}", 4000 + 1000 * (number % 2))
    (run,) = resynthesise([TOGETHER], [str(tmp_path / "clips")], out=tmp_path / "runs", workers=1, batch=1.0)
    assert run.complete
    assert _noted(notes) == [[5000, 5000, 5000], [4000, 4000, 4000, 4000]]
    assert RunFolder(run.path).info().provenance[0].batch_seconds == 1.0
    rows = _rows(run.path).values()
    for seconds in ("encode_s", "decode_s"):
        shares = {round(getattr(row, seconds) / (row.samples or 1), 12) for row in rows}
        assert len(shares) == 2
    assert sum(row.encode_s or 0 for row in rows) > 2 * 0.02


@pytest.mark.sample(2, among="batches as asked for")
def test_one_by_one_on_a_cpu_unless_asked_for(tmp_path: Path, notes: Path) -> None:
    """Without the option, and with 0, a CPU gets clip by clip; a codec without batches always does, and says so."""
    clips = speech_folder(tmp_path / "clips", 3)
    for number, batch in enumerate((None, 0.0)):
        (run,) = resynthesise([TOGETHER], [str(clips)], out=tmp_path / f"{number}", workers=1, batch=batch)
        assert RunFolder(run.path).info().provenance[0].batch_seconds is None
    (plain,) = resynthesise([f"{HERE}:Plain"], [str(clips)], out=tmp_path / "2", workers=1, batch=60)
    assert RunFolder(plain.path).info().provenance[0].batch_seconds is None
    assert _noted(notes) == []


@pytest.mark.sample(2, among="batches as asked for")
def test_a_minute_on_a_graphics_card_unless_told_otherwise(tmp_path: Path, notes: Path) -> None:
    """The device decides the default; this codec takes any device, so no card is needed to see it."""
    clips = speech_folder(tmp_path / "clips", 3)
    for batch, noted in ((None, 60.0), (0.0, None), (2.0, 2.0)):
        place = tmp_path / f"{batch}"
        (run,) = resynthesise([TOGETHER], [str(clips)], out=place, workers=1, device="cuda", batch=batch)
        assert RunFolder(run.path).info().provenance[0].batch_seconds == noted
    assert [len(batch) for batch in _noted(notes)] == [3, 3]


def test_a_batch_of_less_than_nothing_or_of_everything_is_refused(tmp_path: Path) -> None:
    """Memory is bounded by the seconds of a batch, so they must be a number."""
    clips = speech_folder(tmp_path / "clips", 1)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(PipelineError, match="expected a batch of 0 seconds or more"):
            resynthesise([TOGETHER], [str(clips)], out=tmp_path / "runs", batch=wrong)


@pytest.mark.sample(2, among="batches as asked for")
def test_another_batch_is_the_same_run(tmp_path: Path, notes: Path) -> None:
    """What is finished stays, whatever the batches were; new clips add a stamp with theirs."""
    clips = speech_folder(tmp_path / "clips", 6)
    for limit, batch in ((2, 0.0), (4, 60.0), (6, 30.0), (6, 0.0)):
        (run,) = resynthesise([TOGETHER], [str(clips)], out=tmp_path / "runs", workers=1, batch=batch, limit=limit)
    assert (run.done, run.reused) == (0, 6)
    assert [stamp.batch_seconds for stamp in RunFolder(run.path).info().provenance] == [None, 60.0, 30.0]
    assert [len(batch) for batch in _noted(notes)] == [2, 2]


class Messages:
    """Keeps what progress says."""

    def __init__(self) -> None:
        self.advanced = 0
        self.messages: list[str] = []

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Begin."""

    def advance(self, count: int = 1) -> None:
        """Count."""
        self.advanced += count

    def message(self, text: str) -> None:
        """Note the message."""
        self.messages.append(text)


@pytest.mark.sample(1, among="faults in batches")
@pytest.mark.sample(1, over="workers")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("fault", [1, 2, 21, 22, 23, 24])
def test_a_fault_in_a_batch_costs_the_clip_that_has_it_alone_too(tmp_path: Path, fault: int, workers: int) -> None:
    """A batch that dies, hangs, raises or breaks the contract goes clip by clip: who is well alone has a good row."""
    folder, said = tmp_path / "clips", Messages()
    for number, samples in enumerate((4000, 4000 + fault, 4030, 4040, 4000 + fault)):
        _write(folder, f"{number}", samples)
    (folder / "none.wav").write_bytes(b"no sound")
    sound = noise(4010)
    sound[17] = np.nan
    soundfile.write(folder / "nan.wav", sound, 16000, subtype="FLOAT")
    (run,) = resynthesise(
        [TOGETHER],
        [str(folder)],
        out=tmp_path / "runs",
        workers=workers,
        batch=60,
        timeout=12 if fault == 23 else None,
        progress=said,
    )
    (alone,) = resynthesise([TOGETHER], [str(folder)], out=tmp_path / "alone", workers=1)
    assert contents(run.path) == contents(alone.path)
    assert said.advanced == 7
    bad = {"1.wav", "4.wav"} if fault < 20 else set()
    rows = _rows(run.path)
    assert {clip for clip, row in rows.items() if row.status == "failed"} == bad | {"none.wav", "nan.wav"}
    assert "samples are NaN" in rows["nan.wav"].error
    assert {rows[clip].stage for clip in bad} <= {"worker" if fault == 1 else "encode"}
    apart = [message for message in said.messages if "which now go one by one" in message]
    assert len(apart) == (fault in {1, 21, 23})


@pytest.mark.sample(1, among="torch in other processes")
@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "family"), NEURAL)
def test_a_neural_codec_gives_the_same_rows_in_batches(tmp_path: Path, name: str, family: str) -> None:
    """Tokens and bits are equal and the sound is within 1e-4, whatever the rates, channels and lengths of the clips.

    The number of workers changes nothing, a clip with NaN costs itself, and a run that was begun with fewer clips goes
    on in batches.
    """
    folder = tmp_path / "clips"
    for number in range(9):
        rate, channels = (16000, 1) if number % 3 else (24000, 1 + number % 2)
        _write(folder, f"{number}", rate * (10 + number % 4 // 2) // 20, rate, channels)
    sound = noise(8000)
    sound[4000] = np.nan
    soundfile.write(folder / "nan.wav", sound, 16000, subtype="FLOAT")

    def made(out: str, pool: Executor, batch: float, limit: int | None = None) -> RunOutcome:
        (outcome,) = resynthesise(
            [name], [str(folder)], out=tmp_path / out, device="cpu", options=CodecOptions(str(checkpoint(family))),
            batch=batch, tokens=True, limit=limit, executor=pool,
        )  # fmt: skip
        return outcome

    with Executor(1) as one:
        by_one_worker = made("one", one, 3)
        made("resumed", one, 0, 3)
    with Executor(2) as two:  # the worker of `one`, which has torch imported, serves it too
        alone, run, resumed = made("alone", two, 0), made("two", two, 3), made("resumed", two, 3)
    assert contents(by_one_worker.path) == contents(run.path)
    assert (resumed.done, resumed.reused) == (7, 3)
    for other in (run, resumed):
        _same_within_rounding(other.path, alone.path)
    rows = [row for row in _rows(run.path).values() if row.status == "ok"]
    assert len({round((row.encode_s or 0) / (row.samples or 1), 12) for row in rows}) < len(rows) - 2


def _same_within_rounding(run: Path, other: Path) -> None:
    """Compare rows but for times, all tokens, and samples but for their last digits."""
    one, two = _rows(run), _rows(other)
    assert one.keys() == two.keys()
    assert {row.status for row in one.values()} == {"ok", "failed"}
    for clip, row in one.items():
        assert row.model_dump(exclude=MEASURED) == two[clip].model_dump(exclude=MEASURED)
        if row.status == "ok":
            tokens, its_tokens = (read_tokens(RunFolder(path).tokens_path(clip)) for path in (run, other))
            assert np.array_equal(tokens, its_tokens)
            assert tokens.size == row.tokens
            mine, its = (soundfile.read(RunFolder(path).audio_path(clip))[0] for path in (run, other))
            assert np.abs(its).max() > 1e-3
            np.testing.assert_allclose(mine, its, atol=1e-4)


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_killed_run_goes_on_in_batches(tmp_path: Path) -> None:
    """Killed at random moments it ends with the rows of an undisturbed one, and keeps what was finished."""
    clips = speech_folder(tmp_path / "clips", 40)
    order = {"stage": "resynth", "codecs": [TOGETHER], "datasets": [str(clips)], "batch": 1.2}
    order["workers"] = amount(1, 2)  # each is started anew four times and more
    finish(order | {"out": str(tmp_path / "whole")})
    moments = random.Random(5)
    kills, wanted, rounds = 0, amount(2, 10), 0
    while kills < wanted:
        out = tmp_path / str(rounds)
        while kills < wanted and killed(order | {"out": str(out)}, moments, 0.3):
            kills += 1
        finish(order | {"out": str(out)})
        assert contents(out / "together" / "clips") == contents(tmp_path / "whole" / "together" / "clips")
        rounds += 1
    assert len(contents(tmp_path / "whole" / "together" / "clips")[0]) == 40
