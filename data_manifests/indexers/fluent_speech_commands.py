"""Fluent Speech Commands: ``data/test_data.csv`` names the clips, ``wavs/speakers/<speaker>/*.wav`` holds them."""

from __future__ import annotations

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, clip_id, locate
from codec_superb.data_manifests.indexers.tables import read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "data/test_data.csv"
COLUMNS = ("path", "speakerId", "transcription", "action", "object", "location")
_PREFIX = "wavs/speakers/"


def find(request: IndexRequest) -> Listing:
    """List the test set with text, speaker and the three slots of the intent."""
    base = locate(request.root, TABLE, ("fluent_speech_commands_dataset",))
    listing = Listing(base)
    seen: set[str] = set()
    for number, row in read_rows(base / TABLE, COLUMNS):
        name = row["path"]
        if not name.startswith(_PREFIX) or name in seen:
            why = "is given twice" if name in seen else f"does not begin with {_PREFIX}"
            raise LayoutError(f"{base / TABLE} line {number}: the path {name!r} {why}")
        seen.add(name)
        if (base / name).is_file():
            listing.add(base / name, _labels(row), below=base / _PREFIX)
        else:
            listing.missing.append(clip_id(base / name, base / _PREFIX))
    return listing


def _labels(row: dict[str, str]) -> ManifestLabels:
    # an intent is the three slots together; 31 combinations occur (Lugosch et al., arXiv:1904.03670)
    slots = {slot: row[slot] for slot in ("action", "object", "location")}
    return ManifestLabels(text=row["transcription"], language="en", speaker=row["speakerId"], extra=slots)
