"""Datasets whose clip list lies in a store: ``index.json``, the list, and collections where there are any."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from codec_superb.data_manifests.clip_list import CLIPS_FILE, INDEX_FILE, TABLE_FILE, read_index
from codec_superb.data_manifests.errors import MissingObject
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.lists.clip_lines import ClipLines
from codec_superb.data_manifests.lists.clip_table import ClipTable
from codec_superb.data_manifests.objects.stores import Found, store_of


def fetch_index(url: str) -> Path | None:
    """Fetch ``index.json`` and collections from below ``url`` into a folder of this machine; None where there is none.

    Raises ManifestError for an index that is none, StoreError where the store gives nothing.
    """
    try:
        content = _read(f"{url}/{INDEX_FILE}")
    except MissingObject:
        return None
    folder = codec_superb_home() / "indexes" / hashlib.sha256(url.encode()).hexdigest()[:32]
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / INDEX_FILE, content)
    index = read_index(folder)
    assert index is not None
    for name in index.collections:
        path = folder / "collections" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, _read(f"{url}/collections/{name}.parquet"))
    return folder


def remote_list(url: str) -> ClipTable | ClipLines:
    """Open the clip list below ``url``: a table by its footer, lines by reading them all. Raises ObjectError."""
    with suppress(MissingObject):
        return ClipTable(_stat(f"{url}/{TABLE_FILE}"))
    return ClipLines(_read(f"{url}/{CLIPS_FILE}"), f"{url}/{CLIPS_FILE}")


def _stat(url: str) -> Found:
    store, key = store_of(url)
    return store.stat(key)


def _read(url: str) -> bytes:
    store, key = store_of(url)
    found = store.stat(key)
    return store.read(key, 0, found.size, found.version)
