"""Rows with sound described by their manifest: SpeechHSK, a split for each level."""

from __future__ import annotations

from typing import Any

from support.datasets.layouts import Case, Tree
from support.datasets.package_files import noise, wav_bytes
from support.datasets.parquet_tables import write_table


def row(answer: str, sound: bytes | None = None) -> dict[str, Any]:
    """Return a row as the publisher's loader reads it."""
    return {"audio": {"bytes": sound or wav_bytes(noise(0.05, 16_000), 16_000), "path": None}, "ans_choice": answer}


def build(tree: Tree) -> None:
    """Lay out two levels, one of which lacks a shard; one sound is none."""
    data = tree.root / "speech-HSK" / "data"
    write_table(data / "hsk1-00000-of-00001.parquet", [row("C"), row("A", b"no sound")])
    write_table(data / "hsk6-00001-of-00002.parquet", [row("B")])


CASE = Case(
    "speech_hsk",
    build,
    clips=("hsk1/1", "hsk6/1"),
    labels=("hsk1/1", {"choices": ("A", "B", "C", "D"), "answers": ("C",), "language": "zh", "extra": {"level": "1"}}),
    missing=("hsk1/2",),
    notes=("shards of hsk6 are not there: 0 of 0 to 1", "is no audio"),
)
