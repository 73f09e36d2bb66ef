"""QUESST 2014: ``quesst14Database/{Audio,dev_queries,eval_queries}/*.wav``, languages in ``scoring/*.lst``.

Each of the three lists ``scoring/language_key_{utterances,dev,eval}.lst`` has one line
``quesst14Database/Audio/quesst14_00001.wav albanian`` per file.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate, present_splits, take_listed
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

KEYS = {"Audio": "utterances", "dev_queries": "dev", "eval_queries": "eval"}
"""Folder of the audio -> name of its language key."""

LANGUAGES = {"albanian": "sq", "basque": "eu", "czech": "cs", "nnenglish": "en", "romanian": "ro", "slovak": "sk"}
"""The publisher's names; ``nnenglish`` is English of speakers with another mother tongue."""


def find(request: IndexRequest) -> Listing:
    """List utterances and queries with their languages."""
    base = locate(request.root, "scoring/language_key_utterances.lst", ("quesst14Database",))
    listing = Listing(base)
    for folder in present_splits(base, KEYS, listing):
        key = base / "scoring" / f"language_key_{KEYS[folder]}.lst"
        take_listed(listing, base / folder, _labels(key, folder), below=base)
    return listing


def _labels(key: Path, folder: str) -> dict[str, ManifestLabels]:
    labels: dict[str, ManifestLabels] = {}
    for number, line in read_lines(key):
        fields = line.split()
        path = PurePosixPath(fields[0])
        if len(fields) != 2 or path.parent.name != folder or fields[1] not in LANGUAGES:  # noqa: PLR2004 - its fields
            raise LayoutError(
                f"{key} line {number}: expected quesst14Database/{folder}/NAME.wav and one of "
                f"{', '.join(LANGUAGES)}, got {line!r}"
            )
        if path.name in labels:
            raise LayoutError(f"{key} line {number}: {path.name} is given twice")
        extra = {"part": folder, "published_language": fields[1]}
        labels[path.name] = ManifestLabels(language=LANGUAGES[fields[1]], extra=extra)
    return labels
