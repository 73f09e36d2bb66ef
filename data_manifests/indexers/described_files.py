"""Tables that name files: CSV, TSV, JSON or JSON lines whose columns the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``table`` (one or several, relative to
the dataset's folder; shell patterns), ``file`` (template of the audio file's path, of several the first that is there;
with a ``*`` the first that fits), ``folder`` (where audio that no row names counts as extra), ``inner`` (folders that
the dataset may lie in), ``columns`` (of a table without a first line that names them), ``delimiter`` (default by the
name: a tab for ``.tsv`` and ``.txt``; ``words``: white space, and the last column has the rest of the line),
``records`` (key of the rows in a JSON object), ``category``, ``start`` and ``end`` (templates, seconds: the clip is cut
out of the file).

``join`` names further tables (templates), whose columns are added to rows with the same cell in ``on``;
``join_columns`` are theirs, one text for each, where no first line names them. What ``keep`` and the like say is of all
these columns. The column ``_table`` is the table's name without its suffix, ``_folder`` its folder, ``_row`` the row's
number, ``_audio`` the name of a file that was found by its ``*``. In tables with tabs quotes are letters, as their
publishers write them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, get_args

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.audio.recording import Recording
from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.described import Row, described_id, described_labels, fill, joined, option
from codec_superb.data_manifests.indexers.described_tables import Joins, read_table
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, Part, audio_below, locate
from codec_superb.data_manifests.indexers.stored_files import (
    NamedFile,
    StoredNames,
    base_of,
    listed_audio,
    parts_of_files,
    tables_here,
)
from codec_superb.data_manifests.progress import ProgressUpdate

_Span = tuple[float, float]


@dataclass(slots=True)
class _Named:
    """What the tables name, by the clips' ids."""

    clips: dict[str, FoundClip] = field(default_factory=dict)
    spans: dict[str, _Span] = field(default_factory=dict)
    """Start and end in seconds of clips that are cut out of a file."""


def find(request: IndexRequest) -> Listing:
    """List the files that the tables name, with their labels; clips with times are cut and stored.

    Raises LayoutError when a table is not there, or names the file and line of a row that makes no sense.
    """
    base = locate(request.root, option(request, "table")[0], option(request, "inner"))
    cut = bool(option(request, "start"))
    listing = Listing(request.store if cut else base, stored=cut)
    named = _named(request, base, _Folder(base), listing.notes)
    present = []
    for clip in (named.clips[name] for name in sorted(named.clips)):
        if clip.path.is_file():
            present.append(clip)
        else:
            listing.missing.append(clip.id)
    if cut:
        _cut(request, listing, present, named.spans)
    else:
        listing.found += present
    paths = {clip.path for clip in named.clips.values()}
    for folder in option(request, "folder"):
        listing.extra += [p.relative_to(base).as_posix() for p in audio_below(base / folder) if p not in paths]
    return listing


def parts(request: IndexRequest) -> Iterator[Part]:
    """Yield the files below the request's URL that the tables there name, some hundred at once.

    What the tables say is held in memory, as of a folder. Raises LayoutError as :func:`find` does, and where clips are
    cut.
    """
    if option(request, "start"):
        raise LayoutError(f"{request.url}: clips are cut out of recordings on this machine: fetch the dataset")
    wanted, notes = option(request, "table"), list[str]()
    base = base_of(request, wanted[:1], option(request, "inner"))
    there = {found.url[len(base) + 1 :]: found for found in listed_audio(base, AUDIO_SUFFIXES)}
    with tables_here(base, (*wanted, *option(request, "join"))) as tables:
        files = StoredNames(tables, there)
        named = _named(request, tables, files, notes)
        prefix = Path(base[len(request.url) + 1 :])
        clips = (named.clips[name] for name in sorted(named.clips))
        yield from parts_of_files(
            NamedFile(replace(clip, path=prefix / clip.path.relative_to(tables)), files.of(clip.path)) for clip in clips
        )
        taken = {clip.path.relative_to(tables).as_posix() for clip in named.clips.values()}
        folders = tuple(f"{folder}/".removeprefix("./") for folder in option(request, "folder"))
        extra = tuple(sorted(name for name in there if name.startswith(folders) and name not in taken))
        yield Part("", base, lambda _: iter(()), tuple(notes), extra)


class _Folder(NamedTuple):
    """The files of a local folder."""

    base: Path

    def has(self, path: Path) -> bool:
        """Whether a file is there."""
        return path.is_file()

    def first(self, pattern: str) -> Path | None:
        """Return the first file that fits a pattern."""
        return min(self.base.glob(pattern), default=None)


def _named(request: IndexRequest, base: Path, files: _Folder | StoredNames, notes: list[str]) -> _Named:
    """Return what the tables below ``base`` name."""
    joins, named = Joins(request, base), _Named()
    for path in _tables(base, option(request, "table"), notes):
        place = {"_table": path.stem, "_folder": path.parent.relative_to(base).as_posix()}
        for number, (where, written) in enumerate(read_table(request, path, option(request, "columns")), start=1):
            row = joins.described(_placed(request, base, files, {**written, **place, "_row": number}, where), where)
            if row is not None:
                _take(request, base, files, named, row, where)
    notes += joins.notes()
    return named


def _tables(base: Path, patterns: tuple[str, ...], notes: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        found = sorted(base.glob(pattern))
        if not found:
            notes.append(f"there is no {pattern} in {base}: its labels are missing")
        yield from found


def _placed(request: IndexRequest, base: Path, files: _Folder | StoredNames, row: Row, where: str) -> Row:
    if "*" not in option(request, "file")[0]:
        return row
    return {**row, "_audio": _file(request, base, files, row, where).name}


def _cut(request: IndexRequest, listing: Listing, clips: list[FoundClip], spans: dict[str, _Span]) -> None:
    recording: Recording | None = None
    with AudioStore(request.store) as store:
        # by file, so that one recording at a time is in memory
        for done, clip in enumerate(sorted(clips, key=lambda clip: clip.path), start=1):
            start, end = spans[clip.id]
            try:
                if recording is None or recording.path != clip.path:
                    recording = Recording(clip.path)
                listing.found.append(replace(clip, path=_stored(store, clip.id, recording, start, end)))
            except AudioFileError as error:
                listing.missing.append(clip.id)
                listing.notes.append(str(error))
            request.progress(ProgressUpdate("cut", done, len(clips), clip.id))


def _stored(store: AudioStore, name: str, recording: Recording, start: float, end: float) -> Path:
    return store.put_samples(name, f"{recording.digest} {start} {end}", lambda: recording.between(start, end))


def _take(request: IndexRequest, base: Path, files: _Folder | StoredNames, named: _Named, row: Row, where: str) -> None:
    path = _file(request, base, files, row, where)
    span = _span(request, row, where)
    written = {**row, "_file": path.relative_to(base).as_posix()}
    name = described_id(request, written, where, "{_file|stem}")
    labels = described_labels(request, written, where)
    known = named.clips.get(name)
    if known is None:
        named.clips[name] = FoundClip(name, path, labels, category=_category(request, row, where))
        named.spans[name] = span
    elif (known.path, named.spans[name]) != (path, span):
        raise LayoutError(f"{where}: the clip {name} was given before, of another file; download the table again")
    else:
        named.clips[name] = replace(known, labels=joined(known.labels, labels, where))


def _file(request: IndexRequest, base: Path, files: _Folder | StoredNames, row: Row, where: str) -> Path:
    paths = []
    for template in option(request, "file"):
        written = fill(template, row, where)
        if not written or Path(written).is_absolute() or ".." in Path(written).parts:
            raise LayoutError(f"{where}: expected a file below the folder, got {written[:80]!r}")
        found = files.first(written) if "*" in template else None
        paths.append(found or base / written)
    return next((path for path in paths if files.has(path)), paths[0])


def _span(request: IndexRequest, row: Row, where: str) -> _Span:
    """Return start and end of the clip in seconds; those of nothing where the manifest cuts no clips."""
    templates = [template for name in ("start", "end") for template in option(request, name)]
    if not templates:
        return 0.0, 0.0
    texts = [fill(template, row, where) for template in templates]
    try:
        start, end = map(float, texts)
    except ValueError:
        start = end = math.nan
    if not 0 <= start < end < math.inf:
        raise LayoutError(
            f"{where}: expected seconds from 0 on, the end after the start, got {' to '.join(texts)[:60]}"
        )
    return start, end


def _category(request: IndexRequest, row: Row, where: str) -> Category | None:
    for template in option(request, "category"):
        named = fill(template, row, where)
        for known in get_args(Category):
            if known == named:
                return known  # type: ignore[no-any-return]
        raise LayoutError(f"{where}: expected one of {', '.join(get_args(Category))}, got {named[:40]!r}")
    return None
