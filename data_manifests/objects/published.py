"""Publishers' shards and tables in a store: found by pattern, and their sounds taken without being kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from codec_superb.data_manifests.errors import LayoutError, ManifestError
from codec_superb.data_manifests.objects.sound import Measured, StoredSound, measure
from codec_superb.data_manifests.objects.stores import Found, store_of


class KeptClip(NamedTuple):
    """A clip that stays where it is published."""

    sound: StoredSound
    measured: Measured


class StoredPlaces:
    """In the place of an :class:`~codec_superb.data_manifests.audio.store.AudioStore`: notes where each sound lies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: set[str] = set()

    def take(self, clip_id: str, sound: StoredSound, content: bytes, where: str) -> tuple[Path, KeptClip]:
        """Measure a sound; return the name that it would be stored under, and the clip.

        Raises AudioFileError for what is no audio, ManifestError for an id that came before.
        """
        if clip_id in self._seen:
            raise ManifestError(f"the clip id {clip_id!r} is given twice")
        self._seen.add(clip_id)
        return self.folder / f"{clip_id}.flac", KeptClip(sound, measure(content, sound.suffix, where))


def objects_below(url: str) -> list[Found]:
    """Return all objects below a URL, in the order of their names. Raises LayoutError where there are none."""
    store, key = store_of(url)
    found = sorted(each for each in store.listed(key) if not each.url.endswith("/"))
    if not found:
        raise LayoutError(f"{url}: expected a dataset, found no object below it")
    return found


def fitting(found: list[Found], url: str, pattern: str) -> list[Found]:
    """Return the objects whose name below ``url`` fits a pattern: ``*`` ends at a slash, ``**/`` does not."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    made = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    name = re.compile(re.escape(f"{url}/") + "".join(made.get(part, re.escape(part)) for part in parts))
    return [each for each in found if name.fullmatch(each.url)]
