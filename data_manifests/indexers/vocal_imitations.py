"""Vocal Imitation Set: ``vocal_imitations.txt`` (tab-delimited) and ``vocal_imitations/included/*.wav``.

The early release has the folder ``included`` beside the table. Only imitations whose column ``included`` is true are
used; the folders ``excluded`` and ``original_recordings`` are not part of the dataset.
"""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "vocal_imitations.txt"
# depths in AudioSet's ontology (Kim et al., DCASE 2018)
LEVELS = tuple(f"category_d{depth}" for depth in range(1, 7))
COLUMNS = ("imitation_filename", *LEVELS, "reference_filename", "included", "participant_id")
_TRUE, _FALSE = {"true", "1"}, {"false", "0"}


def find(request: IndexRequest) -> Listing:
    """List the included imitations with the imitated class and the person."""
    base = locate(request.root, TABLE, ("VocalImitationSet", "VocalImitationSet_v1.1.3/VocalImitationSet"))
    folders = [base / "vocal_imitations" / "included", base / "included"]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        raise LayoutError(f"expected the folder vocal_imitations/included or included in {base}, there is neither")
    listing = Listing(base)
    labels = _labels(base / TABLE)
    for path in audio_below(folder, {".wav"}):
        if path.name in labels:
            # The table has file names without folders, so the folder is not part of the id.
            listing.add(path, labels.pop(path.name), below=path.parent)
        else:
            listing.extra.append(path.relative_to(folder).as_posix())
    listing.missing.extend(name.removesuffix(".wav") for name in sorted(labels))
    return listing


def _labels(table: Path) -> dict[str, ManifestLabels]:
    labels: dict[str, ManifestLabels] = {}
    for number, row in read_rows(table, COLUMNS, delimiter="\t"):
        included = row["included"].strip().lower()
        if included not in _TRUE | _FALSE:
            raise LayoutError(f"{table} line {number}: expected included to be True or False, got {row['included']!r}")
        if included in _FALSE:
            continue
        name = row["imitation_filename"]
        if name in labels:
            raise LayoutError(f"{table} line {number}: {name} is given twice")
        path = [row[level].strip() for level in LEVELS if row[level].strip()]
        extra = {"reference": row["reference_filename"], "class_path": " / ".join(path)}
        labels[name] = ManifestLabels(speaker=row["participant_id"] or None, events=tuple(path[-1:]), extra=extra)
    return labels
