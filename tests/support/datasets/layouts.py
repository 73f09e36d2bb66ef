"""Small trees in the layouts of publishers: real audio files of 0.05 s, made once and hard-linked wherever needed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

RATE = 16_000
SUFFIXES = {".wav": "WAV", ".flac": "FLAC", ".au": "AU", ".mp3": "MP3"}


def make_recordings(folder: Path) -> dict[str, Path]:
    """Write one short tone per file format; return the file by suffix."""
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE // 20) / RATE)
    recordings = {}
    for suffix, kind in SUFFIXES.items():
        recordings[suffix] = folder / f"tone{suffix}"
        soundfile.write(recordings[suffix], tone, RATE, format=kind)
    return recordings


@dataclass(frozen=True)
class Tree:
    """A folder that is filled as a publisher would."""

    root: Path
    recordings: Mapping[str, Path]

    def audio(self, *paths: str) -> None:
        """Put a recording at each path."""
        for path in paths:
            target = self._fresh(path)
            os.link(self.recordings[target.suffix.lower()], target)

    def text(self, path: str, content: str) -> None:
        """Put a text file at the path."""
        self._fresh(path).write_text(content, encoding="utf-8")

    def table(self, path: str, header: Iterable[str], *rows: Iterable[object], delimiter: str = ",") -> None:
        """Put a table at the path, quoted as a spreadsheet program would."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerows([header, *rows])
        self.text(path, text.getvalue())

    def data(self, path: str, value: Any) -> None:
        """Put a JSON file at the path."""
        self.text(path, json.dumps(value, ensure_ascii=False))

    def _fresh(self, path: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


@dataclass(frozen=True)
class Case:
    """A tree and what an index of it must say."""

    name: str
    build: Callable[[Tree], None]
    clips: tuple[str, ...]
    """Ids, all of them."""
    labels: tuple[str, dict[str, Any]]
    """One id and the fields that its labels must have; ``extra`` is compared as a dict and may be a part."""
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Parts of sentences that the report's notes must hold."""
