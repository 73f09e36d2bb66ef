"""What half precision costs: runs of their own, paired differences, equal tokens, speed, and failures that show."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.codecs.checkpoints import checkpoint, opened
from support.pipeline.runs import noise
from support.stranger import metric_file

from codec_superb.metrics.errors import UnknownMetric
from codec_superb.pipeline.comparison.codecs import compare
from codec_superb.pipeline.errors import PipelineError, SubmissionError
from codec_superb.pipeline.precision import PrecisionReport, Variant, measure_precision
from codec_superb.pipeline.runs.folder import RunFolder, find_runs
from codec_superb.pipeline.runs.token_store import read_tokens
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.workers.executor import Executor

NAME, FAMILY = "encodec_24k_6bps", "encodec"
METRICS = ("mel", "stft", "si_sdr")
HALF = Variant("bfloat16")


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give four clips of noise and a file that is no audio."""
    folder = tmp_path_factory.mktemp("sound") / "clips"
    folder.mkdir()
    for number in range(4):
        soundfile.write(folder / f"{number}.wav", noise(9000 + 500 * number, seed=number), 24000)
    (folder / "none.wav").write_bytes(b"no sound")
    return folder


@pytest.fixture(scope="module")
def made(clips: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PrecisionReport]:
    """Measure once; return the folder and the report."""
    folder = tmp_path_factory.mktemp("precision") / "out"
    return folder, _measure(clips, folder)


@pytest.fixture
def out(made: tuple[Path, PrecisionReport]) -> Path:
    """Give the folder."""
    return made[0]


@pytest.fixture
def report(made: tuple[Path, PrecisionReport]) -> PrecisionReport:
    """Give the report."""
    return made[1]


def _measure(clips: Path, out: Path, *variants: Variant, metrics: Sequence[str] = METRICS) -> PrecisionReport:
    return measure_precision(
        NAME, variants or [HALF], [str(clips)], out=out, weights=str(checkpoint(FAMILY)), device="cpu",
        executor=Executor(1), metrics=metrics, category="audio",
    )  # fmt: skip


@pytest.mark.sample(1, among="neural codecs by commands")
def test_a_metric_of_a_file_is_compared_and_an_unknown_one_refused(clips: Path, tmp_path: Path) -> None:
    """``metrics`` takes what ``score`` takes: the paired difference of a plug-in's metric is in the report."""
    (tmp_path / "level.py").write_text(metric_file())
    out = tmp_path / "out"
    report = _measure(clips, out, metrics=[f"{tmp_path}/level.py:LEVEL"])
    comparison = report.variants[0].comparison
    assert comparison is not None
    (found,) = comparison.datasets[0].metrics
    assert (found.metric, found.n) == ("level", 4)
    assert found.result is not None
    assert not comparison.left_out
    with pytest.raises(UnknownMetric, match="Did you mean stft"):
        _measure(clips, out / "other", metrics=["stftt"])
    assert not (out / "other").exists()


def _run(out: Path, variant: str) -> RunFolder:
    return RunFolder(out / variant / NAME / "clips")


def test_differences_are_those_of_compare(out: Path, report: PrecisionReport) -> None:
    """Every metric and the category's score are paired over the clips both have, variant first, and really differ."""
    (half,) = report.variants
    assert half.variant == "bfloat16"
    assert half.comparison == compare(_run(out, "bfloat16").path, _run(out, "float32").path)
    assert (half.comparison.first, half.comparison.second) == (f"{NAME} (dtype bfloat16)", f"{NAME} (usual settings)")
    (dataset,) = half.comparison.datasets
    assert {(metric.metric, metric.n) for metric in dataset.metrics} == {(key, 4) for key in METRICS}
    for metric in dataset.metrics:
        assert metric.result is not None
        assert metric.result.difference != 0
        assert metric.result.low is not None
    (category,) = half.comparison.categories
    assert category.score is not None
    assert _run(out, "float32").info().card.settings == {}
    assert _run(out, "bfloat16").info().card.settings == {"dtype": "bfloat16"}


def test_tokens_are_those_that_were_decoded(clips: Path, out: Path, report: PrecisionReport) -> None:
    """Kept tokens are the codec's, and the shares of equal ones are counted over all of them."""
    codec = opened(NAME, FAMILY)
    kept = []
    for clip in ("0.wav", "1.wav", "2.wav", "3.wav"):
        audio, rate = soundfile.read(clips / clip, dtype="float32")
        full, half = (read_tokens(_run(out, variant).tokens_path(clip)) for variant in ("float32", "bfloat16"))
        assert np.array_equal(full, codec.encode(audio[None], rate).payload)
        kept.append(full == half)
    same = np.concatenate(kept, axis=1)
    tokens = report.variants[0].tokens
    assert tokens is not None
    assert (tokens.clips, tokens.tokens) == (4, same.size)
    assert tokens.equal == pytest.approx(same.mean())
    assert tokens.by_codebook == pytest.approx(tuple(same.mean(axis=1)))
    assert tokens.clips_equal == sum(bool(equal.all()) for equal in kept)
    assert 0 < tokens.equal < 1


def test_speed_is_that_of_the_rows(out: Path, report: PrecisionReport) -> None:
    """Seconds are summed over the shared clips, and the ratio says how many times as fast the variant is."""
    speed = report.variants[0].speed
    assert speed is not None
    sums = [
        sum((row.encode_s or 0) + (row.decode_s or 0) for row in _run(out, variant).rows())
        for variant in ("float32", "bfloat16")
    ]
    assert (speed.clips, speed.float32_s, speed.variant_s) == (4, *map(pytest.approx, sums))
    assert speed.ratio == pytest.approx(sums[0] / sums[1])
    assert speed.median_ratio > 0


def test_what_fails_is_named_and_not_scored(report: PrecisionReport) -> None:
    """A clip that cannot be read is a failure of each run, told once with its reason, and counts in no difference."""
    for failed in (report.failed, report.variants[0].failed):
        assert [(entry.clip, entry.stage) for entry in failed] == [("none.wav", "load")]
        assert "none.wav" in failed[0].reason
    assert not report.complete
    assert report.weights == "random"


def test_nothing_finished_is_done_again(clips: Path, out: Path, report: PrecisionReport, tmp_path: Path) -> None:
    """A second call touches no sound and no tokens; lost tokens cost their own clip."""
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    files = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.suffix in {".flac", ".npy"}}
    assert len(files) == 16
    _run(copy, "bfloat16").tokens_path("1.wav").unlink()
    again = _measure(clips, copy)
    now = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.suffix in {".flac", ".npy"}}
    assert {path.name for path in files if files[path] != now[path]} == {"1.wav.flac", "1.wav.npy"}
    assert again.variants[0].tokens == report.variants[0].tokens
    assert again.variants[0].comparison == report.variants[0].comparison


def test_damaged_tokens_are_named(clips: Path, out: Path, tmp_path: Path) -> None:
    """A file that is no array of tokens is an error that says which and what to do."""
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    _run(copy, "float32").tokens_path("2.wav").write_bytes(b"no array")
    with pytest.raises(PipelineError, match=r"2\.wav\.npy cannot be read.*delete the file"):
        _measure(clips, copy)


def test_seconds_of_two_machines_are_not_compared(clips: Path, out: Path, tmp_path: Path) -> None:
    """Where a run was made on another processor its speed is left out, with the reason; the scores stay."""
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    run = _run(copy, "bfloat16")
    info = run.info()
    stamps = tuple(stamp.model_copy(update={"processor": "another"}) for stamp in info.provenance)
    run.write_info(info.model_copy(update={"provenance": stamps}))
    (half,) = _measure(clips, copy).variants
    assert half.speed is None
    assert half.comparison is not None
    assert half.left_out == (
        "speed: the runs differ in processor; call it with --overwrite to measure all of them here",
    )


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    """Where every clip fails there is no comparison, and the reason instead of one."""
    folder = tmp_path / "clips"
    folder.mkdir()
    (folder / "none.wav").write_bytes(b"no sound")
    (half,) = _measure(folder, tmp_path / "out").variants
    assert (half.comparison, half.tokens, half.speed) == (None, None, None)
    assert half.left_out == ("no clip has a resynthesis in both: there is nothing to compare",)
    assert len(half.failed) == 1


def test_a_score_of_random_weights_is_not_packed(out: Path, tmp_path: Path) -> None:
    """The runs are like any other, and so is what ``pack`` says of them."""
    for run in find_runs([out / "bfloat16", out / "float32"]):
        with pytest.raises((PipelineError, SubmissionError), match="random weights"):
            pack([run.path], tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("text", "variant", "name"),
    [
        ("bfloat16", Variant("bfloat16"), "bfloat16"),
        ("compile", Variant("float32", compile=True), "float32+compile"),
        ("compile+float16", Variant("float16", compile=True), "float16+compile"),
    ],
)
def test_variants_are_named_by_what_they_change(text: str, variant: Variant, name: str) -> None:
    """A precision, compilation, or both, in any order."""
    assert Variant.parse(text) == variant
    assert variant.name == name


@pytest.mark.parametrize("text", ["int8", "", "bfloat16+float16", "compile+compile", "bfloat16+"])
def test_other_variants_are_refused(text: str) -> None:
    """The message names what there is."""
    with pytest.raises(PipelineError, match="expected a variant such as bfloat16, float16, compile or"):
        Variant.parse(text)


def test_what_cannot_vary_is_refused_before_any_work(clips: Path, tmp_path: Path) -> None:
    """A classical codec has no precision, and float32 is no variant of itself."""
    with pytest.raises(PipelineError, match="opus_12k computes in one way only"):
        measure_precision("opus_12k", [HALF], [str(clips)], out=tmp_path / "out")
    with pytest.raises(PipelineError, match="float32 is what every variant is compared with"):
        _measure(clips, tmp_path / "out", Variant("float32"))
    assert not (tmp_path / "out").exists()
