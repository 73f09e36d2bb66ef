"""``compare`` and ranks over results: only what is the same on both sides is compared, the rest is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import KEYS, card, draw_rows, sha, write_run

from codec_superb.pipeline.comparison.codecs import compare, rank_results
from codec_superb.pipeline.comparison.results import Results, load_results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.pack import pack

ONE = card("opus_16k")


def run(root: Path, name: str, quality: float, **dataset: Any) -> RunFolder:
    """Write a run of a codec on 30 clips."""
    return write_run(root, draw_rows(1, 30, quality=quality), card=card(name), **dataset)


def with_metrics(folder: RunFolder, **versions: str | None) -> RunFolder:
    """Change versions of metrics in a run, None to take one away."""
    info = folder.info()
    metrics = {key: value for key, value in {**info.metrics, **versions}.items() if value is not None}
    folder.write_info(info.model_copy(update={"metrics": metrics}))
    return folder


@pytest.mark.sample(1, among="folders compared")
def test_a_run_against_a_submission(tmp_path: Path) -> None:
    """By dataset, category and metric; the better codec is ahead, and the report is plain JSON."""
    better = run(tmp_path, "opus_16k", 0.3)
    worse = pack([run(tmp_path, "lc3_16k", 0.0)], tmp_path / "worse.zip")
    report = compare(better.path, worse)
    assert (report.first, report.second) == ("opus_16k", "lc3_16k")
    assert [(entry.dataset, entry.category, entry.shared) for entry in report.datasets] == [
        ("mini", "speech", 10),
        ("mini", "audio", 10),
        ("mini", "music", 10),
    ]
    assert {metric.metric for metric in report.datasets[0].metrics} == set(KEYS)
    for entry in report.categories:
        assert entry.score is not None
        assert entry.score.difference > 0
        assert entry.score.first_better == 1.0
    assert report.left_out == ()
    assert type(report).model_validate(json.loads(report.model_dump_json())) == report


@pytest.mark.sample(1, among="folders compared")
def test_a_codec_folder_with_several_runs(tmp_path: Path) -> None:
    """``runs/opus_16k`` stands for all datasets in it; one that the other lacks is named."""
    run(tmp_path, "opus_16k", 0.1)
    write_run(tmp_path, draw_rows(2, 12, dataset="another"), card=ONE)
    run(tmp_path, "lc3_16k", 0.0)
    report = compare(tmp_path / "opus_16k", tmp_path / "lc3_16k")
    assert {entry.dataset for entry in report.datasets} == {"mini"}
    assert [(entry.what, entry.reason) for entry in report.left_out] == [
        ("another", "only the first, opus_16k, was run on it")
    ]


def test_a_path_with_several_codecs_is_refused(tmp_path: Path) -> None:
    """Which of them was meant cannot be guessed."""
    run(tmp_path, "opus_16k", 0.1)
    other = run(tmp_path, "lc3_16k", 0.0)
    with pytest.raises(PipelineError, match=r"got lc3_16k, opus_16k; give one codec's folder"):
        compare(tmp_path, other.path)


def test_the_same_name_over_other_clips_is_not_compared(tmp_path: Path) -> None:
    """Two folders called ``mini`` with different hashes are different datasets."""
    one, two = run(tmp_path, "opus_16k", 0.1), run(tmp_path, "lc3_16k", 0.0, manifest_hash=sha("other"))
    with pytest.raises(PipelineError, match="manifest hashes differ"):
        compare(one.path, two.path)


def test_metrics_that_differ_are_named_and_left_out(tmp_path: Path) -> None:
    """Another version, or a metric of one side only: no difference and no overall score that needs it."""
    one = with_metrics(run(tmp_path, "opus_16k", 0.1), pesq="0")
    two = with_metrics(run(tmp_path, "lc3_16k", 0.0), f0corr=None)
    report = compare(one.path, two.path)
    assert {entry.what: entry.reason for entry in report.left_out} == {
        "pesq": "defined differently: version 0 and version 1",
        "f0corr": "only one of the two was scored with it",
    }
    assert {metric.metric for metric in report.datasets[0].metrics} == {"stft", "mel", "stoi"}
    scores = {entry.category: entry.score for entry in report.categories}
    assert scores["speech"] is None
    assert scores["audio"] is not None


def test_ranks_leave_out_what_was_measured_otherwise(tmp_path: Path) -> None:
    """Another state of the dataset or another version of a metric: named as not run on what the others were."""
    folders = [
        run(tmp_path, "opus_16k", 0.3),
        run(tmp_path, "lc3_16k", 0.0),
        run(tmp_path, "odd_dataset", 0.9, manifest_hash=sha("other")),
        with_metrics(run(tmp_path, "odd_metric", 0.9), pesq="0"),
    ]
    results: list[Results] = [load_results(folder.path) for folder in folders]
    for ranking in rank_results(results).values():
        assert [(rank.codec, rank.rank) for rank in ranking.ranks] == [("opus_16k", 1), ("lc3_16k", 2)]
        assert ranking.unranked == {"odd_dataset": "not run on mini", "odd_metric": "not run on mini"}
    assert rank_results(results[::-1]) == rank_results(results)
