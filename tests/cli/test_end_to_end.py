"""The command line from a folder of sound to a page, with real codecs, real workers and real files."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.audio import speech_like

from codec_superb.cli.main import call

RATE = 16000


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make three clips of two seconds with a labels.csv."""
    folder = tmp_path_factory.mktemp("sound") / "clips"
    folder.mkdir()
    for number in range(3):
        soundfile.write(folder / f"voice{number}.wav", speech_like(2.0, RATE, number), RATE)
    return folder


@pytest.fixture(scope="module")
def bench(clips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmark three codecs on the clips; return the folder of runs."""
    out = tmp_path_factory.mktemp("bench") / "runs"
    codecs = ["codec2_3200", "opus_12k", "opus_64k"]
    assert call(["bench", "--codec", *codecs, "--dataset", str(clips), "--out", str(out), "--watch"]) == 0
    return out


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def conditions(clips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmark two codecs clean and under two conditions; return the folder of runs."""
    out = tmp_path_factory.mktemp("conditions") / "runs"
    under = ["--condition", "loss:20", "noise:white:10"]
    codecs = ["codec2_3200", "opus_12k"]
    assert call(["bench", "--codec", *codecs, "--dataset", str(clips), "--out", str(out), *under]) == 0
    return out


class TestConditions:
    """`--condition` adds runs beside the clean ones, which are ranked alone."""

    def test_each_is_a_run_and_a_submission_beside_the_clean_one(self, conditions: Path) -> None:
        """Folders and files have the condition in their names; the ranking has the clean runs alone."""
        marks = ("", "@loss_20", "@noise_white_10")
        names = {f"{codec}{mark}" for codec in ("codec2_3200", "opus_12k") for mark in marks}
        assert {path.stem for path in conditions.glob("*.zip")} == names
        assert {path.name for path in conditions.iterdir() if path.is_dir() and path.name[0] != "."} == names
        summary = json.loads((conditions / "bench.json").read_text())
        assert [row["codec"] for row in summary["ranking"]] == ["opus_12k", "codec2_3200"]
        assert {row["codec"] for row in summary["conditions"]} == {name for name in names if "@" in name}
        assert all(row["rank"] is None for row in summary["conditions"])
        page = (conditions / "report.html").read_text(encoding="utf-8")
        assert page.count("<polyline") == 8
        assert "Lost packets" in page

    def test_submissions_say_their_condition_and_pass(
        self, conditions: Path, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A file of clean runs has no such field; runs under different conditions are not packed together."""
        for name, expected in (("opus_12k", None), ("opus_12k@loss_20", "loss:20")):
            with zipfile.ZipFile(conditions / f"{name}.zip") as file:
                document = json.loads(file.read("submission.json"))
            assert (document.get("condition") or {}).get("name") == expected
            assert call(["check", str(conditions / f"{name}.zip")]) == 0
        runs = [str(conditions / name) for name in ("opus_12k", "opus_12k@loss_20")]
        capsys.readouterr()
        assert call(["pack", *runs, "-o", str(here / "both.zip")]) == 2
        assert "expected runs under one condition" in capsys.readouterr().err

    def test_comparisons_take_one_difference_at_a_time(
        self, conditions: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One codec clean and lossy, two codecs under one condition; both at once only where asked for."""
        clean, lossy = str(conditions / "opus_12k"), str(conditions / "opus_12k@loss_20.zip")
        capsys.readouterr()
        assert call(["compare", clean, lossy]) == 0
        out = capsys.readouterr().out
        assert "opus_12k (first) against opus_12k under loss:20 (second)" in out
        assert call(["compare", lossy, str(conditions / "codec2_3200@loss_20")]) == 0
        other = str(conditions / "codec2_3200@noise_white_10")
        assert call(["compare", lossy, other]) == 2
        assert "--across-conditions" in capsys.readouterr().err
        assert call(["compare", lossy, other, "--across-conditions"]) == 0

    def test_a_second_call_does_nothing_again(
        self, conditions: Path, clips: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Runs under conditions are finished runs like others; one more condition is computed alone."""
        before = {path: path.stat().st_mtime_ns for path in conditions.rglob("*.flac")}
        words = ["resynth", "--codec", "opus_12k", "--dataset", str(clips), "--out", str(conditions), "--json"]
        capsys.readouterr()
        assert call([*words, "--condition", "loss:20.0", "loss:5", "loss:20"]) == 0
        done = {Path(run["run"]).parent.name: run["done"] for run in json.loads(capsys.readouterr().out)}
        assert done == {"opus_12k": 0, "opus_12k@loss_20": 0, "opus_12k@loss_5": 3}
        assert {path: path.stat().st_mtime_ns for path in before} == before
        shutil.rmtree(conditions / "opus_12k@loss_5")

    def test_the_table_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """With every kind and its source, and as JSON."""
        assert call(["conditions"]) == 0
        out = capsys.readouterr().out
        assert "noise:white:X" in out
        assert "Gilbert" in out
        assert call(["conditions", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)) == 8

    def test_a_reference_needs_a_condition(self, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A clean run's input is the original."""
        words = ["resynth", "--codec", "opus_12k", "--dataset", str(clips), "--reference", "input"]
        assert call(words) == 2
        assert "--reference input needs a --condition" in capsys.readouterr().err


class TestBench:
    """`bench` makes everything in one go."""

    def test_writes_runs_submissions_and_the_page(self, bench: Path) -> None:
        """A run folder and a zip a codec, and one report."""
        assert {path.name for path in bench.glob("*.zip")} == {"codec2_3200.zip", "opus_12k.zip", "opus_64k.zip"}
        assert (bench / "opus_12k/clips/clips.parquet").is_file()
        assert "opus_12k" in (bench / "report.html").read_text(encoding="utf-8")

    def test_own_folders_and_named_datasets_are_refused_together(
        self, clips: Path, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """They cannot be packed together, which is said before the work and not after it."""
        assert call(["bench", "--codec", "g711_alaw", "--dataset", "mini", str(clips)]) == 2
        assert "apart" in capsys.readouterr().err
        assert not (here / "runs").exists()

    def test_second_call_does_nothing_again(self, bench: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """All clips are reused and no file is written again."""
        before = {path: path.stat().st_mtime_ns for path in bench.rglob("*") if path.is_file()}
        codecs = ["codec2_3200", "opus_12k", "opus_64k"]
        command = ["bench", "--codec", *codecs, "--dataset", str(clips), "--out", str(bench), "--json"]
        assert call(command) == 0
        told = json.loads(capsys.readouterr().out)
        assert {run["done"] for run in told["runs"]} == {0}
        assert {run["reused"] for run in told["runs"]} == {3}
        assert {path: path.stat().st_mtime_ns for path in before} == before

    def test_ranking_follows_the_bitrate(self, bench: Path) -> None:
        """Of these three, more bits are better, and the measured bitrates are near what the names say."""
        ranking = json.loads((bench / "bench.json").read_text())["ranking"]
        assert [row["codec"] for row in ranking] == ["opus_64k", "opus_12k", "codec2_3200"]
        assert ranking[2]["summary"]["kbps"] == pytest.approx(3.2, rel=0.15)


class TestCheck:
    """`check` says whether a submission is sound."""

    def test_accepts_what_bench_packed(self, bench: Path) -> None:
        """Every packed file passes."""
        assert call(["check", *map(str, bench.glob("*.zip"))]) == 0

    def test_finds_an_altered_number(self, bench: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A better score written into the JSON is found, with its place, and the exit code is 3."""
        forged = here / "forged.zip"
        with zipfile.ZipFile(bench / "opus_12k.zip") as old, zipfile.ZipFile(forged, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "submission.json":
                    content = json.loads(data)
                    content["aggregates"]["categories"][0]["score"]["value"] = 0.99
                    data = json.dumps(content).encode()
                new.writestr(name, data)
        assert call(["check", str(forged), "--json"]) == 3
        (report,) = json.loads(capsys.readouterr().out)
        assert any("score" in problem["path"] for problem in report["problems"])


class TestCompareAndReport:
    """Results are read from run folders and from submission files alike."""

    def test_run_and_submission_give_the_same_comparison(self, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`compare` on run folders equals `compare` on the packed files."""
        assert call(["compare", str(bench / "opus_64k"), str(bench / "opus_12k"), "--json"]) == 0
        from_runs = json.loads(capsys.readouterr().out)
        assert call(["compare", str(bench / "opus_64k.zip"), str(bench / "opus_12k.zip"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == from_runs
        assert from_runs["categories"][0]["score"]["difference"] > 0

    def test_report_from_submissions(self, bench: Path, here: Path) -> None:
        """A page is made from zips alone."""
        assert call(["report", *map(str, bench.glob("*.zip")), "-o", "page.html"]) == 0
        assert "opus_64k" in (here / "page.html").read_text(encoding="utf-8")


class TestScoreFolders:
    """`score --reference --resynthesis` scores audio made elsewhere."""

    def test_identity(self, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The same folder twice has distance 0 and the PESQ of identity."""
        folders = ["--reference", str(clips), "--resynthesis", str(clips)]
        command = ["score", *folders, "--metric", "stft", "pesq", "--json"]
        assert call(command) == 0
        rows = json.loads(capsys.readouterr().out)
        assert len(rows) == 3
        for row in rows:
            assert row["metrics"]["stft"]["value"] == 0
            assert row["metrics"]["pesq"]["value"] == pytest.approx(4.6438885, abs=1e-4)
            assert row["backends"] == {"pesq": "fast"}

    @pytest.mark.sample(1, among="folders scored by commands")
    def test_table_ends_with_the_mean(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The mean is over the clips that have a value, and says over how many."""
        for side, gain in (("reference", 1.0), ("resynthesis", 0.5)):
            (here / side).mkdir()
            for name, level in (("loud", 0.5), ("soft", 0.25), ("none", 0.0)):
                tone = level * np.sin(np.arange(8000)) * gain
                soundfile.write(here / side / f"{name}.wav", tone, 8000, subtype="FLOAT")
        assert call(["score", "--reference", "reference", "--resynthesis", "resynthesis", "--metric", "sdr"]) == 0
        assert capsys.readouterr().out.splitlines()[-1].split() == ["mean", "6.0206", "(2)"]

    @pytest.mark.sample(1, among="folders scored by commands")
    def test_fitting_is_told(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A fitted row says what was done, in JSON and in the table, and a line counts them; runs have none."""
        for side, rate, samples in (("reference", 8000, 8000), ("resynthesis", 16000, 16320)):
            (here / side).mkdir()
            soundfile.write(here / side / "a.wav", 0.5 * np.sin(np.arange(samples) * 800 / rate), rate)
        command = ["score", "--reference", "reference", "--resynthesis", "resynthesis", "--metric", "sdr"]
        assert call([*command, "--json"]) == 3
        assert json.loads(capsys.readouterr().out)[0]["fitted"] is None
        assert call([*command, "--fit", "--json"]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out)[0]["fitted"] == {"from_rate": 16000, "added_samples": -160}
        assert "1 of 1 resyntheses; 1 resampled, 1 cut or padded at the end, by 20.0 ms at most" in told.err
        assert call([*command, "--fit"]) == 0
        assert "16000 Hz, -160 samples" in capsys.readouterr().out
        assert call(["score", "runs", "--fit"]) == 2

    def test_missing_partner_is_an_error(self, clips: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file without a partner is named; nothing is scored."""
        shutil.copytree(clips, here / "other")
        (here / "other/voice1.wav").unlink()
        assert call(["score", "--reference", str(clips), "--resynthesis", "other"]) == 2
        assert "voice1" in capsys.readouterr().err


class TestMistakes:
    """What a person types wrong is answered in words."""

    def test_unknown_codec(self, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Near matches are offered, without a traceback."""
        assert call(["resynth", "--codec", "opus_13k", "--dataset", str(clips)]) == 2
        error = capsys.readouterr().err
        assert "opus_12k" in error
        assert "Traceback" not in error

    def test_unknown_dataset(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A name that is neither a manifest nor a folder is answered with near matches."""
        assert call(["resynth", "--codec", "opus_12k", "--dataset", "librispech"]) == 2
        assert "librispeech" in capsys.readouterr().err

    def test_unknown_family(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A family that does not exist is an error with those that do, not an empty list."""
        assert call(["codecs", "list", "--family", "opsu", "--json"]) == 2
        told = capsys.readouterr()
        assert "opus" in told.err
        assert not told.out

    def test_pattern_without_match(self, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A pattern that matches no codec is an error, not an empty run."""
        assert call(["resynth", "--codec", "nothing_*", "--dataset", str(clips)]) == 2
        assert "nothing_*" in capsys.readouterr().err

    def test_damaged_clip_gives_exit_code_3(self, clips: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no audio is listed with its reason; the others are done."""
        shutil.copytree(clips, here / "sound")
        (here / "sound/broken.wav").write_text("no sound")
        assert call(["resynth", "--codec", "g711_alaw", "--dataset", "sound", "--json"]) == 3
        told = capsys.readouterr()
        (run,) = json.loads(told.out)
        assert [failed["clip"] for failed in run["failed"]] == ["broken.wav"]
        assert run["asked"] == 4
        assert "broken.wav" in told.err

    def test_run_that_is_not_there(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A missing run folder is named."""
        assert call(["score", "runs/nowhere"]) == 2
        assert "nowhere" in capsys.readouterr().err


def test_doctor_finds_this_environment_well(capsys: pytest.CaptureFixture[str]) -> None:
    """In the test environment nothing that is needed is missing."""
    assert call(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {"codec opus", "codec codec2", "codec lc3"} <= {finding["subject"] for finding in findings}


def test_doctor_imports_each_package_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that is there and broken is a fault, with what its import says; so is nothing else."""
    from codec_superb.cli.commands import doctor

    (tmp_path / "broken_here.py").write_text("raise ImportError('libx.so.3')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(doctor.MODULES, "pesq", "broken_here")
    requirements = ["pesq", "numpy", "PyYAML", "lc3py", "pypi-simple"]
    monkeypatch.setattr("importlib.metadata.requires", lambda _name: requirements)
    monkeypatch.setattr(doctor, "CHECKS", (doctor.CHECKS[1],))
    assert call(["doctor", "--json"]) == 3
    findings = json.loads(capsys.readouterr().out)["findings"]
    (fault,) = [finding for finding in findings if finding["state"] == "fault"]
    assert fault["subject"] == "pesq"
    assert "libx.so.3" in fault["detail"]


def test_doctor_on_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The storage that cannot be written is a finding, not a crash."""
    from codec_superb.cli.commands import doctor

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "file/home"))
    monkeypatch.setattr(doctor, "CHECKS", (doctor.CHECKS[-1],))
    assert call(["doctor"]) == 0
    assert "cannot be written" in capsys.readouterr().out
