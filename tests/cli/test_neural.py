"""Neural codecs from the command line: ``--weights`` on resynth and bench, the run's card, what ``pack`` refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support_checkpoints import checkpoint

from codec_superb.cli.main import call
from codec_superb.pipeline.run_folder import RunFolder

NAME = "encodec_24k_6bps"


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with two short clips of noise."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for index in range(2):
        sound = 0.1 * np.random.default_rng(index).standard_normal(8000)
        soundfile.write(folder / f"{index}.wav", sound, 16000)
    return folder


def test_bench_scores_random_weights_and_packs_none(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run with random weights is resynthesised, scored and shown; its card says so, and no submission is made."""
    out = tmp_path / "runs"
    line = ["bench", "--codec", NAME, "--dataset", str(clips), "--category", "speech", "--metric", "stft", "--out"]
    line += [str(out), "--weights", str(checkpoint("encodec")), "--workers", "1", "--device", "cpu"]
    assert call(line) == 0
    assert "random weights" in capsys.readouterr().err
    info = RunFolder(out / NAME / "clips").info()
    assert info.card.weights is not None
    assert info.card.weights.source == "random"
    assert len(info.card.weights.sha256 or "") == 64
    assert {"torch", "transformers", "safetensors"} <= set(info.provenance[0].packages)
    rows = list(RunFolder(out / NAME / "clips").rows())
    assert [(row.status, row.tokens, row.bits) for row in rows] == [("ok", 8 * 38, 8 * 38 * 10)] * 2
    assert not list(out.glob("*.zip"))
    assert call(["pack", str(out / NAME / "clips"), "-o", str(tmp_path / "x.zip")]) == 2
    assert "has random weights" in capsys.readouterr().err


def test_missing_weights_stop_the_run_before_it_begins(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without weights is one clear message and exit code 2; nothing is written."""
    line = ["resynth", "--codec", NAME, "--dataset", str(clips), "--out", str(tmp_path / "runs"), "--weights"]
    assert call([*line, str(tmp_path / "nowhere")]) == 2
    assert "hf download facebook/encodec_24khz" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_options_that_no_codec_takes_are_refused(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--dtype with classical codecs alone does nothing: it is refused."""
    line = ["resynth", "--codec", "opus_12k", "--dataset", str(clips), "--out", str(tmp_path / "runs")]
    assert call([*line, "--dtype", "bfloat16"]) == 2
    assert "options of neural codecs; opus_12k take none" in capsys.readouterr().err


def test_doctor_says_that_a_neural_codec_needs_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without weights a family is optional, not a fault, and the command that fetches them is shown."""
    from huggingface_hub import constants

    from codec_superb.cli.commands import doctor

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor, "LOOKS", (doctor.LOOKS[3],))
    assert call(["doctor", "--json"]) == 0
    findings = {finding["subject"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["codec encodec"]["state"] == "optional"
    assert "hf download facebook/encodec_24khz" in findings["codec encodec"]["detail"]
    assert findings["codec opus"]["state"] == "ok"
