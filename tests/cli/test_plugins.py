"""Plug-ins of an installed distribution and of single files, through the command line: listed, used, identified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.runs import speech_folder
from support.stranger import guide_blocks, metric_file

from codec_superb.pipeline.runs.folder import RunFolder

ENTRY_POINTS = """
[codec_superb.codecs]
garden = garden:codecs.yaml

[codec_superb.metrics]
level = garden.level:LEVEL
broken = garden.broken:BROKEN

[codec_superb.datasets]
birds = garden:birds.yaml

[codec_superb.applications]
loudness = garden.loudness:LOUDNESS

[codec_superb.backends]
mel-voice = garden.mel_voice:MEL_VOICE
"""
LOUDNESS = '''
"""Loudness: what a listener with one number would say, as an example of a probe of a plug-in."""

import hashlib

from codec_superb.applications.backends import NO_FILE, BackendEntry
from codec_superb.applications.interface import Backend, Model
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.probe import Field, Probe, ProbeMetric

import numpy as np


class Loudness(Backend):
    """Root mean square."""

    one_copy_per_worker = True

    def prepare(self):
        return Model("loudness", hashlib.sha256(b"1").hexdigest(), {})

    def load(self, model, device, threads):
        pass

    def predict(self, batch):
        return one_by_one(lambda sound: np.full(1, 5 * np.sqrt(np.mean(sound.samples**2)), np.float32), batch)


def mean(evidence, weights, field):
    return weights @ evidence.values[field] / weights.sum(axis=1)


BACKEND = BackendEntry("loudness", ("loudness",), ":Loudness", "", "one number", model=NO_FILE)
LOUDNESS = Probe(
    key="loudness", label="Loudness", needs=(), categories=("speech",), shared=(),
    sided=(Field("mos", 0.0, 6.0),), pairs="",
    metrics=(ProbeMetric("loudness", "Loudness", "", True, 0.0, 6.0, 2, "Five times the level.", ":mean", "mos"),),
    version="1", paper="none, 2026", backend=":BACKEND",
    scorer="codec_superb.applications.quality.scoring:score",
)
'''


def backend_file() -> str:
    """Return the guide's backend as one file, class and row."""
    code, row, _ = guide_blocks("adding-a-backend.md")
    row = row.replace("codec_superb.applications.asv.mel_voice:MelVoice", ":MelVoice")
    return f"{code}\n\nfrom codec_superb.applications.backends import NO_FILE, BackendEntry\n\nMEL_VOICE = {row}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a distribution ``garden`` with all five kinds of plug-ins, as pip leaves it."""
    site = tmp_path_factory.mktemp("site")
    info, package = site / "garden-1.2.dist-info", site / "garden"
    info.mkdir()
    package.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (package / "__init__.py").write_text("")
    entry = next(block for block in guide_blocks("adding-a-codec.md", "yaml") if "pcm8_128k" in block)
    (package / "codecs.yaml").write_text(entry.replace("pcm8", "garden8"))
    manifest = guide_blocks("adding-a-dataset.md", "yaml")[0]
    (package / "birds.yaml").write_text(manifest.replace("layout: birds ", "layout: garden.birds:find "))
    (package / "birds.py").write_text(guide_blocks("adding-a-dataset.md")[0])
    (package / "level.py").write_text(metric_file())
    (package / "broken.py").write_text("raise RuntimeError('a fuse is blown')\n")
    (package / "mel_voice.py").write_text(backend_file())
    (package / "loudness.py").write_text(LOUDNESS)
    return site


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of clips, and an empty home."""
    place = tmp_path_factory.mktemp("place")
    speech_folder(place / "clips", 2, seconds=1.0)
    return place


def run(place: Path, *arguments: str, site: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Call the command line in a process of its own."""
    paths = [*([str(site)] if site else []), *sys.path]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "CODEC_SUPERB_HOME": str(place / "h"),
    }
    program = "import sys; from codec_superb.cli.main import run; run(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def listed(place: Path, site: Path, *arguments: str) -> Any:
    """Return what a listing says as JSON."""
    return json.loads(run(place, *arguments, "--json", site=site).stdout)


@pytest.mark.sample(1, among="plug-ins at work")
def test_lists_name_the_distribution(place: Path, site: Path) -> None:
    """Each of the five kinds is listed with name and version of its distribution, and what is broken is said once."""
    assert {"garden8_128k": "garden 1.2"}.items() <= {
        row["name"]: row["origin"] for row in listed(place, site, "codecs", "list")
    }.items()
    assert {row["name"]: row["origin"] for row in listed(place, site, "datasets", "list")}["birds"] == "garden 1.2"
    found = listed(place, site, "applications")
    assert {row["key"]: row["origin"] for row in found["probes"]}["loudness"] == "garden 1.2"
    assert {row["name"]: row["origin"] for row in found["backends"]}["mel-voice"] == "garden 1.2"
    done = run(place, "metrics", "list", "--json", site=site)
    metrics = {row["key"]: row["origin"] for row in json.loads(done.stdout)}
    assert metrics["level"] == "garden 1.2"
    assert metrics["stft"] == ""
    assert "broken" not in metrics
    assert done.stderr.count("a fuse is blown") == 1
    assert "entry point broken (garden.broken:BROKEN) of garden 1.2 cannot be loaded" in done.stderr
    assert "garden 1.2" in run(place, "metrics", "list", site=site).stdout


@pytest.mark.sample(1, among="plug-ins at work")
def test_an_installed_distribution_is_used_by_name(place: Path, site: Path) -> None:
    """Codec, dataset and metric of a distribution work together, in worker processes, from end to end."""
    (place / "garden" / "audio").mkdir(parents=True)
    (place / "garden" / "birds.csv").write_text("file,species\nclip00.wav,wren\n")
    (place / "garden" / "audio" / "clip00.wav").write_bytes((place / "clips" / "clip00.wav").read_bytes())
    run(place, "datasets", "index", "birds", "--root", "garden", site=site)
    run(
        place, "bench", "--codec", "garden8_128k", "--dataset", "birds", "--metric", "sdr", "level", "--out", "out",
        site=site,
    )  # fmt: skip
    info = RunFolder(place / "out" / "garden8_128k" / "birds").info()
    assert info.metrics == {"sdr": "1", "level": "1+garden-1.2"}
    assert info.custom_metrics["level"].origin == "garden 1.2"
    assert info.dataset.location == "birds"
    run(place, "score", "out", "--metric", "broken", site=site, code=2)


@pytest.mark.sample(1, among="plug-ins at work")
def test_files_plug_in_and_an_edited_one_is_computed_again(place: Path) -> None:
    """A metric, a probe and a backend by file; the run names the metric's SHA-256, and its edit starts it anew."""
    (place / "level.py").write_text(metric_file())
    (place / "loudness.py").write_text(LOUDNESS)
    (place / "mel_voice.py").write_text(backend_file())
    bench = (
        "bench",
        "--codec",
        "g711_alaw",
        "--dataset",
        "./clips",
        "--out",
        "runs",
        "--metric",
        "sdr",
        "level.py:LEVEL",
    )
    run(place, *bench)
    folder = RunFolder(place / "runs" / "g711_alaw" / "clips")
    first = folder.info()
    sha256 = first.custom_metrics["level"].sha256
    assert sha256
    assert first.metrics["level"] == f"1+{sha256[:16]}"
    assert first.custom_metrics["level"].origin == "level.py"
    assert "0 done now, 2 finished before" in run(place, "score", "runs", "--metric", "level.py:LEVEL").stderr
    (place / "level.py").write_text(metric_file().replace("10 * np.log10", "20 * np.log10"))
    before = {row.clip: row.metrics["level"].value for row in folder.rows()}
    assert "2 done now" in run(place, "score", "runs", "--metric", "level.py:LEVEL").stderr
    assert folder.info().metrics["level"] != first.metrics["level"]
    assert {row.clip: row.metrics["level"].value for row in folder.rows()} == {
        clip: pytest.approx(2 * (value or 0.0)) for clip, value in before.items()
    }
    run(place, "probe", "runs", "--application", "loudness.py:LOUDNESS,sim", "--backend", "mel_voice.py:MEL_VOICE")
    assert folder.info().probes["sim"].settings["plugin"]
    assert folder.info().probes["loudness"].version.startswith("1+")
    run(place, "report", "runs", "-o", "report.html")
    assert "Level difference (custom)" in (place / "report.html").read_text()
    packed = run(place, "pack", "runs", "-o", "a.zip", "--samples", "0")
    assert "packed 1 run into a.zip, as custom: shown, never ranked" in packed.stderr
    assert packed.stderr.count("without loudness: probes of plug-ins in Python are not packed") == 1
    assert "level: a custom metric" in run(place, "check", "a.zip").stdout


@pytest.mark.sample(1, among="plug-ins at work")
def test_a_probe_of_a_file_is_in_the_report_of_its_bench(place: Path) -> None:
    """As custom, in the table and in the page; a later call that was not told of it makes both without it."""
    (place / "loudness.py").write_text(LOUDNESS)
    bench = ("bench", "--codec", "g711_mulaw", "--dataset", "./clips", "--out", "probed", "--metric", "sdr")
    done = run(place, *bench, "--application", "loudness.py:LOUDNESS")
    assert "loudness ↑" in done.stdout
    assert "Loudness (custom)" in (place / "probed" / "report.html").read_text()
    done = run(place, *bench)
    assert "loudness" not in done.stdout
    assert "Loudness (custom)" not in (place / "probed" / "report.html").read_text()


@pytest.mark.sample(1, among="plug-ins at work")
def test_a_taken_name_shows_both_targets(place: Path, tmp_path: Path) -> None:
    """A metric of a file, and one of a distribution, that is called like one of the table."""
    (tmp_path / "mine.py").write_text(metric_file().replace('key="level"', 'key="sdr"'))
    done = run(place, "score", "clips", "--metric", f"{tmp_path}/mine.py:LEVEL", code=2)
    assert "named sdr: codec_superb.metrics.distortion:sdr and" in done.stderr
    assert "mine.py:level" in done.stderr
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[codec_superb.metrics]\npesq = other.mod:PESQ\n")
    done = run(place, "metrics", "list", site=tmp_path, code=2)
    assert "named pesq: codec_superb.metrics.quality:" in done.stderr
    assert "entry point pesq (other.mod:PESQ) of other 1" in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.py:LEVEL", "no file"),
        ("level_of_test.py:NOTHING", "expected NOTHING to be a Metric, got nothing; the file has: LEVEL"),
        ("level_of_test.py:level", "expected level to be a Metric, got function"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(place: Path, name: str, message: str) -> None:
    """A missing file and a missing row each have a sentence of their own, and no traceback."""
    (place / "level_of_test.py").write_text(metric_file())
    assert message in run(place, "score", "clips", "--metric", name, code=2).stderr
