"""Finished runs that lie in a store: read there by URL, with the figures and files of those of a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3, Fault
from support.pipeline.runs import speech_folder

from codec_superb.api.evaluation import load
from codec_superb.cli.main import call
from codec_superb.data_manifests.errors import ObjectError
from codec_superb.data_manifests.objects import stores
from codec_superb.data_manifests.objects.store_path import StorePath, place_of
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import find_results
from codec_superb.pipeline.runs.stored import put
from codec_superb.pipeline.scoring.stage import score

__all__ = ["s3", "s3_of_process"]
pytestmark = [pytest.mark.network, pytest.mark.sample(3, among="runs and stores")]
CODECS = ["g711_alaw", "g711_mulaw"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make scored runs of two codecs on clips that may be passed on, once."""
    home = tmp_path_factory.mktemp("runs")
    clips = speech_folder(home / "clips", 5)
    lines = [f"{path.name},CC0-1.0,Ann" for path in sorted(clips.glob("*.wav"))]
    (clips / "labels.csv").write_text("\n".join(["path,licence,attribution", *lines]) + "\n")
    resynthesise(CODECS, [str(clips)], out=home / "out", workers=1)
    score([home / "out"], metrics=["si_sdr"], workers=1)
    return home / "out"


@pytest.fixture
def runs(made: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the runs, which lie in the store too; the program is not patient."""
    monkeypatch.setattr(stores, "RETRIES", 2)
    put(made, f"{s3.url}/runs")
    s3.requests.clear()
    return made


def _made_of(source: str, out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, bytes]:
    """Return what each command makes of runs."""
    out.mkdir()
    report = ["report", source, "-o", str(out / "report.html"), "--csv", str(out / "t.csv")]
    assert call([*report, "--checklist", str(out / "c.md"), "--listening", "1"]) == 0
    assert call(["pack", f"{source}/{CODECS[0]}", "-o", str(out / "a.zip"), "--samples", "2"]) == 0
    capsys.readouterr()
    assert call(["compare", *(f"{source}/{codec}" for codec in CODECS), "--json"]) == 0
    (out / "compare.json").write_text(capsys.readouterr().out)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_every_command_that_reads_gives_the_bytes_of_a_folder(
    runs: Path, s3: S3, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Page, tables, submission and comparison are those of the folder; of the sound only what is heard is fetched."""
    url = f"{s3.url}/runs"
    s3.faults += [Fault("503", "clips.parquet", times=2), Fault("cut", "run.json", times=1)]
    assert _made_of(url, tmp_path / "there", capsys) == _made_of(str(runs), tmp_path / "here", capsys)
    read = [each.path for each in s3.requests if each.method == "GET" and "/audio/" in each.path]
    # one clip in the page for each of two codecs, two in the submission, of which one is the same
    assert 2 < len(read) == len(set(read)) < 5
    s3.requests.clear()
    assert load(url).codecs == tuple(CODECS)
    assert not [each for each in s3.requests if each.method == "GET" and "list-type" not in each.path]
    s3.put("a.zip", (tmp_path / "here" / "a.zip").read_bytes())
    assert call(["check", f"{s3.url}/a.zip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["ok"]
    with pytest.raises(PipelineError, match="lies in a store, where nothing is added"):
        _ = load(url).folders


def test_what_goes_wrong_in_the_store_is_one_sentence_and_never_a_figure(runs: Path, s3: S3) -> None:
    """A table that is truncated, or written again while it is read, gives an error and no number."""
    (run,) = find_results([place_of(f"{s3.url}/runs/{CODECS[0]}")])
    table = f"runs/{CODECS[0]}/clips/clips.parquet"
    s3.faults.append(Fault("short", table))
    with pytest.raises(ObjectError, match="truncated: expected"):
        load_results(run.path)
    s3.faults.clear()
    s3.put(table, (runs / CODECS[1] / "clips" / "clips.parquet").read_bytes())
    with pytest.raises(ObjectError, match="was changed since it was listed: run the command again"):
        load_results(run.path)
    s3.faults.append(Fault("503", "runs%2F"))
    with pytest.raises(ObjectError, match="HTTP 503"):
        find_results([place_of(f"{s3.url}/runs")])


def test_a_run_that_is_being_copied_is_none(
    runs: Path, s3: S3, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without its mark is left out of a report with a line, and refused where it is asked for alone."""
    url = f"{s3.url}/part"
    s3.put_folder(runs / CODECS[0], f"part/{CODECS[0]}")
    copied = tmp_path / "copied"
    shutil.copytree(runs / CODECS[1], copied)
    (copied / "clips" / "run.json").unlink()
    s3.put_folder(copied, f"part/{CODECS[1]}")
    assert call(["report", url, "--csv", str(tmp_path / "t.csv")]) == 0
    assert f"left out, not whole: {url}/{CODECS[1]}/clips" in capsys.readouterr().err
    for command in (["compare", f"{url}/{CODECS[1]}", f"{url}/{CODECS[0]}"], ["pack", f"{url}/{CODECS[1]}", "-o", "x"]):
        assert call(command) != 0
        assert "a file run.json in it, which codec-superb copy writes last" in capsys.readouterr().err
    assert call(["report", f"{s3.url}/none", "--csv", str(tmp_path / "t.csv")]) != 0
    assert f"found no run.json below {s3.url}/none" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["score"], ["probe", "--application", "quality"], ["merge"]])
def test_commands_that_write_into_runs_say_what_to_do(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What adds to runs is refused with the command that fetches them."""
    assert call([*command, "s3://bucket/runs"]) != 0
    assert "codec-superb copy" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_place_is_read_as_a_path_is(s3: S3, tmp_path: Path) -> None:
    """Bytes, seeks and pieces of an object of several pieces are those of a file; what is not there is no file."""
    content = bytes(range(251)) * 70_000
    s3.put("a/big.bin", content)
    (tmp_path / "big.bin").write_bytes(content)
    there = place_of(f"{s3.url}/a") / "big.bin"
    for place in (there, tmp_path / "big.bin"):
        with place.open("rb") as file:
            file.seek(-100, 2)
            assert file.read() == content[-100:]
            file.seek((8 << 20) - 7)
            assert file.read(20) == content[(8 << 20) - 7 :][:20]
        assert place.read_bytes() == content
        assert (place.is_file(), place.is_dir(), place.parent.is_dir(), place.name) == (True, False, True, "big.bin")
    assert not (there.parent / "none").exists()
    with pytest.raises(FileNotFoundError):
        (there.parent / "none").read_bytes()
    assert isinstance(place_of("s3://b/c"), StorePath)
    assert place_of(f"file://{tmp_path}") == tmp_path
