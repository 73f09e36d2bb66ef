"""The way of most published results: references out, a codec elsewhere, its sound in, a submission and a report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import soundfile
from support.pipeline.runs import speech_folder

from codec_superb.cli.main import call


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call a command in a folder of its own; give its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = call(words)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def _codec_elsewhere(references: Path, made: Path) -> None:
    """Code each file of the index with libsndfile's Vorbis, as a program that knows nothing of this one would."""
    with (references / "index.csv").open(newline="") as file, (made.parent / "bits.csv").open("w") as bits:
        bits.write("path,bits\n")
        for row in csv.DictReader(file):
            audio, rate = soundfile.read(references / row["file"])
            coded = (made / row["file"]).with_suffix(".ogg")
            coded.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(coded, audio, rate, subtype="VORBIS")
            bits.write(f"{coded.relative_to(made)},{8 * coded.stat().st_size}\n")


@pytest.mark.sample(1, among="sound made elsewhere")
def test_sound_made_elsewhere_goes_all_the_way(run: Any, tmp_path: Path) -> None:
    """Export, a codec outside, import, score, report, compare, pack, check: each takes it as any run."""
    speech_folder(tmp_path / "sounds/speech", 4)
    code, out, _ = run("datasets", "export", "sounds", "references")
    assert (code, out) == (0, "sounds: 4 files and index.csv in references, 4 written now\n")
    _codec_elsewhere(tmp_path / "references", tmp_path / "made")
    (tmp_path / "made/speech/clip9.ogg").write_bytes(b"")
    told = run("import", "made", "--name", "vorbis", "--dataset", "sounds", "--bits", "bits.csv", "--workers", "1")
    assert told[0] == 3
    assert "speech/clip9.ogg: the file belongs to no clip" in told[2]
    (tmp_path / "made/speech/clip9.ogg").unlink()
    words = ("import", "made", "--dataset", "sounds", "--workers", "1", "--json", "--name")
    code, out, _ = run(*words, "vorbis", "--bits", "bits.csv")
    assert (code, json.loads(out)["reused"], json.loads(out)["bits"]) == (0, 4, "measured")
    code, _, err = run(*words, "vorbis_64k", "--kbps", "64")
    assert code == 0
    assert "bitrate: 64 kbps, declared and not measured" in err
    assert run("score", "runs", "--metric", "mel", "stft", "--workers", "1")[0] == 0
    code, out, _ = run("compare", "runs/vorbis", "runs/vorbis_64k")
    assert code == 0
    assert "mel" in out
    assert run("report", "runs", "-o", "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text()
    assert "imported: resynthesised elsewhere" in page
    assert "vorbis: 4 files, 0 cut or padded at the end, 0 resampled" in page
    for name in ("vorbis", "vorbis_64k"):
        assert run("pack", f"runs/{name}", "-o", f"{name}.zip")[0] == 0
        code, out, _ = run("check", f"{name}.zip")
        assert (code, out.startswith(f"{name}.zip: ok ({name} on sounds, 4 clips)\n")) == (0, True)


@pytest.mark.sample(1, among="sound made elsewhere")
def test_a_file_is_benchmarked_like_a_folder(run: Any, tmp_path: Path) -> None:
    """One file and several; a later command opens them by their place."""
    speech_folder(tmp_path / "sounds", 2)
    for files, name in ((["clip00.wav"], "clip00"), (["clip00.wav", "clip01.wav"], "clip00_and_1_more")):
        specs = [f"sounds/{file}" for file in files]
        code, _, err = run("resynth", "--codec", "g711_alaw", "--dataset", *specs, "--workers", "1")
        assert code == 0, err
        assert run("score", f"runs/g711_alaw/{name}", "--metric", "mel", "--workers", "1")[0] == 0
    code, _, err = run("resynth", "--codec", "g711_alaw", "--dataset", "sample.wav")
    assert (code, "there is no file" in err) == (2, True)
