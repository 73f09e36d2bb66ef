"""Files whose names say all that is known of them, such as ``Actor_01/03-01-06-01-02-01-01.wav``.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``marker`` (a file or folder that tells
the dataset's own folder), ``inner`` (folders that it may lie in), ``folder`` (where the audio lies), ``pattern`` (a
regular expression that a file's path below ``folder`` must fit; its groups are the columns), and ``join``, ``on`` and
``join_columns`` of :mod:`codec_superb.data_manifests.indexers.described_files`. Other audio there is extra.
"""

from __future__ import annotations

import re

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.described import described_id, described_labels, option
from codec_superb.data_manifests.indexers.described_tables import Joins
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, audio_below, locate


def find(request: IndexRequest) -> Listing:
    """List the files whose names can be read. Raises LayoutError where two make the same id."""
    base = locate(request.root, option(request, "marker"), option(request, "inner"))
    folder = base.joinpath(*option(request, "folder"))
    pattern = re.compile(option(request, "pattern")[0])
    listing, joins = Listing(base), Joins(request, base)
    seen: set[str] = set()
    for path in audio_below(folder):
        name = path.relative_to(folder).as_posix()
        match = pattern.fullmatch(name)
        try:
            row = match and joins.described({**match.groupdict(), "_file": name}, name)
        except LayoutError:  # a code that the publisher does not have: a file of the user's
            match = row = None
        if match is None:
            listing.extra.append(name)
        if not row:
            continue
        clip = described_id(request, row, name, "{_file|stem}")
        if clip in seen:
            raise LayoutError(f"{path}: the clip {clip} was found before, as another file; leave one of them")
        seen.add(clip)
        listing.found.append(FoundClip(clip, path, described_labels(request, row, name)))
    listing.notes += joins.notes()
    return listing
