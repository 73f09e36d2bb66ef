"""Speech-MASSIVE: shards of a locale; synthetic rows with the publisher's columns."""

from __future__ import annotations

from typing import Any

from support.datasets.layouts import Case, Tree
from support.datasets.package_files import noise, wav_bytes
from support.datasets.parquet_tables import write_table


def row(name: str, **fields: Any) -> dict[str, Any]:
    """Return a row as the publisher writes it."""
    audio = {"bytes": wav_bytes(noise(0.05, 48_000), 48_000, subtype="PCM_16"), "path": f"{name}.wav"}
    common = {
        "id": "2205",
        "locale": "de-DE",
        "path": f"test/{name}.wav",
        "audio": audio,
        "utt": "stille für zwei stunden",
        "intent_str": "audio_volume_mute",
        "scenario_str": "audio",
        "speaker_id": "5f32d5f1",
        "speaker_sex": "Female",
        "speaker_age": "40",
        "is_validated": True,
    }
    return common | fields


def build(tree: Tree) -> None:
    """Lay out two of three shards of one locale, and another locale."""
    folder = tree.root / "Speech-MASSIVE-test"
    silent = {"audio": {"bytes": b"no sound", "path": "c.wav"}}
    write_table(folder / "de-DE" / "test-00000-of-00003.parquet", [row("a"), row("b", speaker_age="DATA_EXPIRED")])
    write_table(folder / "de-DE" / "test-00002-of-00003.parquet", [row("c", **silent), row("d", speaker_sex="Unknown")])
    write_table(folder / "fr-FR" / "test-00000-of-00001.parquet", [row("e")])


CASE = Case(
    "speech_massive_de_de",
    build,
    clips=("test/a", "test/b", "test/d"),
    labels=(
        "test/a",
        {
            "text": "stille für zwei stunden",
            "language": "de-DE",
            "speaker": "5f32d5f1",
            "extra": {"intent": "audio_volume_mute", "scenario": "audio", "gender": "Female", "age": "40"},
        },
    ),
    missing=("test/c",),
    notes=("shards of test are not there: 1 of 0 to 2", "is no audio"),
)
