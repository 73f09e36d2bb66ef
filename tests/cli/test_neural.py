"""Neural codecs from the command line: ``--weights`` on resynth and bench, the run's card, what ``pack`` refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.codecs.checkpoints import checkpoint

from codec_superb.base_codec.isolation.environment import MARK, find_environment
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.cli.commands import doctor
from codec_superb.cli.main import call
from codec_superb.pipeline.runs.folder import RunFolder

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


@pytest.mark.sample(1, among="neural codecs by commands")
def test_bench_scores_random_weights_and_packs_none(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run with random weights is resynthesised, scored and shown; its card says so, and no submission is made."""
    out = tmp_path / "runs"
    line = ["bench", "--codec", NAME, "--dataset", str(clips), "--category", "speech", "--metric", "stft", "--out"]
    line += [str(out), "--weights", str(checkpoint("encodec")), "--workers", "1", "--device", "cpu"]
    assert call(line) == 0
    assert "untrained weights" in capsys.readouterr().err
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


@pytest.mark.sample(1, among="neural codecs by commands")
def test_another_name_for_random_weights_packs_nothing(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The card of a run is what was run: an edited one is found out."""
    out, zip_file = tmp_path / "runs", tmp_path / "runs" / f"{NAME}.zip"
    out.mkdir()
    zip_file.write_text("of trained weights, from an earlier call")
    line = ["bench", "--codec", NAME, "--dataset", str(clips), "--category", "speech", "--metric", "stft", "--out"]
    assert call([*line, str(out), "--weights", str(checkpoint("encodec")), "--workers", "1", "--device", "cpu"]) == 0
    assert not zip_file.exists()
    file = out / NAME / "clips" / "run.json"
    file.write_text(file.read_text().replace('"random"', '"facebook/encodec_24khz"'))
    capsys.readouterr()
    assert call(["pack", str(out / NAME / "clips"), "-o", str(zip_file)]) == 2
    assert "run.json was changed: expected the card that was run" in capsys.readouterr().err


def test_another_configuration_is_another_model(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run is not continued, and tokens are not decoded, after config.json was edited."""
    model, file = tmp_path / "model", tmp_path / "tokens.parquet"
    shutil.copytree(checkpoint("encodec"), model)
    data = ["--codec", NAME, "--dataset", str(clips), "--weights", str(model), "--device", "cpu"]
    line = ["resynth", *data, "--category", "speech", "--workers", "1", "--out"]
    assert call([*line, str(tmp_path / "runs"), "--limit", "1"]) == 0
    assert call(["tokens", "export", *data, "-o", str(file)]) == 0
    config = model / "config.json"
    config.write_text(config.read_text().replace('"normalize": false', '"normalize": true'))
    capsys.readouterr()
    assert call([*line, str(tmp_path / "runs")]) == 0
    told = capsys.readouterr().err
    assert "has changed (weights)" in told
    assert "2 clips, 2 done now" in told
    assert call(["tokens", "decode", str(file), "--out", str(tmp_path), *data[4:]]) == 2
    assert "made with other weights of encodec_24k_6bps" in capsys.readouterr().err


def test_an_unknown_metric_is_refused_before_any_work(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours of coding do not end in a misspelt name."""
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu", "--out", str(tmp_path / "runs")]
    for line in (["bench", "--codec", NAME], ["precision", NAME]):
        assert call([*line, "--dataset", str(clips), "--metric", "sftf", *weights]) == 2
        assert "There is no metric 'sftf'" in capsys.readouterr().err
        assert not (tmp_path / "runs").exists()


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
    assert "neural codecs of the main environment; opus_12k: none takes them" in capsys.readouterr().err


def test_doctor_says_which_environment_a_family_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not built, interrupted, built: each is told with the command by the lock's own name; git where code needs it."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "CHECKS", (doctor._codecs,))

    def found(family: str) -> tuple[str, str]:
        call(["doctor", "--json"])
        findings = {each["subject"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
        return findings[f"codec {family}"]["state"], findings[f"codec {family}"]["detail"]

    state, detail = found("sqcodec")
    assert state == "optional"
    assert "7 settings, environment sq-codec not built: codec-superb codecs env build sq-codec;" in detail
    assert detail.endswith("weights: zhai-lw/SQCodec")
    folder = find_environment(open_lock("sq-codec")).folder
    folder.mkdir(parents=True)
    assert "environment sq-codec interrupted: codec-superb codecs env build sq-codec" in found("sqcodec")[1]
    (folder / MARK).write_text("{}")
    assert "interrupted" in found("sqcodec")[1]  # without an interpreter
    (folder / "bin").mkdir()
    (folder / "bin" / "python").touch()
    assert found("sqcodec")[0] == "ok"
    assert "git fetches its code" in found("audiodec")[1]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no git here" in found("audiodec")[1]


def test_doctor_says_that_a_neural_codec_needs_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without weights a family is optional, not a fault, and the command that fetches them is shown."""
    from huggingface_hub import constants

    from codec_superb.cli.commands import doctor

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor, "CHECKS", (doctor.CHECKS[3],))
    assert call(["doctor", "--json"]) == 0
    findings = {finding["subject"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["codec encodec"]["state"] == "optional"
    assert "hf download facebook/encodec_24khz" in findings["codec encodec"]["detail"]
    assert findings["codec opus"]["state"] == "ok"
