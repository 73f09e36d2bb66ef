"""The measurement on a graphics card, run on the CPU with tiny models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = ["--device", "cpu", "--small", "--batch", "1", "2", "--seconds", "1", "--rounds", "1"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with one thread."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, ROOT / "perf" / "gpu.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.sample(1, among="torch in other processes")
def test_without_a_card_it_says_so_in_one_sentence() -> None:
    """Neither the script nor `make gpu`, which would install gigabytes first, goes on."""
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine may have a graphics card")
    done = run()
    assert done.returncode == 2
    assert done.stderr == "perf/gpu.py: expected a CUDA device that torch can use, found none; nothing was measured\n"
    made = subprocess.run(
        ["make", "gpu", "GPU_VENV=/nowhere/gpu", f"PYTHON={sys.executable}"], capture_output=True, text=True, cwd=ROOT,
        check=False,
    )  # fmt: skip
    assert made.returncode
    assert "make gpu needs an NVIDIA graphics card and its driver, and nvidia-smi found none" in made.stderr
    assert "installing" not in made.stdout


@pytest.mark.slow
def test_every_part_runs_on_tiny_models() -> None:
    """A codec, a model of a probe, and scoring beside resynthesis: equal to the CPU, since it is the CPU."""
    done = run(*SMALL, "--codec", "encodec_24k_6bps", "--model", "ecapa", "wavlm-base", "--clips", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    for row in ("`encodec_24k_6bps` encode | 2", "`encodec_24k_6bps` decode | 1", "ecapa | 2", "wavlm-base | 1"):
        assert f"| {row} |" in done.stdout
    assert "100.00 % of tokens" in done.stdout
    assert "embedding 0.0e+00" in done.stdout
    assert "3 clips of 1 s: resynth" in done.stdout
