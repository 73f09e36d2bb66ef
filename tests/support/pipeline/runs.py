"""What tests of runs share: small folders of sound, and a view of a run that two runs can be compared by."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from support.audio import speech_like

from codec_superb.pipeline.runs.folder import RunFolder


def speech_folder(folder: Path, clips: int, *, rate: int = 16000, seconds: float = 0.25) -> Path:
    """Make a folder of short clips, all different."""
    import soundfile

    folder.mkdir(parents=True)
    for number in range(clips):
        soundfile.write(folder / f"clip{number:02}.wav", speech_like(seconds + number / 500, rate, seed=number), rate)
    return folder


def noise(samples: int, channels: int = 1, seed: int = 0) -> np.ndarray[Any, Any]:
    """Give noise of shape ``(samples, channels)``, as soundfile wants it."""
    return 0.1 * np.random.default_rng(seed).standard_normal((samples, channels))


def contents(run: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Give a run's rows without the times of computing, and the SHA-256 of every file below ``audio/``."""
    folder = RunFolder(run)
    rows = [row.model_dump(exclude={"encode_s", "decode_s"}) for row in folder.rows()]
    files = {str(f.relative_to(run)): hashlib.sha256(f.read_bytes()).hexdigest() for f in run.rglob("*") if f.is_file()}
    return rows, {name: digest for name, digest in files.items() if name.startswith("audio/")}
