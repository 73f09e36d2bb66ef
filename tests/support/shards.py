"""Writes WebDataset shards as publishers do."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import soundfile


def flac(seconds: float, *, seed: int = 0, hertz: float = 0.0) -> bytes:
    """Return noise, or a tone with noise, at 16 kHz."""
    count = round(seconds * 16000)
    sound = np.random.default_rng(seed).uniform(-0.1, 0.1, count)
    if hertz:
        sound += 0.5 * np.sin(2 * np.pi * hertz * np.arange(count) / 16000)
    file = io.BytesIO()
    soundfile.write(file, sound, 16000, format="FLAC")
    return file.getvalue()


def write_shard(
    file: Path, samples: Iterable[tuple[str, bytes, Mapping[str, object]]], *, suffix: str = "flac"
) -> Path:
    """Write sounds with their JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w:gz" if file.suffix == ".gz" else "w") as shard:
        for key, audio, fields in samples:
            for ending, content in ((suffix, audio), ("json", json.dumps(fields).encode())):
                info = tarfile.TarInfo(f"{key}.{ending}")
                info.size = len(content)
                shard.addfile(info, io.BytesIO(content))
    return file
