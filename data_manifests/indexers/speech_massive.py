"""Speech-MASSIVE, test split: ``<locale>/test-*-of-*.parquet``, commands to an assistant in twelve languages.

A row is read by the names of its columns: ``path`` (the clip's id), ``audio`` (``bytes``, ``path``), ``utt``,
``intent_str``, ``scenario_str``, ``speaker_id``, ``speaker_sex``, ``speaker_age``. A sex other than Female and Male,
and an age that is no number, are left out, as MSEB leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from codec_superb.data_manifests.audio.cells import audio_bytes
from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, locate
from codec_superb.data_manifests.indexers.parquet_rows import read_parquet, shards_of
from codec_superb.data_manifests.manifest import ManifestLabels

GENDERS = ("Female", "Male")
INTENTS = tuple((Path(__file__).parents[1] / "texts" / "massive_intents.txt").read_text(encoding="utf-8").splitlines())
"""The 60 intents of MASSIVE (FitzGerald et al., 2023), of which a split need not have all."""

_COLUMNS = ("path", "audio", "utt", "intent_str", "speaker_id", "speaker_sex", "speaker_age")
_MORE = ("scenario_str",)
_MOST_AGE = 3
"""Digits of an age."""


def find(request: IndexRequest) -> Listing:
    """Store the clips of the option ``locale`` and list them with text, intent, speaker, sex and age.

    Raises LayoutError when the locale's files are not there or have other columns, or a row names an unknown intent.
    """
    locale = str(request.options["locale"])
    base = locate(request.root, f"{locale}/test-*.parquet", ("Speech-MASSIVE-test", "data"))
    listing = Listing(request.store, stored=True)
    files = shards_of(base / locale, "test", listing)
    with AudioStore(request.store) as store:
        for where, row in _rows(files):
            _take(listing, store, row, where, locale)
    listing.collections["labels"] = [CollectionRow(intent, text=intent) for intent in INTENTS]
    return listing


def _rows(files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in files:
        yield from read_parquet(path, _COLUMNS, _MORE)


def _take(listing: Listing, store: AudioStore, row: dict[str, Any], where: str, locale: str) -> None:
    name = _id(row["path"], where)
    intent = str(row["intent_str"])
    if intent not in INTENTS:
        raise LayoutError(f"{where}: expected one of the {len(INTENTS)} intents of MASSIVE, got {intent[:60]!r}")
    try:
        path = store.put(name, audio_bytes(row["audio"], where), where)
    except AudioFileError as error:
        listing.missing.append(name)
        listing.notes.append(str(error))
        return
    extra = {"intent": intent}
    if row.get("scenario_str"):
        extra["scenario"] = str(row["scenario_str"])
    if row["speaker_sex"] in GENDERS:
        extra["gender"] = row["speaker_sex"]
    if (age := str(row["speaker_age"]).strip()).isdecimal() and len(age) <= _MOST_AGE:
        extra["age"] = str(int(age))
    text, speaker = row["utt"] or None, row["speaker_id"] or None
    labels = ManifestLabels(text=text, language=locale, speaker=speaker, extra=extra)
    listing.found.append(FoundClip(name, path, labels))


def _id(path: object, where: str) -> str:
    """Return the id of a clip whose published path is ``test/<name>.wav``."""
    try:
        return escape_path(PurePosixPath(str(path)).with_suffix("").as_posix().encode())
    except ValueError as error:
        raise LayoutError(f"{where}: the path {str(path)[:60]!r} makes no clip id: {error}") from error
