"""BirdSet's test sets: segments of soundscapes, 5 s each, with the eBird codes of the birds that are heard.

Two layouts are read, by the names of the columns:

- a table with the sound, ``birdset_<subset>_test_5s.parquet`` or ``<subset>/test_5s-*.parquet``: ``filepath``,
  ``audio`` (``bytes``, or ``waveform`` and ``sample_rate``), ``ebird_code_multilabel``;
- the publisher's files, ``<subset>/<subset>_metadata_test_5s.parquet`` with ``filepath`` and ``ebird_code_multilabel``,
  and the segments in ``<subset>_test5s_shard_*.tar.gz``, or unpacked anywhere below the folder.

Codes may be written out or be numbers. The names of numbers are in the table itself (as the package datasets writes
them) or in ``class_lists.json``, with ``config_to_class_list.json`` to tell which list is the subset's. A segment
without a bird stays, with no event and the label ``no_bird``; the classes are the codes that occur.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from codec_superb.data_manifests.audio.cells import audio_bytes
from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, audio_below
from codec_superb.data_manifests.indexers.parquet_rows import read_parquet
from codec_superb.data_manifests.indexers.svq.tables import open_parquet
from codec_superb.data_manifests.indexers.tables import expect_type, read_json
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.packages.archive import select_members

_COLUMNS = ("filepath", "ebird_code_multilabel")
_LISTS, _WHICH = "class_lists.json", "config_to_class_list.json"


def find(request: IndexRequest) -> Listing:
    """Store the segments of the option ``subset`` and list them with the birds that are heard.

    Raises LayoutError when no table of the subset is there, or a number has no name.
    """
    subset = str(request.options["subset"])
    tables = _tables(request.root, subset)
    listing = Listing(request.store, stored=True)
    names = _names(request.root, tables[0], subset)
    labels = {
        _id(row["filepath"], where): _labels(row["ebird_code_multilabel"], names, where)
        for table in tables
        for where, row in read_parquet(table, _COLUMNS)
    }
    with AudioStore(request.store) as store:
        stored: set[str] = set()
        for name, content, where in _sounds(request.root, tables, subset, labels):
            stored.add(name)
            try:
                path = store.put(name, content, where)
            except AudioFileError as error:
                listing.missing.append(name)
                listing.notes.append(str(error))
                continue
            listing.found.append(FoundClip(name, path, labels[name]))
    listing.missing += sorted(labels.keys() - stored)
    heard = sorted({code for label in labels.values() for code in label.events})
    listing.collections["birds"] = [CollectionRow(code, text=code) for code in heard]
    return listing


def _tables(root: Path, subset: str) -> list[Path]:
    patterns = (f"birdset_{subset}_test_5s.parquet", f"{subset}/test_5s*.parquet", f"{subset}_metadata_test_5s.parquet")
    for pattern in patterns:
        if found := sorted(root.rglob(pattern)):
            return found
    raise LayoutError(
        f"{root} does not have its publisher's layout: expected {' or '.join(patterns)} in it; give the folder that "
        "the repository was downloaded into"
    )


def _names(root: Path, table: Path, subset: str) -> list[str]:
    """Return the codes by number; empty where neither the table nor the folder has them."""
    if noted := _noted_names(table):
        return noted
    lists = next(iter(sorted(root.rglob(_LISTS))), None)
    if lists is None:
        return []
    which = expect_type(read_json(lists.with_name(_WHICH)), dict, lists.with_name(_WHICH), "the whole")
    every = expect_type(read_json(lists), dict, lists, "the whole")
    return [str(code) for code in expect_type(every.get(which.get(subset)), list, lists, f"the list of {subset}")]


def _noted_names(table: Path) -> list[str]:
    """Return the names of the classes that the package datasets notes in a table; empty where it did not write it."""
    noted = (open_parquet(table).schema_arrow.metadata or {}).get(b"huggingface", b"{}")
    try:
        feature = json.loads(noted)["info"]["features"]["ebird_code_multilabel"]
        # a list of classes, as versions before 4 and later ones write it
        inner = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
        return [str(name) for name in inner["names"]]
    except (ValueError, LookupError, TypeError, AttributeError):  # another program's note, or none
        return []


def _labels(value: object, names: list[str], where: str) -> ManifestLabels:
    """Return the birds of a segment, in the order of their codes."""
    if not isinstance(value, list):
        raise LayoutError(f"{where}: expected ebird_code_multilabel to be a list, got {str(value)[:60]!r}")
    codes = tuple(sorted({_code(item, names, where) for item in value}))
    return ManifestLabels(events=codes, extra={} if codes else {"no_bird": "yes"})


def _code(value: object, names: list[str], where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    known = f"a number below {len(names)}" if names else f"a code ({_LISTS} and {_WHICH} name numbers)"
    raise LayoutError(f"{where}: expected {known} in ebird_code_multilabel, got {str(value)[:60]!r}")


def _sounds(root: Path, tables: list[Path], subset: str, wanted: Mapping[str, Any]) -> Iterator[tuple[str, bytes, str]]:
    """Yield id, audio file and place of each wanted segment: of the tables, the archives, or the folder."""
    if "audio" in open_parquet(tables[0]).schema_arrow.names:
        for table in tables:
            for where, row in read_parquet(table, ("filepath", "audio")):
                yield _id(row["filepath"], where), audio_bytes(row["audio"], where), where
        return
    seen: set[str] = set()
    for archive in sorted(root.rglob(f"{subset}_test5s_shard_*.tar.gz")):
        for member, content in select_members(archive, lambda member: _stem(member) in wanted):
            seen.add(_stem(member))
            yield _stem(member), content, f"{archive}: {member}"
    for path in audio_below(root):
        if (name := _stem(path.name)) in wanted and name not in seen:
            seen.add(name)
            yield name, path.read_bytes(), str(path)


def _id(filepath: object, where: str) -> str:
    try:
        return _stem(str(filepath))
    except ValueError as error:
        raise LayoutError(f"{where}: expected filepath to name a file, got {str(filepath)[:60]!r}") from error


def _stem(path: str) -> str:
    """Return the id of a segment: the name of its file without folders and ending. ValueError where there is none."""
    return escape_path(PurePosixPath(path).stem.encode("utf-8", "surrogateescape"))
