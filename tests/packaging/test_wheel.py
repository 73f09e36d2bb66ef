"""The built wheel, installed alone: what a user gets, with the sources out of reach."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import soundfile
from packaging.requirements import Requirement
from support.datasets.package_files import wheel as make_wheel
from support.profile import EVERYTHING
from support.server.serving import WITHOUT_HEAVY, served

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
    "api",
    "tests",
    "src",
}

OTHER = {
    "other_codecs-3.1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "other_codecs-3.1.dist-info/RECORD": "",
    "other_codecs-3.1.dist-info/entry_points.txt": "[codec_superb.codecs]\nother = other_codecs:codecs.yaml\n",
    "other_codecs/__init__.py": "",
    "other_codecs/codecs.yaml": """
family: other
target: other_codecs.codec:Pcm16
card: {title: "Other {kbps} kbps", version: "{version:other-codecs}", kind: classical, standard: none, year: 2025,
       sampling_rate: 16000, channels: [1], frame_rate: null, causal: true, delay_samples: 0, latency_ms: 0,
       licence: MIT, paper: none, homepage: "https://example.org", requirements: [other-codecs]}
codecs:
  other_256k: {nominal_kbps: 256}
""",
    "other_codecs/codec.py": """
import numpy as np
from codec_superb.base_codec.interface import Codec, Packets


class Pcm16(Codec):
    def _encode(self, audio):
        payload = np.clip(np.rint(audio * 32767), -32768, 32767).astype("<i2").tobytes()
        return Packets(payload, 8 * len(payload))

    def _decode(self, packets, channels):
        return (np.frombuffer(packets.payload, "<i2") / 32767).astype(np.float32).reshape(channels, -1)
""",
}
"""Files of a wheel by somebody else."""


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout and the wheel from that sdist, as a release does.

    In short by the hatchling that is here; a release installs one for either.
    """
    out = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", *([] if EVERYTHING else ["--no-isolation"]), "--outdir", out, ROOT, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with its core dependencies into a fresh environment; return the environment.

    In short the dependencies, as the wheel names them, are links into this environment, where they are installed.
    """
    home = tmp_path_factory.mktemp("installed") / "env"
    venv.create(home)
    if EVERYTHING:
        _pip(home, "install", "--no-compile", "-c", ROOT / "constraints.txt", wheel)
    else:
        _pip(home, "install", "--no-compile", "--no-deps", wheel)
        (site,) = home.glob("lib/python3.*/site-packages")
        (own,) = metadata.distributions(name="codec-superb", path=[str(site)])
        _link_requirements(own, site)
    return home


def _pip(home: Path, *arguments: str | Path) -> None:
    """Let this environment's pip work in another, which has none."""
    _run(sys.executable, "-m", "pip", "--python", home / "bin/python", *arguments, "-q", cwd=home)


def _link_requirements(of: metadata.Distribution, site: Path) -> None:
    """Link what a distribution requires without extras, and what that requires, into a folder of packages."""
    for requirement in map(Requirement, of.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found = metadata.distribution(requirement.name)
            tops = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
            # setup.py install lists its metadata as NAME.egg-info, which lies there as NAME-VERSION.egg-info
            new = [top for top in sorted(tops) if not (site / top).exists() and Path(found.locate_file(top)).exists()]
            for top in new:
                (site / top).symlink_to(found.locate_file(top))
            if new:
                _link_requirements(found, site)


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
        for folder in ("web/templates", "web/static", "server/database/migrations", "pipeline/literature"):
            files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
            assert files
            assert {f"codec_superb/{path.relative_to(ROOT)}" for path in files} <= set(names)


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

    @pytest.mark.sample(1, among="the wheel at work")
    def test_resynthesises_scores_and_reports(self, installed: Path, tmp_path: Path) -> None:
        """`codec-superb bench` on a folder of audio works from the wheel alone."""
        rate = 16000
        time = np.arange(rate) / rate
        clip = 0.3 * np.sin(2 * np.pi * 220 * time) * (1 + np.sin(2 * np.pi * 3 * time)) / 2
        (tmp_path / "clips").mkdir()
        soundfile.write(tmp_path / "clips" / "tone.wav", clip, rate)
        program = installed / "bin/codec-superb"
        _run(program, "resynth", "--codec", "opus_12k", "--dataset", "clips", "--out", "runs", cwd=tmp_path)
        # PESQ is compiled for half a minute in each new place; `make demo` and `make test-all` do it.
        chosen = [] if EVERYTHING else ["--metric", "mel", "stoi", "f0corr"]
        _run(program, "score", "runs/opus_12k/clips", *chosen, cwd=tmp_path)
        _run(program, "report", "runs/opus_12k/clips", "-o", "report.html", cwd=tmp_path)
        assert (tmp_path / "report.html").stat().st_size > 1_000_000
        info = json.loads((tmp_path / "runs/opus_12k/clips/run.json").read_text())
        assert info["status"] == "scored"

    @pytest.mark.sample(1, among="the wheel at work")
    def test_serves_the_leaderboard(self, installed: Path, tmp_path: Path) -> None:
        """With the extra's packages at hand, the wheel makes its schema and answers with its pages, without torch."""
        (site,) = installed.glob("lib/python3.*/site-packages")
        extra = site / "extra.pth"
        extra.write_text(sysconfig.get_path("purelib") + "\n")  # installing them again would take a minute
        environment = {"CODEC_SUPERB_HOME": str(tmp_path), "PYTHONPATH": ""}
        try:
            python = installed / "bin/python"
            with served(before=WITHOUT_HEAVY, environment=environment, python=python) as service:
                assert service.get("/readyz").status_code == 200
                page = service.get("/", accept="text/html").text
                assert "Codec-SUPERB" in page
                for asset in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page)):
                    assert service.get(asset).status_code == 200
                assert service.get("/api/v1/leaderboard").status_code == 200
        finally:
            extra.unlink()

    @pytest.mark.sample(1, among="the wheel at work")
    def test_another_distribution_adds_a_codec(self, installed: Path, tmp_path: Path) -> None:
        """A package installed beside this one is listed, and its codec runs in the workers of a real run."""
        file = tmp_path / "other_codecs-3.1-py3-none-any.whl"
        file.write_bytes(make_wheel("other_codecs", "3.1", {name: text.encode() for name, text in OTHER.items()}))
        _pip(installed, "install", "--no-deps", file)
        program = installed / "bin/codec-superb"
        card = json.loads(_run(program, "codecs", "show", "other_256k", "--json", cwd=tmp_path))
        assert (card["family"], card["version"]) == ("other", "3.1")
        (tmp_path / "clips").mkdir()
        soundfile.write(tmp_path / "clips" / "noise.wav", 0.1 * np.random.default_rng(0).normal(size=8000), 16000)
        _run(program, "resynth", "--codec", "other_256k", "--dataset", "clips", "--out", "runs", cwd=tmp_path)
        stored, _ = soundfile.read(tmp_path / "runs/other_256k/clips/audio/noise.wav.flac")
        given, _ = soundfile.read(tmp_path / "clips/noise.wav")
        assert np.abs(stored - given).max() < 2**-14
        _pip(installed, "uninstall", "-y", "other-codecs")
        assert "other_256k" not in _run(program, "codecs", "list", cwd=tmp_path)
