"""``codec-superb probe``, ``applications`` and ``bench --application``, with the real models of package files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.home import home_with_models
from support.pipeline.probe import ENTRIES
from support.speech import recordings

from codec_superb.applications.backends import BACKENDS
from codec_superb.cli.main import call

CODECS = ["codec2_700", "opus_24k"]
AUSTEN = "librivox/sense_and_sensibility_01_austen_64kb"
CLIPS = {
    f"{AUSTEN}-0880.wav": ("", "austen"),
    f"{AUSTEN}-0930.wav": ("he might even have been made amiable himself", "austen"),
    "cards/001.wav": ("", "cards"),
    "cards/005.wav": ("", "cards"),
}
"""Transcript and speaker; three have no transcript here, since hearing one costs half a second a codec."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep predictions of these tests out of the user's home, and share its models."""
    with pytest.MonkeyPatch.context() as patch:
        made = home_with_models(tmp_path_factory.mktemp("home") / "home")
        patch.setenv("CODEC_SUPERB_HOME", str(made))
        yield made


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of four recordings of two speakers, one of them with a transcript."""
    folder = tmp_path_factory.mktemp("sound") / "speech"
    folder.mkdir()
    rows = ["path,text,speaker,language"]
    for name, content in zip(CLIPS, recordings(list(CLIPS)), strict=True):
        file = name.replace("/", "-")
        (folder / file).write_bytes(content)
        rows.append(f"{file},{CLIPS[name][0]},{CLIPS[name][1]},en")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def bench(home: Path, speech: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmark two codecs with two applications; return the folder of runs."""
    assert home.is_dir()
    out = tmp_path_factory.mktemp("bench") / "runs"
    assert call(_bench(speech, out)) == 0
    return out


def _bench(speech: Path, out: Path) -> list[str]:
    return ["bench", "--codec", *CODECS, "--dataset", str(speech), "--out", str(out), "--metric", "si_sdr",
            "--application", "asr,", "--application", "sim"]  # fmt: skip


def _figures(told: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(of["figure"], of["codec"]): of for of in json.loads(told)["figures"]}


class TestProbe:
    """`probe` shows ceiling, value and loss."""

    def test_json_has_every_figure_of_every_codec(self, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The better codec is better in what counts, what is left out is counted, and nothing is asked again."""
        assert call(["probe", str(bench), "--application", "asr,sim", "--json"]) == 0
        told = capsys.readouterr().out
        figures = _figures(told)
        assert {run["done"] for run in json.loads(told)["runs"]} == {0}
        assert {run["probes"]["asr"]["left_out"] for run in json.loads(told)["runs"]} == {3}
        wer = {codec: figures["asr_wer_pct", codec] for codec in CODECS}
        assert (wer["opus_24k"]["n"], wer["opus_24k"]["left_out"]) == (1, 3)
        assert wer["opus_24k"]["reference"]["value"] < 15
        assert wer["codec2_700"]["loss"]["value"] > wer["opus_24k"]["loss"]["value"]
        similarity = {codec: figures["sim_pct", codec]["resynthesis"]["value"] for codec in CODECS}
        assert 100 > similarity["opus_24k"] > 95 > similarity["codec2_700"]
        assert figures["sim_pct", "opus_24k"]["backend"] == "resemblyzer"

    def test_the_table_puts_the_best_codec_first(self, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A block a figure names dataset and model; an error rate points down, a similarity up."""
        assert call(["probe", str(bench), "--application", "asr,sim"]) == 0
        told = capsys.readouterr()
        assert "asr left out 3" in told.err
        blocks = dict(block.split("\n", 1) for block in told.out.strip().split("\n\n"))
        assert list(blocks) == [
            "Speech recognition: word error rate ↓ (speech, faster-whisper:tiny.en)",
            "Speaker similarity ↑ (speech, resemblyzer)",
        ]
        for block in blocks.values():
            assert [line.split()[0] for line in block.splitlines()] == ["codec", "opus_24k", "codec2_700"]

    def test_verification_writes_pairs(self, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Another application comes beside the first ones; its embeddings are those of the similarity."""
        assert call(["probe", str(bench / "opus_24k"), "--application", "asv", "--json"]) == 0
        told = capsys.readouterr().out
        assert {run["done"] for run in json.loads(told)["runs"]} == {0}
        assert _figures(told)["asv_eer_pct", "opus_24k"]["pairs"] == 4
        assert (bench / "opus_24k" / "speech" / "pairs.parquet").is_file()

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--application", "ars"], "There is no application 'ars'. Did you mean"),
            (["--application", "asr", "--backend", "wisper"], "There is no backend 'wisper'"),
            (["--application", "er"], "Emotion recognition (er) needs the label emotion"),
            (["--application", "aec"], "needs clips of audio and music, and none of the runs has any"),
            ([], "expected --application NAME"),
        ],
    )
    def test_what_cannot_be_started_is_one_message(
        self, bench: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
    ) -> None:
        """Exit code 2 and what to do, without a traceback."""
        assert call(["probe", str(bench), *options]) == 2
        told = capsys.readouterr().err
        assert expected in " ".join(told.replace("│", " ").split())
        assert "Traceback" not in told

    def test_weights_that_are_not_there_are_named(
        self, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The file that is missing is named, and nothing was asked."""
        assert call(["probe", str(bench), "--application", "dnsmos", "--weights", str(tmp_path)]) == 2
        assert "sig_bak_ovr.onnx" in capsys.readouterr().err


class TestBench:
    """`bench --application` carries probes into everything that it writes."""

    def test_submissions_carry_probes(self, bench: Path) -> None:
        """The file of a codec holds figures and how they were made."""
        with zipfile.ZipFile(bench / "opus_24k.zip") as archive:
            submission = json.loads(archive.read("submission.json"))
        figures = {of["figure"] for of in submission["aggregates"]["applications"]}
        assert {"asr_wer_pct", "sim_pct"} <= figures
        used = {of["probe"]: of["backend"] for of in submission["datasets"][0]["probes"]}
        assert used == {"asr": "faster-whisper:tiny.en", "sim": "resemblyzer"}

    def test_a_model_nobody_trained_is_measured_and_never_packed(
        self,
        home: Path,
        speech: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The page is written, the submission is not, and that is said."""
        assert home.is_dir()
        monkeypatch.setitem(BACKENDS, "levels", ENTRIES["levels"])
        out = tmp_path / "runs"
        command = ["bench", "--codec", "g711_alaw", "--dataset", str(speech), "--out", str(out), "--metric", "si_sdr"]
        assert call([*command, "--application", "dnsmos", "--backend", "levels:random"]) == 0
        assert "untrained weights: measured, never packed" in capsys.readouterr().err
        assert (out / "report.html").is_file()
        assert not list(out.glob("*.zip"))

    def test_labels_are_looked_at_before_anything_is_made(
        self, home: Path, speech: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Who asks for emotions of a folder without them is told before a clip is resynthesised."""
        assert home.is_dir()
        out = tmp_path / "runs"
        assert (
            call(["bench", "--codec", "opus_6k", "--dataset", str(speech), "--out", str(out), "--application", "er"])
            == 2
        )
        assert "needs the label emotion" in capsys.readouterr().err
        assert not out.exists()


class TestApplications:
    """`applications` lists what there is."""

    def test_json_names_probes_and_backends(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Each application's probes and each backend's state and licence are told."""
        assert home.is_dir()
        assert call(["applications", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["applications"]["asv"] == ["asv", "sim"]
        backends = {of["name"]: of for of in told["backends"]}
        assert backends["dnsmos"]["licence"] == "MIT"
        assert backends["dnsmos"]["state"] in {"ready", "fetches"}
        assert backends["speechbrain"]["state"] == "needs model"

    def test_the_list_fits_every_probe_and_backend(self, capsys: pytest.CaptureFixture[str]) -> None:
        """No name is missing from the tables."""
        from codec_superb.applications.table import PROBES

        assert call(["applications"]) == 0
        words = capsys.readouterr().out.replace(",", " ").split()
        assert {*BACKENDS, *PROBES} <= set(words)
