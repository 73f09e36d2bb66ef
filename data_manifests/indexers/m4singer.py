"""M4Singer: ``<singer>#<song>/NNNN.wav`` and ``meta.json``, a list of ``{"item_name": "singer#song#NNNN", "txt": …}``.

Names of songs are Chinese, and file systems differ in their Unicode normalisation (HFS+ stores NFD): folders and items
are compared in the composed form (NFC).
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import expect_type, read_json
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "meta.json"


def find(request: IndexRequest) -> Listing:
    """List the clips of the manifest's test songs (``Alto-1#暖暖``) with singer, song and lyrics."""
    base = locate(request.root, TABLE, ("m4singer", "M4Singer"))
    songs = tuple(_composed(song) for song in request.partition.splits)
    texts = {name: text for name, text in _texts(base / TABLE).items() if name.startswith(songs)}
    listing = Listing(base)
    for folder in sorted(path for path in base.iterdir() if path.is_dir() and _composed(path.name).startswith(songs)):
        for path in audio_below(folder, {".wav"}):
            singer, _, song = _composed(folder.name).partition("#")
            text = texts.pop(f"{singer}#{song}#{path.stem}", None)
            labels = ManifestLabels(text=text, language="zh", speaker=singer, extra={"song": song})
            listing.add(path, labels, below=base, labelled=text is not None)
    listing.missing.extend("/".join(name.rsplit("#", 1)) for name in sorted(texts))
    return listing


def _texts(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, item in enumerate(expect_type(read_json(path), list, path, "the whole"), start=1):
        name, text = _item(item, path, number)
        if name in texts:
            raise LayoutError(f"{path} item {number}: {name} is given twice")
        texts[name] = text
    return texts


def _item(item: Any, path: Path, number: int) -> tuple[str, str]:
    fields: dict[str, Any] = expect_type(item, dict, path, f"item {number}")
    name, text = fields.get("item_name"), fields.get("txt")
    if not isinstance(name, str) or name.count("#") < 2 or not isinstance(text, str):  # noqa: PLR2004 - its fields
        expected = "item_name SINGER#SONG#NUMBER and txt"
        raise LayoutError(f"{path} item {number}: expected {expected}, got {str(item)[:80]!r}")
    return _composed(name), text


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
