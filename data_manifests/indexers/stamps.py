"""Tux Paint's stamps in Debian's package: spoken names of pictures, and the names as texts.

A stamp ``<folders>/<name>`` has a picture, a text ``<name>.txt`` (English in the first line, then ``<locale>.utf8=``
lines) and recordings ``<name>_desc.ogg`` (English) and ``<name>_desc_<language>.ogg``. Two sets of clips are taken:

- the English recordings of animals that have a text, with what retrieval, reranking and classification ask for:
  ``passage`` names the stamps whose text is the spoken one, ``candidates`` a list of near texts, ``intent`` the folder
  (birds, mammals, …), which stands in for what an utterance is about;
- of each language of :data:`VOICES` the shortest recordings that are long enough to tell a voice: clips of nearly one
  length, which therefore says nothing. The package does not name its speakers: a language is taken as one voice.

The files are stored as they are in the package, so that their hashes are the publisher's. The texts are GPL-2 as the
recordings are, and are read here, never shipped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate
from codec_superb.data_manifests.indexers.nearest_texts import candidate_rows
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.packages.archive import select_members

PACKAGE = "tuxpaint-stamps-default_*_all.deb"
VOICES = ("be", "bg", "ca", "da", "el", "es", "fr", "ro", "ru")
"""Every language with at least :data:`OF_A_VOICE` recordings of :data:`VOICE_SECONDS` and a text."""
OF_A_VOICE = 30
VOICE_SECONDS = 1.2
ATTRIBUTION = "Bill Kendrick and contributors, Tux Paint stamps"

_STAMPS = "usr/share/tuxpaint/stamps/"
_ANIMALS = "animals/"
_MEMBER = re.compile(re.escape(_STAMPS) + r"([\w./-]+?)(?:\.txt|_desc(?:_([a-z]{2}))?\.ogg)")

_Voice = dict[tuple[float, str], bytes]
"""Seconds and stamp -> recording."""


@dataclass(slots=True)
class _Package:
    """What one pass over the package keeps."""

    texts: dict[str, str] = field(default_factory=dict)
    """Stamp -> English text."""
    english: dict[str, bytes] = field(default_factory=dict)
    """Stamp of an animal -> its recording."""
    voices: dict[str, _Voice] = field(default_factory=lambda: {language: {} for language in VOICES})
    """Language -> its recordings."""


def find(request: IndexRequest) -> Listing:
    """Store the recordings and list them with their labels, the index of texts, candidates and classes.

    Raises LayoutError when the package is not in the folder, FetchError and ManifestError when it cannot be read.
    """
    package = _read(next(locate(request.root, PACKAGE).glob(PACKAGE)))
    listing = Listing(request.store)
    english = {stamp: content for stamp, content in package.english.items() if stamp in package.texts}
    relevant = _by_text(package.texts)
    for stamp, content in english.items():
        text = package.texts[stamp]
        extra = {"passage": "\n".join(relevant[text]), "candidates": text, "intent": stamp.split("/")[1]}
        _store(listing, f"en/{stamp}", content, ManifestLabels(text=text, language="en", extra=extra))
    for language, recordings in package.voices.items():
        for (_, stamp), content in recordings.items():
            labels = ManifestLabels(language=language, speaker=language)
            _store(listing, f"{language}/{stamp}", content, labels)
    spoken = sorted({package.texts[stamp] for stamp in english})
    listing.collections = {
        "passages": [CollectionRow(stamp, text=text) for stamp, text in sorted(package.texts.items())],
        "candidates": list(candidate_rows(spoken, sorted(relevant))),
        "labels": [CollectionRow(name, text=name) for name in sorted({stamp.split("/")[1] for stamp in english})],
    }
    return listing


def _read(path: Path) -> _Package:
    """Read the package once, keeping the recordings of the clips and all texts."""
    kept = _Package()
    for name, content in select_members(path, lambda name: _MEMBER.fullmatch(name) is not None):
        match = _MEMBER.fullmatch(name)
        assert match is not None
        stamp, language = match[1], match[2]
        if name.endswith(".txt"):
            kept.texts[stamp] = _first_line(content, f"{path.name}: {name}")
        elif language is None and stamp.startswith(_ANIMALS):
            kept.english[stamp] = content
        elif language in kept.voices and (seconds := _seconds(content)) >= VOICE_SECONDS:
            _keep_shortest(kept.voices[language], (seconds, stamp), content)
    return kept


def _keep_shortest(kept: _Voice, key: tuple[float, str], content: bytes) -> None:
    """Keep the :data:`OF_A_VOICE` shortest recordings, whatever the order of the archive."""
    kept[key] = content
    if len(kept) > OF_A_VOICE:
        del kept[max(kept)]


def _seconds(content: bytes) -> float:
    import soundfile

    try:
        return float(soundfile.info(io.BytesIO(content)).duration)
    except soundfile.LibsndfileError:
        return 0.0


def _first_line(content: bytes, where: str) -> str:
    try:
        text = content.decode("utf-8").split("\n", 1)[0].strip()
    except UnicodeDecodeError as error:
        raise LayoutError(f"{where} is no UTF-8 text: {error}") from error
    if not text:
        raise LayoutError(f"{where}: expected the English text in the first line, got an empty one")
    return text


def _by_text(texts: Mapping[str, str]) -> dict[str, list[str]]:
    stamps: dict[str, list[str]] = {}
    for stamp, text in sorted(texts.items()):
        stamps.setdefault(text, []).append(stamp)
    return stamps


def _store(listing: Listing, name: str, content: bytes, labels: ManifestLabels) -> None:
    path = listing.root / f"{name}.ogg"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    listing.add(path, labels, below=listing.root, attribution=ATTRIBUTION)
