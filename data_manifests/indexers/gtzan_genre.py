"""GTZAN genre collection: ``genres/<genre>/<genre>.NNNNN.{au,wav}``, 10 genres of 100 clips.

A common copy calls the folder ``genres_original`` and has a ``jazz.00054.wav`` that cannot be decoded; the ``.au`` file
of the original archive is intact. The clip stays in the list, and a run counts it as failed.
"""

from __future__ import annotations

import re

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.manifest import ManifestLabels

# Tzanetakis and Cook, 2002; repeated and mislabelled excerpts (Sturm, arXiv:1306.1461) are kept as published
GENRES = ("blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock")
CLIPS_PER_GENRE = 100
_CLIP = re.compile(r"([a-z]+)\.(\d{5})")


def find(request: IndexRequest) -> Listing:
    """List all clips with their genre."""
    markers = tuple(f"{genre}/{genre}.*" for genre in GENRES)
    base = locate(request.root, markers, ("genres", "genres_original", "Data/genres_original"))
    listing = Listing(base)
    for genre in GENRES:
        numbers = set()
        for path in audio_below(base / genre, {".wav", ".au"}):
            match = _CLIP.fullmatch(path.stem)
            if match is None or match[1] != genre or int(match[2]) >= CLIPS_PER_GENRE:
                listing.extra.append(path.relative_to(base).as_posix())
                continue
            numbers.add(int(match[2]))
            listing.add(path, ManifestLabels(events=(genre,), extra={"genre": genre}), below=base)
        absent = sorted(set(range(CLIPS_PER_GENRE)) - numbers)
        listing.missing.extend(f"{genre}/{genre}.{number:05d}" for number in absent)
    return listing
