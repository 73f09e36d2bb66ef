"""Publishers' shards and tables in a store: found by pattern, their sounds known by place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from codec_superb.data_manifests.audio.webdataset import expand, shards_below
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.objects.sound import Measured, StoredSound
from codec_superb.data_manifests.objects.store_path import Place, StorePath
from codec_superb.data_manifests.objects.stores import Found, store_of


class KeptClip(NamedTuple):
    """A clip that stays where it is published."""

    sound: StoredSound
    measured: Measured


def objects_below(url: str) -> list[Found]:
    """Return all objects below a URL, in the order of their names. Raises LayoutError where there are none."""
    store, key = store_of(url)
    found = sorted(each for each in store.listed(key) if not each.url.endswith("/"))
    if not found:
        raise LayoutError(f"{url}: expected a dataset, found no object below it")
    return found


def fitting(found: list[Found], url: str, pattern: str) -> list[Found]:
    """Return the objects whose name below ``url`` fits a pattern."""
    fits, begin = pattern_of(pattern), f"{url}/"
    return [each for each in found if each.url.startswith(begin) and fits.fullmatch(each.url[len(begin) :])]


def pattern_of(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a shell pattern: ``*`` ends at a slash, ``**/`` does not."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    made = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(made.get(part, re.escape(part)) for part in parts))


def shards_at(root: Place, pattern: str) -> tuple[list[Place], list[Place]]:
    """Return the shards of a pattern that lie below ``root``, and those that do not, as :func:`shards_below` does.

    In a store ``.tar`` is taken for ``.tar.gz`` where that is not there: shards that were unpacked.
    """
    if isinstance(root, Path):
        here, absent = shards_below(root, pattern)
        return list(here), list(absent)
    there, found, missing = objects_below(root.url), list[Place](), list[Place]()
    for name in expand(pattern):
        fits = fitting(there, root.url, name) or fitting(there, root.url, name.removesuffix(".gz"))
        found += [StorePath(each.url, each) for each in fits]
        missing += [] if fits else [root / name]
    return found, missing
