"""The built wheel, installed alone: what a user gets, with the sources out of reach."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

ROOT = Path(__file__).parents[2]
GENERIC = {
    "data_manifests",
    "base_codec",
    "metrics",
    "applications",
    "pipeline",
    "server",
    "web",
    "cli",
    "tests",
    "src",
}


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout and the wheel from that sdist, as a release does."""
    out = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with its core dependencies into a fresh environment; return the environment."""
    home = tmp_path_factory.mktemp("installed") / "env"
    venv.create(home, with_pip=True)
    constraints = ROOT / "constraints.txt"
    _run(home / "bin/python", "-m", "pip", "install", "-q", "-c", constraints, wheel, cwd=home)
    return home


class TestWheel:
    """The file itself."""

    def test_has_one_top_level_package(self, wheel: Path) -> None:
        """Nothing but codec_superb and its metadata is in the wheel."""
        with zipfile.ZipFile(wheel) as file:
            tops = {name.split("/")[0] for name in file.namelist()}
        assert tops == {"codec_superb", f"codec_superb-{wheel.name.split('-')[1]}.dist-info"}

    def test_carries_its_data(self, wheel: Path) -> None:
        """Catalogue, manifests, templates and the typing marker are in the wheel, not only in the checkout."""
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
        for needed in ("py.typed", "base_codec/catalogue/opus.yaml", "data_manifests/manifests/mini.yaml"):
            assert f"codec_superb/{needed}" in names
        assert any(name.startswith("codec_superb/web/templates/") for name in names)


class TestInstalled:
    """The wheel in an environment of its own, run from a folder that is not the checkout."""

    def test_puts_no_generic_name_into_site_packages(self, installed: Path) -> None:
        """`import metrics` finds nothing of ours."""
        (site,) = installed.glob("lib/python3.*/site-packages")
        assert not GENERIC & {path.name for path in site.iterdir()}

    def test_needs_no_torch(self, installed: Path) -> None:
        """The core install brings no torch along."""
        (site,) = installed.glob("lib/python3.*/site-packages")
        assert not (site / "torch").exists()

    def test_resynthesises_scores_and_reports(self, installed: Path, tmp_path: Path) -> None:
        """`codec-superb bench` on a folder of audio works from the wheel alone."""
        rate = 16000
        time = np.arange(rate) / rate
        clip = 0.3 * np.sin(2 * np.pi * 220 * time) * (1 + np.sin(2 * np.pi * 3 * time)) / 2
        (tmp_path / "clips").mkdir()
        soundfile.write(tmp_path / "clips" / "tone.wav", clip, rate)
        program = installed / "bin/codec-superb"
        _run(program, "resynth", "--codec", "opus_12k", "--dataset", "clips", "--out", "runs", cwd=tmp_path)
        _run(program, "score", "runs/opus_12k/clips", cwd=tmp_path)
        _run(program, "report", "runs/opus_12k/clips", "-o", "report.html", cwd=tmp_path)
        assert (tmp_path / "report.html").stat().st_size > 1_000_000
        info = json.loads((tmp_path / "runs/opus_12k/clips/run.json").read_text())
        assert info["status"] == "scored"
