"""Emotions through a whole run: folder, codec, probe, table; trained once for two codecs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.applications.audio_checkpoints import save_wavlm
from support.applications.emotions import RATE, synthetic_items, synthetic_sound

from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

ITEMS = synthetic_items(takes=1)


def write_dataset(folder: Path) -> Path:
    """Write the synthetic set as a folder of a user's, with speakers and emotions in labels.csv."""
    folder.mkdir()
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("path", "category", "speaker", "emotion"))
        for number, item in enumerate(ITEMS):
            name = f"{number:02}.wav"
            soundfile.write(folder / name, synthetic_sound(item.clip), RATE, subtype="PCM_16")
            rows.writerow((name, "speech", dict(item.extra)["session"], item.emotion))
    return folder


@pytest.mark.sample(1, among="emotions to the end")
def test_two_codecs_are_probed_with_heads_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every clip is scored on both sides, references far above chance and alike for both; heads are made once."""
    home = tmp_path / "home"
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(home))
    weights = save_wavlm(tmp_path / "tiny")
    dataset = write_dataset(tmp_path / "synthetic")
    outcomes = resynthesise(["g711_alaw", "codec2_700"], [str(dataset)], out=tmp_path / "runs", workers=1)
    probed = probe(
        [outcome.path for outcome in outcomes], applications=["er"], weights=weights, device="cpu", workers=1
    )
    assert [outcome.probes["er"].ok for outcome in probed] == [len(ITEMS)] * 2
    right = {}
    for outcome in probed:
        values = [row.probes["er"] for row in RunFolder(outcome.path).rows()]
        right[outcome.codec] = {
            side: np.array([getattr(value, side)["correct"] for value in values])
            for side in ("reference", "resynthesis")
        }
        info = RunFolder(outcome.path).info().probes["er"]
        assert (info.backend, info.random) == ("wavlm-emotion:local:tiny", True)
        assert info.settings["folds"] == "5 by speaker"
    assert (right["g711_alaw"]["reference"] == right["codec2_700"]["reference"]).all()
    assert right["g711_alaw"]["reference"].mean() > 0.7
    assert right["g711_alaw"]["resynthesis"].mean() > right["codec2_700"]["resynthesis"].mean()
    assert len(list((home / "models" / "emotion-heads").iterdir())) == 1
