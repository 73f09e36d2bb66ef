"""Files whose names say all that is known of them, such as ``Actor_01/03-01-06-01-02-01-01.wav``.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``marker`` (a file or folder that tells
the dataset's own folder), ``inner`` (folders that it may lie in), ``folder`` (where the audio lies), ``pattern`` (a
regular expression that a file's path below ``folder`` must fit; its groups are the columns), and ``join``, ``on`` and
``join_columns`` of :mod:`codec_superb.data_manifests.indexers.described_files`. Other audio there is extra.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.described import described_id, described_labels, option
from codec_superb.data_manifests.indexers.described_tables import Joins
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, Part, audio_below, locate
from codec_superb.data_manifests.indexers.stored_files import (
    NamedFile,
    base_of,
    listed_audio,
    parts_of_files,
    tables_here,
)


def find(request: IndexRequest) -> Listing:
    """List the files whose names can be read. Raises LayoutError where two make the same id."""
    base = locate(request.root, option(request, "marker"), option(request, "inner"))
    folder = base.joinpath(*option(request, "folder"))
    listing, joins = Listing(base), Joins(request, base)
    for path in audio_below(folder):
        found = _read(request, joins, path.relative_to(folder).as_posix(), path)
        if isinstance(found, str):
            listing.extra.append(found)
        elif found:
            listing.found.append(found)
    for clip, files in Counter(found.id for found in listing.found).items():
        if files > 1:
            raise LayoutError(f"{folder}: the clip {clip} was found before, as another file; leave one of them")
    listing.notes += joins.notes()
    return listing


def parts(request: IndexRequest) -> Iterator[Part]:
    """Yield the files below the request's URL, some hundred at once: none is held longer than its part."""
    base = base_of(request, option(request, "marker"), option(request, "inner"))
    folder, extra = "/".join([base, *option(request, "folder")]), list[str]()
    with tables_here(base, option(request, "join")) as tables:
        joins = Joins(request, tables)

        def named() -> Iterator[NamedFile]:
            for found in listed_audio(folder, AUDIO_SUFFIXES):
                name = found.url[len(folder) + 1 :]
                clip = _read(request, joins, name, Path(found.url[len(request.url) + 1 :]))
                if isinstance(clip, str):
                    extra.append(clip)
                elif clip:
                    yield NamedFile(clip, found)

        yield from parts_of_files(named())
        yield Part("", folder, lambda _: iter(()), tuple(joins.notes()), tuple(extra))


def _read(request: IndexRequest, joins: Joins, name: str, path: Path) -> FoundClip | str | None:
    """Return the clip of a file; its name where that cannot be read, None where the manifest leaves it out."""
    match = re.fullmatch(option(request, "pattern")[0], name)
    try:
        row = match and joins.described({**match.groupdict(), "_file": name}, name)
    except LayoutError:  # a code that the publisher does not have: a file of the user's
        return name
    if match is None:
        return name
    if not row:
        return None
    return FoundClip(described_id(request, row, name, "{_file|stem}"), path, described_labels(request, row, name))
