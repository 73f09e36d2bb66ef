"""The default benchmark leaves out what is not to be had here and says so; the doctor names what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile
from support.audio import speech_like

from codec_superb.base_codec import registry
from codec_superb.base_codec.weight_folders import VARIABLE
from codec_superb.cli.commands import bench, doctor
from codec_superb.cli.main import call
from codec_superb.data_manifests.home import HOME_VARIABLE
from codec_superb.data_manifests.hub.hub_files import OFFLINE

LYRA = ["lyra_3.2k", "lyra_6k", "lyra_9.2k"]


@pytest.fixture
def without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have no weights on this machine and no network; return the home folder."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(OFFLINE[0], "1")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.sample(2, among="commands that lack packages")
def test_the_default_set_goes_on_without_lyra(
    tmp_path: Path, without_weights: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says which codecs were left out, which files are missing, from where, and where to put them."""
    (tmp_path / "clips").mkdir()
    soundfile.write(tmp_path / "clips" / "voice.wav", speech_like(2.0, 16000, 0), 16000)
    assert set(bench.CODECS) >= {*LYRA, "opus_12k"}
    monkeypatch.setattr(bench, "CODECS", ("opus_12k", *LYRA))
    assert call(["bench", "--dataset", str(tmp_path / "clips"), "--out", str(tmp_path / "runs"), "--json"]) == 0
    told = capsys.readouterr()
    assert [row["codec"] for row in json.loads(told.out)["ranking"]] == ["opus_12k"]
    (line,) = [line for line in told.err.splitlines() if "left out" in line]
    weights = registry.card(LYRA[0]).weights
    assert weights is not None
    assert line.startswith("left out: lyra_3.2k, lyra_6k, lyra_9.2k: soundstream_encoder.tflite")
    for part in (*(file.name for file in weights.files), weights.source, str(without_weights / "models" / "lyra-")):
        assert part in line
    # what is asked for by name is an error, as ever
    assert call(["bench", "--codec", LYRA[0], "--dataset", str(tmp_path / "clips"), "--out", str(tmp_path / "x")]) == 2
    assert "are not on this machine" in capsys.readouterr().err


def test_what_was_left_out_is_not_probed() -> None:
    """The demo names codecs to probe, among them those that may be left out; a wrong name stays an error."""
    runs = [Path("runs/opus_12k/mini"), Path("runs/opus_6k/mini")]
    assert bench._probed(runs, ["opus_12k", *LYRA], dict.fromkeys(LYRA, "why")) == runs[:1]
    with pytest.raises(bench.typer.BadParameter, match="lyra_6k: expected codecs of this benchmark"):
        bench._probed(runs, ["opus_12k", "lyra_6k"], {})


def test_the_doctor_says_whose_weights_the_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not set, a folder with some, and a name that is no folder, which is a fault."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(doctor, "CHECKS", (doctor._weights_folder,))

    def finding() -> dict[str, str]:
        call(["doctor", "--json"])
        (found,) = json.loads(capsys.readouterr().out)["findings"]
        assert found["subject"] == VARIABLE
        return dict(found)

    assert finding()["detail"].startswith("not set")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert finding()["state"] == "optional"
    for name in ("lyra", "mimi_8cb", "snac_24khz"):
        (tmp_path / name).mkdir()
    assert finding() == {"subject": VARIABLE, "state": "ok", "detail": f"{tmp_path}: weights of lyra, mimi, snac"}
    assert doctor._weights_of(registry.card("snac_24k")) == f"weights in {tmp_path}/snac_24khz"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "wrong"))
    assert finding()["state"] == "fault"
    assert "correct it, or unset it" in doctor._neural("lyra", LYRA).detail
    assert doctor._weights_of(registry.card("snac_24k")) == "weights: hubertsiuzdak/snac_24khz"


def test_a_wrong_name_is_said_before_a_dataset_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`mini` has 160 MB of packages, and is fetched into an empty home."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    assert call(["bench", "--codec", "opus_12", "--dataset", "mini", "--out", str(tmp_path / "runs")]) == 2
    assert not list(tmp_path.iterdir())
