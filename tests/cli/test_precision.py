"""``codec-superb precision`` on clips of ``mini``, with a tiny model of random weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.codecs.checkpoints import checkpoint
from support.home import home_with_models

from codec_superb.cli.commands.precision import print_variant
from codec_superb.cli.main import call
from codec_superb.pipeline.precision import PrecisionReport, Speed, VariantReport
from codec_superb.web.text import significant

NAME = "encodec_24k_6bps"


@pytest.fixture(scope="module")
def _mini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prepare ``mini`` in a home of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(home_with_models(tmp_path_factory.mktemp("home") / "home")))
        assert call(["datasets", "prepare", "mini"]) == 0
        yield


@pytest.mark.sample(1, among="neural codecs by commands")
@pytest.mark.usefixtures("_mini")
def test_precision_prints_and_writes_what_half_precision_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Differences by metric and category, equal tokens and speed are printed; the file holds the same and more."""
    out = tmp_path / "out"
    line = [
        "precision",
        NAME,
        "--variant",
        "bfloat16",
        "float16",
        "--dataset",
        "mini",
        "--limit",
        "6",
        "--metric",
        "mel",
    ]
    line += ["stft", "--weights", str(checkpoint("encodec")), "--out", str(out), "--workers", "1", "--device", "cpu"]
    assert call(line) == 0
    told = capsys.readouterr().out
    assert "untrained weights: these differences" in told
    assert "== bfloat16 against float32" in told
    assert f"{NAME} (dtype float16) (first) against {NAME} (usual settings) (second)" in told
    assert "overall score by category" in told
    report = PrecisionReport.model_validate_json((out / f"{NAME}.json").read_bytes())
    assert report.complete
    bfloat16, float16 = report.variants
    assert bfloat16.tokens is not None
    assert float16.tokens is not None
    assert bfloat16.tokens.equal < float16.tokens.equal < 1
    assert f"equal tokens: {bfloat16.tokens.equal:.2%} of {bfloat16.tokens.tokens}" in told
    assert bfloat16.speed is not None
    assert f"speed: {significant(bfloat16.speed.ratio, 3)} times that of float32" in told
    assert bfloat16.comparison is not None
    assert [entry.category for entry in bfloat16.comparison.categories] == ["speech", "audio", "music"]
    assert call(["pack", str(out / "bfloat16"), "-o", str(tmp_path / "a.zip")]) == 2
    assert "random weights" in capsys.readouterr().err


def test_a_speed_of_a_thousandth_is_not_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Where compilation takes most of the time, the ratio keeps its digits, as the seconds of short clips do."""
    speed = Speed(clips=2, float32_s=0.0421, variant_s=19.14, ratio=0.0022, median_ratio=1.284)
    print_variant(
        VariantReport(variant="float32+compile", failed=(), comparison=None, tokens=None, speed=speed),
    )
    assert capsys.readouterr().out == (
        "speed: 0.00220 times that of float32 (19.1 s against 0.0421 s for 2 clips, both ways), "
        "1.28 times on the median clip\n"
    )


def test_precision_needs_a_dataset_and_a_known_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing or misspelt is said before anything is written."""
    assert call(["precision", NAME, "--out", str(tmp_path / "out")]) == 2
    assert "name at least one --dataset" in capsys.readouterr().err
    assert call(["precision", NAME, "--variant", "int8", "--dataset", "mini", "--out", str(tmp_path / "out")]) == 2
    assert "expected a variant such as" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
