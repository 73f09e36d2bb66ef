"""ESC-50: ``meta/esc50.csv`` lists 2000 clips, ``audio/*.wav`` holds them."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate, take_listed
from codec_superb.data_manifests.indexers.tables import read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "meta/esc50.csv"
COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")


def find(request: IndexRequest) -> Listing:
    """List all clips with their class and fold."""
    base = locate(request.root, TABLE, ("ESC-50-master", "ESC-50"))
    listing = Listing(base)
    take_listed(listing, base / "audio", _labels(base / TABLE))
    return listing


def _labels(table: Path) -> dict[str, ManifestLabels]:
    labels: dict[str, ManifestLabels] = {}
    for number, row in read_rows(table, COLUMNS):
        if row["filename"] in labels:
            raise LayoutError(f"{table} line {number}: {row['filename']} is given twice")
        # clips that were cut from one Freesound recording lie in one of the five folds (Piczak, 2015)
        extra = {"fold": row["fold"], "target": row["target"], "freesound_id": row["src_file"], "esc10": row["esc10"]}
        labels[row["filename"]] = ManifestLabels(events=(row["category"],), extra=extra)
    return labels
