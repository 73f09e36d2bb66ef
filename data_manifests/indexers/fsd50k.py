"""FSD50K: ``FSD50K.ground_truth/{dev,eval}.csv``, ``FSD50K.{dev,eval}_audio/<id>.wav``.

The validation set is the rows of ``dev.csv`` with ``split`` = ``val``, the test set is ``eval.csv``. The licence and
uploader of each clip are in ``FSD50K.metadata/{dev,eval}_clips_info_FSD50K.json``, which is read where it exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import expect_type, read_json, read_lines, read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

# the licences of Freesound's clips (Fonseca et al., arXiv:2010.00475)
LICENCES = {
    "publicdomain/zero/1.0": "CC0-1.0",
    "licenses/by/3.0": "CC-BY-3.0",
    "licenses/by/4.0": "CC-BY-4.0",
    "licenses/by-nc/3.0": "CC-BY-NC-3.0",
    "licenses/by-nc/4.0": "CC-BY-NC-4.0",
    "licenses/sampling+/1.0": "CC Sampling Plus 1.0",
}
"""End of a Creative Commons address -> name; another address is kept as it is."""

_VOCABULARY = 2
"""Commas of a line of vocabulary.csv, which has no header: number, class, AudioSet's id."""


def find(request: IndexRequest) -> Listing:
    """List the test set, and the validation set if the partition has it, with classes, licences and uploaders.

    The collection ``labels`` has the classes of ``vocabulary.csv``, where that file is there.
    """
    with_val = "val" in request.partition.splits
    base = locate(request.root, f"FSD50K.ground_truth/{'dev' if with_val else 'eval'}.csv", ("FSD50K", "fsd50k"))
    listing = Listing(base)
    if with_val:
        _take_part(listing, base, "dev", ("fname", "labels", "mids", "split"), "val")
    _take_part(listing, base, "eval", ("fname", "labels", "mids"), None)
    vocabulary = base / "FSD50K.ground_truth" / "vocabulary.csv"
    if vocabulary.is_file():
        classes = [line.split(",")[1] for _, line in read_lines(vocabulary) if line.count(",") >= _VOCABULARY]
        listing.collections["labels"] = [CollectionRow(name, text=name) for name in classes]
    return listing


def _take_part(listing: Listing, base: Path, part: str, columns: tuple[str, ...], split: str | None) -> None:
    table = base / "FSD50K.ground_truth" / f"{part}.csv"
    folder = base / f"FSD50K.{part}_audio"
    info = _info(base / "FSD50K.metadata" / f"{part}_clips_info_FSD50K.json")
    if not info:
        listing.notes.append(f"FSD50K.metadata of {part} is not there: its clips carry the licence of the whole")
    known: set[str] = set()
    for number, row in read_rows(table, columns):
        name = row["fname"]
        if name in known:
            raise LayoutError(f"{table} line {number}: the clip {name} is given twice")
        known.add(name)
        if split is None or row["split"] == split:
            _take_clip(listing, folder / f"{name}.wav", part, row, info.get(name, {}))
    listing.extra.extend(f"{part}/{path.name}" for path in audio_below(folder, {".wav"}) if path.stem not in known)


def _take_clip(listing: Listing, path: Path, part: str, row: dict[str, str], info: dict[str, Any]) -> None:
    if not path.is_file():
        listing.missing.append(f"{part}/{path.stem}")
        return
    # the publisher's labels are propagated already: an Electric_guitar is a Guitar and Music too
    labels = ManifestLabels(events=tuple(row["labels"].split(",")), extra={"split": row.get("split", "test")})
    # File names are Freesound ids in both folders; the part in the id says which folder a clip is in.
    listing.add(
        path,
        labels,
        below=path.parent,
        prefix=f"{part}/",
        licence=_licence(info),
        attribution=_attribution(info, path.stem),
    )


def _info(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    info: dict[str, Any] = expect_type(read_json(path), dict, path, "the whole")
    return info


def _licence(info: dict[str, Any]) -> str | None:
    address = str(info.get("license", "")).rstrip("/")
    return next((name for end, name in LICENCES.items() if address.endswith(end)), address or None)


def _attribution(info: dict[str, Any], name: str) -> str | None:
    if "uploader" not in info:
        return None
    return f"{info.get('title', name)} by {info['uploader']}, freesound.org sound {name}"
