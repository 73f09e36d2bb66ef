"""Scoring runs: what is computed, what is kept, what counts as failed."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise, speech_folder

from codec_superb.metrics import table
from codec_superb.metrics.errors import MetricError
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.outcome import MetricCounts
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import SilentProgress

PLAIN, TREACHEROUS, SLOW = f"{HERE}:Plain", f"{HERE}:Treacherous", f"{HERE}:Slow"
CHEAP = ["si_sdr", "sdr"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder ``clips`` of four clips and ``runs`` with two codecs on it, resynthesised."""
    place = tmp_path_factory.mktemp("made")
    speech_folder(place / "clips", 4)
    resynthesise([PLAIN, "opus_12k"], [str(place / "clips")], out=place / "runs", workers=1)
    return place


@pytest.fixture
def runs(tmp_path: Path, made: Path) -> Path:
    """Give a copy of the two runs."""
    shutil.copytree(made / "runs", tmp_path / "runs")
    return tmp_path / "runs"


def _rows(run: Path) -> dict[str, ClipRow]:
    return {row.clip: row for row in RunFolder(run).rows()}


def _edit_journal(run: Path, name: str, clip: str, **changes: object) -> None:
    """Change the newest line of a clip."""
    path = run / "journal" / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    next(line for line in reversed(lines) if line["clip"] == clip).update(changes)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_values_are_those_of_the_metrics_on_the_stored_audio(made: Path, runs: Path) -> None:
    """SI-SDR and SDR of a row equal their definition on the files."""
    outcomes = score([runs], metrics=CHEAP, workers=1)
    assert [(o.codec, o.asked, o.done, o.reused, o.complete) for o in outcomes] == [
        ("opus_12k", 4, 4, 0, True),
        ("plain", 4, 4, 0, True),
    ]
    folder = RunFolder(outcomes[0].path)
    for clip, row in _rows(folder.path).items():
        reference, _ = soundfile.read(made / "clips" / clip)
        resynthesis, _ = soundfile.read(folder.audio_path(clip))
        expected = 10 * math.log10(np.sum(reference**2) / np.sum((reference - resynthesis) ** 2))
        assert row.metrics["sdr"].value == pytest.approx(expected, abs=1e-6)
        assert list(row.metrics) == sorted(CHEAP)
    assert outcomes[0].metrics == {key: MetricCounts(ok=4) for key in CHEAP}


def test_without_a_choice_every_category_gets_its_own_metrics(tmp_path: Path) -> None:
    """Speech and environmental sound are scored with the metrics of their categories."""
    for category in ("speech", "audio"):
        speech_folder(tmp_path / "mixed" / category, 1, seconds=0.8)
    resynthesise([PLAIN], [str(tmp_path / "mixed")], out=tmp_path / "runs", workers=1)
    (outcome,) = score([tmp_path / "runs"], workers=1)
    for row in _rows(outcome.path).values():
        assert sorted(row.metrics) == sorted(table.metrics_for(row.category))
    everything = set(table.metrics_for("speech")) | set(table.metrics_for("audio"))
    assert set(RunFolder(outcome.path).info().metrics) == everything
    assert set(outcome.metrics) == everything


def test_nothing_scored_is_scored_again(runs: Path) -> None:
    """A second call starts no worker and changes no file."""
    score([runs], metrics=CHEAP, workers=1)
    files = {path: path.stat().st_mtime_ns for path in runs.rglob("*") if path.is_file()}
    with Executor(1) as pool:
        again = score([runs], metrics=CHEAP, executor=pool)
        assert not pool.running
    assert [(o.done, o.reused) for o in again] == [(0, 4), (0, 4)]
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*") if path.is_file()} == files


def test_one_more_metric_computes_that_metric_only(runs: Path) -> None:
    """Earlier values stay in the table; the journal shows that they were not computed again."""
    score([runs / "plain"], metrics=CHEAP, workers=1)
    (outcome,) = score([runs / "plain"], metrics=["stft"], workers=1)
    assert (outcome.done, outcome.reused) == (4, 0)
    for row in _rows(outcome.path).values():
        assert set(row.metrics) == {*CHEAP, "stft"}
    lines = [json.loads(line) for line in (outcome.path / "journal" / "score.jsonl").read_text().splitlines()]
    assert [sorted(line["metrics"]) for line in lines] == [sorted(CHEAP)] * 4 + [["stft"]] * 4


def test_a_new_definition_is_computed_anew_and_the_others_are_kept(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of a definition decides: a stale value is neither shown nor reused."""
    score([runs / "plain"], metrics=CHEAP, workers=1)
    newer = dataclasses.replace(table.METRICS["sdr"], version="next")
    monkeypatch.setitem(table.METRICS, "sdr", newer)
    (kept,) = score([runs / "plain"], metrics=["si_sdr"], workers=1)
    assert kept.done == 0
    assert {key for row in _rows(kept.path).values() for key in row.metrics} == {"si_sdr"}
    (anew,) = score([runs / "plain"], metrics=CHEAP, workers=1)
    assert anew.done == 4
    assert RunFolder(anew.path).info().metrics == {"si_sdr": table.METRICS["si_sdr"].version, "sdr": "next"}


def test_overwrite_scores_all_again(runs: Path) -> None:
    """Nothing of the old journal stays."""
    score([runs / "plain"], metrics=[*CHEAP, "stft"], workers=1)
    (outcome,) = score([runs / "plain"], metrics=CHEAP, workers=1, overwrite=True)
    assert outcome.done == 4
    assert len((outcome.path / "journal" / "score.jsonl").read_text().splitlines()) == 4


@pytest.mark.sample(1, among="workers change nothing")
def test_rows_do_not_depend_on_workers_or_on_company(made: Path, runs: Path, tmp_path: Path) -> None:
    """One run alone on one worker scores like two runs together on three."""
    keys = ["stft", "mel", "pesq", "stoi"]
    shutil.copytree(made / "runs", tmp_path / "other")
    score([runs], metrics=keys, workers=3)
    score([tmp_path / "other" / "opus_12k"], metrics=keys, workers=1)
    assert contents(runs / "opus_12k" / "clips") == contents(tmp_path / "other" / "opus_12k" / "clips")


def test_a_clip_without_resynthesis_fails_in_every_metric(tmp_path: Path) -> None:
    """A failed clip is counted as failed, never left out and never scored."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for fault in (0, 13):
        soundfile.write(folder / f"f{fault:02}.wav", noise(4000 + fault), 16000)
    resynthesise([TREACHEROUS], [str(folder)], out=tmp_path / "runs", workers=1)
    (outcome,) = score([tmp_path / "runs"], metrics=CHEAP, workers=1)
    assert not outcome.complete
    assert (outcome.asked, outcome.done, outcome.reused) == (2, 1, 0)
    assert outcome.metrics == {key: MetricCounts(ok=1, failed=1) for key in CHEAP}
    value = _rows(outcome.path)["f13.wav"].metrics["sdr"]
    assert (value.status, value.value) == ("failed", None)
    assert value.reason == "no resynthesis: decode: cannot decode my own bits"


def test_an_undefined_metric_is_an_answer_and_a_failure_is_not(tmp_path: Path) -> None:
    """Silence has no SI-SDR: undefined, with a reason, and the run is complete."""
    folder = tmp_path / "clips"
    folder.mkdir()
    soundfile.write(folder / "silence.wav", np.zeros(4000), 16000)
    resynthesise([PLAIN], [str(folder)], out=tmp_path / "runs", workers=1)
    (outcome,) = score([tmp_path / "runs"], metrics=["si_sdr"], workers=1)
    assert outcome.complete
    assert outcome.metrics == {"si_sdr": MetricCounts(undefined=1)}
    value = _rows(outcome.path)["silence.wav"].metrics["si_sdr"]
    assert (value.status, value.value, bool(value.reason)) == ("undefined", None, True)


def test_exchanged_audio_is_found_out_and_tried_again(runs: Path) -> None:
    """Audio that is not what resynth wrote fails; once it is back the clip is scored."""
    path = RunFolder(runs / "plain" / "clips").audio_path("clip01.wav")
    good = path.read_bytes()
    path.write_bytes(RunFolder(runs / "plain" / "clips").audio_path("clip02.wav").read_bytes())
    (outcome,) = score([runs / "plain"], metrics=CHEAP, workers=1)
    assert [(f.clip, f.stage) for f in outcome.failed] == [("clip01.wav", "score")] * 2
    assert "not what resynth wrote" in outcome.failed[0].reason
    path.write_bytes(good)
    (again,) = score([runs / "plain"], metrics=CHEAP, workers=1)
    assert (again.done, again.reused, again.complete) == (1, 3, True)


def test_a_worker_that_dies_costs_one_clip_of_one_run(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash in one codec's clip leaves the other codec's version of that clip scored."""
    from support.pipeline.workers import die_on_first_item

    from codec_superb.pipeline.scoring import stage as score_module

    monkeypatch.setattr(score_module, "score_clip", die_on_first_item)
    outcomes = score([runs], metrics=CHEAP, workers=1)
    failed = {(o.codec, f.clip, f.reason) for o in outcomes for f in o.failed}
    assert failed == {
        ("opus_12k", "clip02.wav", f"{key}: worker process killed by SIGKILL (out of memory?)") for key in CHEAP
    }
    assert [o.done for o in outcomes] == [4, 4]


def test_a_widened_run_keeps_its_scores(tmp_path: Path, made: Path) -> None:
    """After more clips were resynthesised only those are scored."""
    out = tmp_path / "runs"
    resynthesise([PLAIN], [str(made / "clips")], out=out, workers=1, limit=2)
    score([out], metrics=CHEAP, workers=1)
    resynthesise([PLAIN], [str(made / "clips")], out=out, workers=1)
    assert RunFolder(out / "plain" / "clips").info().metrics == {}
    (outcome,) = score([out], metrics=CHEAP, workers=1)
    assert (outcome.asked, outcome.done, outcome.reused) == (4, 2, 2)


def test_a_run_that_cannot_be_scored_is_refused_with_what_to_do(tmp_path: Path, made: Path, runs: Path) -> None:
    """An unfinished run, a changed dataset, an unknown metric and a lost row say what to do."""
    with pytest.raises(MetricError, match="si_sdr"):
        score([runs], metrics=["sisdr"], workers=1)
    folder = RunFolder(runs / "plain" / "clips")
    info = folder.info()
    folder.write_info(info.model_copy(update={"status": "started"}))
    with pytest.raises(RunFolderError, match="not finished; call resynth again"):
        score([folder.path], metrics=CHEAP, workers=1)
    other = info.dataset.model_copy(update={"manifest_hash": "0" * 64})
    folder.write_info(info.model_copy(update={"dataset": other}))
    with pytest.raises(RunFolderError, match="has changed since"):
        score([folder.path], metrics=CHEAP, workers=1)
    folder.write_info(info)
    folder.write_rows(list(folder.rows())[1:], ())
    with pytest.raises(RunFolderError, match="call resynth again"):
        score([folder.path], metrics=CHEAP, workers=1)
    with folder.lock(), pytest.raises(PipelineError, match="another process"):
        score([folder.path], metrics=CHEAP, workers=1)


def test_the_table_has_three_columns_a_metric(runs: Path) -> None:
    """Readers of Parquet find value, status and reason beside the columns of the row."""
    score([runs / "plain"], metrics=CHEAP, workers=1)
    arrow = RunFolder(runs / "plain" / "clips").table()
    fields = [name for name in ClipRow.model_fields if name not in {"metrics", "probes"}]
    assert arrow.column_names == fields + [f"{key}{end}" for key in sorted(CHEAP) for end in ("", "_status", "_reason")]
    assert arrow["clip"].to_pylist() == sorted(arrow["clip"].to_pylist())
    assert arrow["sdr_status"].to_pylist() == ["ok"] * 4


def test_a_clip_without_resynthesis_is_not_called_done(tmp_path: Path) -> None:
    """Progress counts what can be scored: a clip that failed before is neither to do nor finished."""

    class Steps(SilentProgress):
        def __init__(self) -> None:
            self.seen: list[tuple[int, int]] = []

        def start(self, title: str, total: int, done: int = 0) -> None:
            self.seen.append((total, done))

    folder = speech_folder(tmp_path / "clips", 2)
    (folder / "broken.wav").write_text("no sound")
    resynthesise([PLAIN], [str(folder)], out=tmp_path / "runs", workers=1)
    steps = Steps()
    score([tmp_path / "runs"], metrics=CHEAP, workers=1, progress=steps)
    assert steps.seen == [(2, 0)]


def test_the_stamp_tells_which_pesq_ran(made: Path, tmp_path: Path) -> None:
    """Both implementations give the same rows, and the run says which one it was."""
    rows, ran = [], []
    for backend in ("reference", "fast"):
        runs = tmp_path / backend
        resynthesise([PLAIN], [str(made / "clips")], out=runs, workers=1)
        (outcome,) = score([runs], metrics=["pesq"], backends=(("pesq", backend),), workers=1)
        rows.append({clip: row.metrics for clip, row in _rows(outcome.path).items()})
        ran.append(RunFolder(outcome.path).info().provenance[-1].backends)
    assert rows[0] == rows[1]
    assert ran == [{"pesq": "reference"}, {"pesq": "fast"}]


def test_the_stamp_does_not_claim_a_pesq_that_did_not_run(made: Path, tmp_path: Path) -> None:
    """Where PESQ is kept and another metric is added, the choice of an implementation has no effect and is not told."""
    resynthesise([PLAIN], [str(made / "clips")], out=tmp_path / "runs", workers=1)
    score([tmp_path / "runs"], metrics=["pesq"], workers=1)
    (outcome,) = score([tmp_path / "runs"], metrics=["pesq", "sdr"], backends=(("pesq", "reference"),), workers=1)
    stamps = [stamp.backends for stamp in RunFolder(outcome.path).info().provenance if stamp.stage == "score"]
    assert stamps == [{"pesq": "fast"}, {}]


def test_a_damaged_table_is_named_and_made_again_by_what_is_said(made: Path, runs: Path) -> None:
    """Whatever reads it names file and remedy; what was finished comes back from the journals, byte for byte."""
    score([runs / "plain"], metrics=CHEAP, workers=1)
    table = runs / "plain" / "clips" / "clips.parquet"
    whole = table.read_bytes()
    folder = RunFolder(table.parent)
    for damaged in (whole[:-100], whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2), b""):
        table.write_bytes(damaged)
        told = f"{table}: .*; delete the file and call resynth, or import, again"
        for read in (folder.rows, folder.blocks, folder.failures):
            with pytest.raises(RunFolderError, match=told):
                list(read())
        for whole_of in (folder.stored_rows, folder.table, folder.resyntheses):
            with pytest.raises(RunFolderError, match=told):
                whole_of()
        with pytest.raises(RunFolderError, match=told):
            score([runs / "plain"], metrics=CHEAP, workers=1)
    table.unlink()
    (again,) = resynthesise([PLAIN], [str(made / "clips")], out=runs, workers=1)
    (scored,) = score([runs / "plain"], metrics=CHEAP, workers=1)
    assert (again.done, scored.done) == (0, 0)
    assert table.read_bytes() == whole
