"""``codec-superb mseb`` and ``admin mseb``: files of MSEB's form in and out, and on the leaderboard."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import card, draw_rows, write_run

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.cli.main import call
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.metrics import Aggregates
from codec_superb.pipeline.comparison.mseb import mseb_files
from codec_superb.pipeline.comparison.results import ResultDataset, Results
from codec_superb.pipeline.literature.mseb import read_rows
from codec_superb.pipeline.runs.info import DatasetInfo
from codec_superb.pipeline.tables.rows import ProbeValue

LINE: dict[str, Any] = {
    "name": "recogniser", "sub_task_name": "speech_transcription",
    "task_metadata": {
        "name": "", "description": "", "reference": "", "type": "SpeechTranscription", "category": "speech",
        "main_score": "WER", "revision": "1.0.0", "dataset": {"path": "", "revision": "1.0.0"}, "scores": [],
        "eval_splits": ["test"], "eval_langs": [], "domains": [], "task_subtypes": [],
    },
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write results of one recogniser on two locales."""
    folder = tmp_path / "results"
    for task, lang, value in (("SVQSwSpeechTranscription", "sw", 0.5), ("SVQEnUsSpeechTranscription", "en-US", 1.1)):
        about = {**LINE["task_metadata"], "name": task, "eval_langs": [lang]}
        score = {"metric": "WER", "description": "", "value": value, "min": 0, "max": float("inf"), "std": None}
        path = folder / "recogniser" / f"{task}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**LINE, "task_metadata": about, "scores": [score]}) + "\n", encoding="utf-8")
    return folder


def test_files_become_means_and_a_table(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two locales of 26 are named as such; the table holds every value."""
    assert call(["mseb", "import", str(files)]) == 0
    printed = capsys.readouterr().out
    assert "0.8000  2 of 26" in printed
    assert "0.5000 sw" in printed
    assert "1.1000 en-US" in printed
    out = tmp_path / "values.csv"
    assert call(["mseb", "import", str(files), "--out", str(out), "--json"]) == 0
    (mean,) = json.loads(capsys.readouterr().out)
    assert (mean["mean"], mean["n"], mean["whole"], len(mean["missing"])) == (0.8, 2, False, 24)
    text = out.read_text(encoding="utf-8")
    assert next(csv.reader(text.splitlines())) == list(MsebRow._fields)
    assert [(row.encoder, row.lang, row.value) for row in read_rows(text)] == [
        ("recogniser", "en-US", 1.1), ("recogniser", "sw", 0.5),
    ]  # fmt: skip


def test_a_file_that_does_not_fit_is_one_sentence(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written, and no traceback is shown."""
    wrong = files / "recogniser" / "SVQSwSpeechTranscription.jsonl"
    wrong.write_text(wrong.read_text(encoding="utf-8").replace("0.5", '"0.5"'), encoding="utf-8")
    assert call(["mseb", "import", str(files), "--out", str(files / "x.csv")]) != 0
    told = capsys.readouterr().err
    assert "line 1: scores.0.value" in told
    assert "Traceback" not in told
    assert not (files / "x.csv").exists()


def test_maintainers_show_and_remove_an_encoder(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is imported is listed with its source until it is removed."""
    storage = ["--storage", str(tmp_path / "storage")]
    assert call(["admin", "mseb", "import", str(files), "--source", "our run", *storage]) == 0
    assert "recogniser: 2 values" in capsys.readouterr().out
    assert call(["admin", "mseb", "list", "--json", *storage]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["encoder"], entry["values"], entry["source"]) == ("recogniser", 2, "our run")
    assert call(["admin", "mseb", "remove", "recogniser", *storage]) == 0
    assert call(["admin", "mseb", "remove", "recogniser", *storage]) != 0
    assert "no imported encoder 'recogniser'" in capsys.readouterr().err


def test_runs_without_mseb_have_nothing_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says so and writes no folder."""
    run = write_run(tmp_path / "runs", draw_rows(0, 4), card=card())
    assert call(["mseb", "export", str(run.path), "--out", str(tmp_path / "out")]) == 0
    assert "nothing to write" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def _results(tmp_path: Path) -> Results:
    """Give one codec on one dataset: retrieval pooled and under a recording condition, and speech recognition."""
    figures = [
        ("mseb_retrieval_passage", "mseb_retrieval_passage_mrr", "", 0.339),
        ("mseb_retrieval_passage", "mseb_retrieval_passage_mrr", "clean", 0.4),
        ("asr", "asr_wer_pct", "", 5.0),
    ]
    made = [
        ApplicationAggregate(
            probe=probe, figure=figure, dataset="svq_sw", slice=part, n=9, left_out=0, failed=0, pairs=0,
            **{side: Score(value=value, low=None, high=None) for side in ("reference", "resynthesis", "loss")},
        )
        for probe, figure, part, value in figures
    ]  # fmt: skip
    info = DatasetInfo(name="svq_sw", title="SVQ", manifest_hash="a" * 64, clips=4, selected=4, licence="CC BY 4.0")
    probes = tuple(
        ProbeInfo(probe=key, version="1", backend=backend, model_sha256="b" * 64)
        for key, backend in (("asr", "tiny"), ("mseb_retrieval_passage", "tiny+minilm"))
    )
    took = {"mseb_retrieval_passage": ProbeValue(status="ok")}
    drawn = draw_rows(0, 4, dataset="svq_sw")
    rows = tuple(row.model_copy(update={"probes": took if number else {}}) for number, row in enumerate(drawn))
    whole = Aggregates(
        applications=tuple(each for each in made if not each.slice), slices=tuple(each for each in made if each.slice)
    )
    dataset = ResultDataset(info, custom=False, metrics={}, provenance=(), source=tmp_path, probes=probes)
    return Results(card(), (dataset,), rows, {}, whole)


def test_a_codecs_results_become_files_of_its_model(tmp_path: Path) -> None:
    """A folder a model, a file a task, the payload of the clips that took part; results under a condition stay out."""
    results = _results(tmp_path)
    files = mseb_files(results)
    assert list(files) == ["opus_16k_tiny_minilm/SVQSwPassageInLangRetrieval.jsonl"]
    (members,) = files.values()
    assert [(each.sub_task_name, each.scores[0].value) for each in members] == [
        ("passage_retrieval_in_lang", 0.339), ("passage_retrieval_in_lang:clean", 0.4),
    ]  # fmt: skip
    bits = [row.bits for row in results.rows[1:] if row.bits is not None]  # the first took no part
    assert members[0].scores[-1].value == pytest.approx(sum(bits) / len(bits) / 8)
