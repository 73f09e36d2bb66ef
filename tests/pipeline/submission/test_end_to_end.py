"""From sound to a checked submission with the real stages: resynthesise, score, pack, check, compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline.runs import speech_folder

from codec_superb.pipeline.comparison.codecs import compare
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.pack import pack


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run Opus at two bitrates over four clips of synthetic speech and score them."""
    folder = tmp_path_factory.mktemp("real")
    clips = speech_folder(folder / "voices", 4, seconds=1.0)
    (clips / "broken.wav").write_bytes(b"RIFF")
    found = resynthesise(
        ["opus_6k", "opus_24k"], [str(clips)], out=folder / "runs", device="cpu", workers=1, category="speech"
    )
    score([outcome.path for outcome in found], workers=1)
    return {outcome.path.parent.name: outcome.path for outcome in found}


def test_real_runs_give_a_submission_that_passes_its_check(runs: dict[str, Path], tmp_path: Path) -> None:
    """Rows of real stages, a broken file among them, satisfy every rule of the check; no path of this machine is in."""
    packed = pack([runs["opus_24k"]], tmp_path / "opus_24k.zip")
    report = check(packed)
    assert report.problems == ()
    assert (report.codec, report.clips) == ("opus_24k", 5)
    members = read_archive(packed)
    assert not [name for name, data in members.items() if str(runs["opus_24k"].parents[2]).encode() in data]
    results = load_results(packed)
    (dataset,) = results.aggregates.datasets
    assert (dataset.ok, dataset.failed, dataset.complete) == (4, 1, False)
    assert dataset.score.value is not None
    assert results.datasets[0].custom


def test_more_bits_sound_better_in_a_real_comparison(runs: dict[str, Path]) -> None:
    """24 kbps against 6 kbps on the same clips: ahead in PESQ and in the overall score."""
    report = compare(runs["opus_24k"], runs["opus_6k"])
    (dataset,) = report.datasets
    assert dataset.shared == 4
    pesq = next(metric for metric in dataset.metrics if metric.metric == "pesq")
    assert pesq.result is not None
    assert pesq.result.difference > 0.3
    assert dataset.score is not None
    assert dataset.score.difference > 0
