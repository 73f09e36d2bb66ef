"""The recordings of one locale: where each one's audio lies, and what the publisher says of it.

Audio lies in Parquet with the columns ``utt_id`` and ``waveform`` (a WAV file, as bytes or as ``{bytes, path}``),
whatever the files are called; or in files that the table ``utt_index`` names by ``index``, ``file:row``: Parquet
without ids, or ArrayRecord. Of Parquet only the row groups of the locale are read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.array_record import read_records
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.svq.tables import (
    Folder,
    groups_of,
    normal_locale,
    open_parquet,
    same_locale,
    text_of,
)

FACTS = ("text", "speaker_id", "speaker_age", "speaker_gender", "environment")
ENVIRONMENTS = ("background_speech", "clean", "media_noise", "traffic_noise")
_AUDIO = ("waveform", "audio")
_ROWS_AT_ONCE = 16
_INDEX = "utt_index"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording and its place."""

    id: str
    facts: Mapping[str, str]
    """The publisher's columns :data:`FACTS`; '' where unknown."""
    file: Path | None
    """None when the audio is not there."""
    group: int = 0
    """Row group of a Parquet file that names its rows."""
    row: int | None = None
    """Number of the record in a file that does not name them; None in one that does."""


def find_recordings(folder: Folder, locale: str) -> dict[str, Recording]:
    """Return the recordings of ``locale`` by id, sorted; no audio is read.

    Raises LayoutError when the folder has none, or one of them twice.
    """
    known: dict[str, dict[str, str]] = {}
    places: dict[str, Path] = {}
    for path, where, row in folder.rows(_INDEX, ("utt_id", "locale"), (*FACTS, "index"), locale=locale):
        name = text_of(row["utt_id"], where, "utt_id")
        known[name] = _facts(row, where)
        places[name] = path.parent / text_of(row.get("index"), where, "index")
    found: dict[str, Recording] = {}
    for recording in itertools.chain.from_iterable(_in_parquet(path, folder, locale) for path in folder.paths):
        if recording.id in found:
            raise LayoutError(
                f"the recording {recording.id} is in {found[recording.id].file} and in {recording.file}: give a folder "
                "with one version of the dataset"
            )
        facts = known.get(recording.id, {}) | {key: value for key, value in recording.facts.items() if value}
        found[recording.id] = Recording(recording.id, facts, recording.file, recording.group)
    for name in known.keys() - found.keys():
        found[name] = _by_place(name, known[name], places[name], folder.root)
    if not any(recording.file for recording in found.values()):
        raise LayoutError(
            f"{folder.root} has no recording of {locale}: expected Parquet files with the columns utt_id, locale and "
            f"waveform, or the files that {_INDEX}.jsonl names"
        )
    return dict(sorted(found.items()))


def read_audio(recordings: Mapping[str, Recording]) -> Iterator[tuple[Recording, bytes | None]]:
    """Yield each recording with its audio file's bytes, file by file; None where a file does not hold them."""
    there = sorted((r for r in recordings.values() if r.file), key=lambda r: (str(r.file), r.row is None, r.group))
    for (path, by_place), group in itertools.groupby(there, key=lambda r: (r.file, r.row is not None)):
        assert path is not None
        wanted = list(group)
        if not by_place:
            yield from _from_parquet(path, wanted)
        elif path.suffix == ".parquet":
            yield from _numbered(_all_rows(path), wanted)
        else:
            yield from _numbered(read_records(path), wanted)


def _in_parquet(path: Path, folder: Folder, locale: str) -> Iterator[Recording]:
    """Yield the recordings of a Parquet file with ids and audio; nothing for any other file."""
    if path.suffix != ".parquet":
        return
    file = open_parquet(path)
    names = file.schema_arrow.names
    place = normal_locale(path.relative_to(folder.root))
    if "utt_id" not in names or _audio_column(file) is None or not ("locale" in names or _names(place, locale)):
        return
    condition = next((name for name in ENVIRONMENTS if _names(place, name)), "")
    columns = [name for name in ("utt_id", "locale", *FACTS) if name in names]
    for group in groups_of(file, locale):
        for row in file.read_row_group(group, columns=columns).to_pylist():
            if same_locale(row.get("locale"), locale):
                where = f"{path}, recording {row['utt_id']}"
                facts = _facts({"environment": condition} | row, where)
                yield Recording(text_of(row["utt_id"], where, "utt_id"), facts, path, group)


def _names(place: str, word: str) -> bool:
    """Whether a path has the word in one of its parts."""
    return re.search(rf"(?<![a-z0-9]){word}(?![a-z0-9])", place) is not None


def _audio_column(file: Any) -> str | None:
    """Return the column of audio files: of bytes, or of structures that hold bytes."""
    for name in _AUDIO:
        if name in file.schema_arrow.names:
            kind = str(file.schema_arrow.field(name).type)
            if kind in {"binary", "large_binary"} or (kind.startswith("struct<") and "bytes:" in kind):
                return name
    return None


def _by_place(name: str, facts: dict[str, str], place: Path, root: Path) -> Recording:
    stem, _, row = place.name.rpartition(":")
    # what a table names outside of the folder is not read
    inside = place.resolve().is_relative_to(root.resolve()) and row.isdecimal()
    for suffix in (".parquet", ".array_record"):
        if inside and (path := place.with_name(f"{stem}{suffix}")).is_file():
            return Recording(name, facts, path, row=int(row))
    return Recording(name, facts, None)


def _facts(row: Mapping[str, Any], where: str) -> dict[str, str]:
    return {name: text_of(row.get(name), where, name) for name in FACTS}


def _from_parquet(path: Path, wanted: list[Recording]) -> Iterator[tuple[Recording, bytes | None]]:
    file = open_parquet(path)
    column = _audio_column(file)
    left = {recording.id: recording for recording in wanted}
    for group in sorted({recording.group for recording in wanted}):
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=["utt_id", column]):
            for row in batch.to_pylist():
                recording = left.pop(text_of(row["utt_id"], str(path), "utt_id"), None)
                if recording is not None:
                    yield recording, _bytes(row[column])


def _all_rows(path: Path) -> Iterator[bytes | None]:
    file = open_parquet(path)
    column = _audio_column(file)
    if column is None:
        raise LayoutError(
            f"{path}: expected a column waveform of audio files, got {', '.join(file.schema_arrow.names)}"
        )
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[column]):
        yield from (_bytes(row[column]) for row in batch.to_pylist())


def _numbered(contents: Iterator[bytes | None], wanted: list[Recording]) -> Iterator[tuple[Recording, bytes | None]]:
    """Yield the wanted recordings of a file by their numbers; stops reading after the last one."""
    left = sorted(wanted, key=lambda recording: recording.row or 0, reverse=True)
    for number, content in enumerate(contents):
        while left and left[-1].row == number:
            yield left.pop(), content
        if not left:
            return
    for recording in left:
        yield recording, None


def _bytes(cell: Any) -> bytes | None:
    content = cell.get("bytes") if isinstance(cell, dict) else cell
    return content if isinstance(content, bytes) else None
