"""``tokens lm``: learning curves over several seeds with intervals, kept where they are finished."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from support.audio import speech_like
from support.codecs.frame_codecs import COARSE, FINE, HERE

from codec_superb.applications.token_models.likelihood import ClipLikelihood
from codec_superb.cli.main import call
from codec_superb.pipeline.token_models import run as module
from codec_superb.pipeline.token_models.figures import figures


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give twelve clips of six speakers."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(12):
        soundfile.write(folder / f"c{number}.wav", speech_like(0.5, 16_000, seed=number), 16_000)
    rows = [f"c{number}.wav,s{number % 6}" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker", *rows]) + "\n")
    return folder


def test_a_curve_of_three_seeds_is_printed_and_kept(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each seed and amount of sound has a model; a second call trains and scores nothing and says the same."""
    arguments = ["tokens", "lm", "--codec", f"{HERE}:Levels", "--dataset", str(data), "--share", "0.5", "1"]
    assert call([*arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [(of["share"], of["seed"]) for of in found["readings"]] == [(s, n) for s in (0.5, 1.0) for n in (42, 1, 2)]
    whole = found["readings"][-1]["figures"]
    assert whole["nominal_kbps"] == pytest.approx(100 * (log2(COARSE) + log2(FINE)) / 1000)
    assert 0 < whole["kbps"]["value"] < 1.05 * whole["nominal_kbps"]
    assert [of["entries"] for of in whole["codebooks"]] == [COARSE, FINE]
    seconds = {of["share"]: of["training_seconds"] for of in found["readings"]}
    assert seconds[0.5] < seconds[1.0] < 6
    monkeypatch.setattr(module, "score", lambda *_: pytest.fail("it is kept"))
    assert call(arguments) == 0
    printed = capsys.readouterr().out
    printed = " ".join(printed.split())
    assert f"held out by {found['held_out_by']}:" in printed
    assert (found["held_out_by"], found["speakers_in_both"]) == ("speaker", 0)
    assert f"{found['readings'][0]['figures']['bits']['value']:.3f}" in printed


def test_names_that_do_not_exist_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern, a model, a codec of bytes, a seed or a share that none can be: one sentence with what there is."""
    for wrong, said in (
        (["--codec", f"{HERE}:Levels", "--pattern", "delayed"], "delay"),
        (["--codec", f"{HERE}:Levels", "--model", "huge"], "tiny"),
        (["--codec", "codec2_700"], "expected a codec of tokens"),
        (["--codec", f"{HERE}:Levels", "--seed", "-1"], "greater than or equal to 0"),
        (["--codec", f"{HERE}:Levels", "--seed", str(1 << 63)], "less than or equal to"),
        (["--codec", f"{HERE}:Levels", "--share", "0"], "greater than or equal to 0.001"),
        *([] if torch.cuda.is_available() else [(["--codec", f"{HERE}:Levels", "--device", "cuda"], "--device cpu")]),
    ):
        assert call(["tokens", "lm", *wrong, "--dataset", str(data)]) != 0
        assert said in capsys.readouterr().err


def test_intervals_rest_on_clusters() -> None:
    """Clips of one speaker that are alike say no more than one of them; a clip without a frame counts nothing."""
    rng = np.random.default_rng(0)
    single = [
        ClipLikelihood(f"c{at}", "d", f"s{at}", 1.0, 50, (float(of), 2.0 * float(of)))
        for at, of in enumerate(rng.normal(100, 9, 12))
    ]
    doubled = [*single, *(ClipLikelihood(f"{of.clip}b", "d", of.cluster, 1.0, 50, of.bits) for of in single)]
    doubled.append(ClipLikelihood("none", "d", "s1", 0.001, 0, (0.0, 0.0)))
    one, two = (figures(of, (16, 16)) for of in (single, doubled))
    assert (one.bits.value, two.bits.value) == (pytest.approx(sum(map(sum, (of.bits for of in single))) / 1200),) * 2
    assert one.bits.low == pytest.approx(two.bits.low)
    assert (one.clusters, two.clusters, two.clips) == (12, 12, 24)
    assert one.nominal_kbps == pytest.approx(0.4)
    with pytest.raises(ValueError, match="a frame at least"):
        figures(doubled[-1:], (16, 16))
