"""NSynth test set: ``nsynth-test/examples.json`` (metadata by note) and ``nsynth-test/audio/<note>.wav``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate, take_listed
from codec_superb.data_manifests.indexers.tables import expect_type, read_json
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "examples.json"
# pitch and velocity are MIDI's, the latter 25, 50, 75, 100 or 127 (Engel et al., arXiv:1704.01279)
FACTS = ("instrument_str", "instrument_source_str", "pitch", "velocity")


def find(request: IndexRequest) -> Listing:
    """List the notes of the test set with instrument family, instrument, pitch (MIDI) and velocity."""
    base = locate(request.root, TABLE, ("nsynth-test",))
    listing = Listing(base)
    take_listed(listing, base / "audio", _labels(base / TABLE))
    return listing


def _labels(path: Path) -> dict[str, ManifestLabels]:
    examples = expect_type(read_json(path), dict, path, "the whole")
    return {f"{note}.wav": _note(note, facts, path) for note, facts in examples.items()}


def _note(note: str, facts: Any, path: Path) -> ManifestLabels:
    fields: dict[str, Any] = expect_type(facts, dict, path, f"the note {note}")
    lacking = [name for name in ("instrument_family_str", *FACTS) if name not in fields]
    if lacking:
        raise LayoutError(f"{path}: the note {note} has no {', '.join(lacking)}")
    extra = {name.removesuffix("_str"): str(fields[name]) for name in FACTS}
    qualities = " ".join(fields.get("qualities_str", []))
    if qualities:
        extra["qualities"] = qualities
    return ManifestLabels(events=(str(fields["instrument_family_str"]),), extra=extra)
