"""The collections of a folder of audio: ``collections/<name>.csv`` or ``.parquet``, checked and stored once."""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.collection_tables import SUFFIXES, TableRows
from codec_superb.data_manifests.collections import (
    COLLECTIONS_FOLDER,
    NAME,
    collection_path,
    stored_sha256,
    writing_collections,
)
from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.files import locked
from codec_superb.data_manifests.hash_cache import HashCache


def find_tables(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder by the names of their collections.

    Raises ManifestError for a name that no collection may have, and for two tables of one name.
    """
    tables: dict[str, Path] = {}
    for path in sorted((folder / COLLECTIONS_FOLDER).glob("*")):
        if path.suffix not in SUFFIXES or path.name.startswith("."):
            continue
        if not re.fullmatch(NAME, path.stem):
            raise ManifestError(f"{path}: expected a name of lower-case letters, digits and _; rename it")
        if path.stem in tables:
            raise ManifestError(f"{path} and {tables[path.stem].name} are one collection; remove one of them")
        tables[path.stem] = path
    return tables


def store_collections(folder: Path, store: Path) -> dict[str, str]:
    """Check the tables of ``folder``, store them as collections below ``store``; return their SHA-256 by name.

    A table whose size and modification time are those of an earlier call is not read again. Raises ManifestError.
    """
    tables = find_tables(folder)
    if not tables:
        return {}
    with locked(store / ".collections.lock"):
        cache = HashCache(store / "collections.json")
        known = {name: cache.get(path.name, path, lambda _: "") for name, path in tables.items()}
        if all(sha256 and _is_stored(store, name, sha256) for name, sha256 in known.items()):
            return known
        with writing_collections(store, {name: TableRows(path) for name, path in tables.items()}, tables) as hashes:
            for name, path in tables.items():
                cache.set(path.name, path, hashes[name])
        cache.save()
        return hashes


def _is_stored(store: Path, name: str, sha256: str) -> bool:
    try:
        return stored_sha256(collection_path(store, name), name) == sha256
    except ManifestError:
        return False
