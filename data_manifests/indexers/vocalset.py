"""VocalSet: ``{FULL,data_by_singer}/<singer>/<context>/<technique>/*.wav`` and ``test_singers_technique.txt``.

Release 1.1 calls the folder of all singers ``FULL``, release 1.2 ``data_by_singer``. The test set is the singers in the
publisher's list, one per line.
"""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

SINGERS_LIST = "test_singers_technique.txt"
FOLDERS = ("FULL", "data_by_singer")
# nine women and eleven men (Wilkins et al., ISMIR 2018)
_SINGER = re.compile(r"(f|female|m|male)\s?(\d{1,2})", re.IGNORECASE)
_DEPTH = 3


def find(request: IndexRequest) -> Listing:
    """List the clips of the test singers with singer, context and technique."""
    base = locate(request.root, SINGERS_LIST, ("VocalSet1-2", "VocalSet11", "VocalSet"))
    singers_folder = next((base / name for name in FOLDERS if (base / name).is_dir()), None)
    if singers_folder is None:
        raise LayoutError(f"expected the folder {' or '.join(FOLDERS)} in {base}, there is neither")
    listing = Listing(base)
    for singer in _singers(base / SINGERS_LIST):
        if not (singers_folder / singer).is_dir():
            listing.notes.append(f"the singer {singer} is not in {singers_folder}: all of the clips are missing")
            continue
        for path in audio_below(singers_folder / singer, {".wav"}):
            _add(listing, path, singers_folder)
    return listing


def _add(listing: Listing, path: Path, singers_folder: Path) -> None:
    parts = path.relative_to(singers_folder).parts[:-1]
    if len(parts) < _DEPTH:
        listing.extra.append(path.relative_to(singers_folder).as_posix())
        return
    singer, context, technique = parts[:_DEPTH]
    labels = ManifestLabels(speaker=singer, events=(technique,), extra={"context": context, "technique": technique})
    listing.add(path, labels, below=singers_folder)


def _singers(path: Path) -> list[str]:
    singers = []
    for number, line in read_lines(path):
        match = _SINGER.fullmatch(line.strip())
        if match is None:
            raise LayoutError(f"{path} line {number}: expected a singer such as female2 or male10, got {line!r}")
        singers.append(("female" if match[1].lower().startswith("f") else "male") + match[2])
    return sorted(set(singers))
