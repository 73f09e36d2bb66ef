"""Files that lie in a store one by one: which there are, the tables among them, and the parts that are read at once."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from codec_superb.data_manifests.audio.audio_file import read_header
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Part
from codec_superb.data_manifests.objects.published import KeptClip, pattern_of
from codec_superb.data_manifests.objects.sound import Measured, StoredSound
from codec_superb.data_manifests.objects.store_path import StorePath
from codec_superb.data_manifests.objects.stores import Found, store_of

FILES = 500
"""Of a part, in the mean. Where one ends follows from the names, so that a file more or less changes one part."""
_AT_ONCE = 8
"""Files that are read at the same time."""
_WILD = re.compile(r"[*?]|\{[^}]*\}")


class NamedFile(NamedTuple):
    """A clip, and the object that it is; None where there is none of that name."""

    clip: FoundClip
    found: Found | None


class StoredNames:
    """The objects below a URL by their names, for whoever looks for files of a local folder in their place."""

    def __init__(self, base: Path, found: Mapping[str, Found]) -> None:
        self._base, self.found = base, found
        self._names = sorted(found)

    def has(self, path: Path) -> bool:
        """Whether a file is there."""
        return self.of(path) is not None

    def of(self, path: Path) -> Found | None:
        """Return the object in the place of a local file."""
        return self.found.get(path.relative_to(self._base).as_posix())

    def first(self, pattern: str) -> Path | None:
        """Return the first file, in the order of names, that fits a pattern."""
        fits, begin = pattern_of(pattern), _WILD.split(pattern, maxsplit=1)[0]
        for name in self._names[bisect_left(self._names, begin) :]:
            if not name.startswith(begin):
                break
            if fits.fullmatch(name):
                return self._base / name
        return None


def base_of(request: IndexRequest, markers: Iterable[str], inner: Iterable[str]) -> str:
    """Return the URL below which one of ``markers`` lies: that of the request, or of one of ``inner`` below it.

    Raises LayoutError where it is nowhere.
    """
    places = [request.url, *(f"{request.url}/{name}" for name in inner)]
    wanted = tuple(markers)
    for place in places:
        if any(_is_there(place, marker) for marker in wanted):
            return place
    raise LayoutError(
        f"{request.url} does not have its publisher's layout: expected {' or '.join(wanted)} in {' or '.join(places)}"
    )


@contextmanager
def tables_here(base: str, patterns: Iterable[str]) -> Iterator[Path]:
    """Fetch the objects below a URL whose names fit patterns, into a folder that is deleted behind the body.

    A place of the folder in the text of a LayoutError is told by its URL.
    """
    with TemporaryDirectory(prefix="codec-superb-") as name:
        folder = Path(name)
        for found in {each for pattern in patterns for each in _fitting(base, pattern)}:
            path = folder / found.url[len(base) + 1 :]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(StorePath(found.url, found).read_bytes())
        try:
            yield folder
        except LayoutError as error:
            raise LayoutError(str(error).replace(name, base)) from error


def listed_audio(url: str, suffixes: frozenset[str]) -> Iterator[Found]:
    """Yield the audio below a URL, in the order of a listing; hidden names are passed over, as in a folder."""
    store, key = store_of(url)
    for found in store.listed(key):
        parts = found.url[len(url) + 1 :].split("/")
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
        if not hidden and Path(parts[-1]).suffix.lower() in suffixes:
            yield found


def parts_of_files(clips: Iterable[NamedFile]) -> Iterator[Part]:
    """Divide clips into parts; those without an object are noted when a part is read."""
    held: list[NamedFile] = []
    for named in clips:
        held.append(named)
        if zlib.crc32(named.clip.id.encode()) % FILES == 0:
            yield _part(held)
            held = []
    if held:
        yield _part(held)


def _part(held: list[NamedFile]) -> Part:
    digest = hashlib.sha256()
    for clip, found in held:
        said = [clip.id, clip.path.as_posix(), clip.category, clip.labels.model_dump(mode="json"), found]
        digest.update(json.dumps(said).encode())
    return Part(digest.hexdigest(), held[-1].clip.id, partial(_read, held))


def _read(held: list[NamedFile], report: ShardReport) -> Iterator[FoundClip]:
    for clip, found in held:
        if found is None:
            report.note("a file that is not there", clip.id)
    there = [(clip, found) for clip, found in held if found is not None]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(lambda named: _measured(*named), there)


def _measured(clip: FoundClip, found: Found) -> FoundClip:
    sound = StoredSound(found.url, found.size, found.version)
    with sound.open() as file:
        content = file.read()
    rate, frames = read_header(_Content(content)) or (0, 0)
    measured = Measured(hashlib.sha256(content).hexdigest(), rate, frames, len(content))
    return replace(clip, kept=KeptClip(sound, measured))


class _Content(NamedTuple):
    """What was read of a file, for whoever opens files."""

    content: bytes

    def open(self, _mode: str = "rb", /) -> BinaryIO:
        return io.BytesIO(self.content)


def _is_there(base: str, pattern: str) -> bool:
    """Whether a file or folder below a URL fits a pattern."""
    if _WILD.search(pattern) is None:
        return StorePath(f"{base}/{pattern}").exists()
    fits, (store, key) = pattern_of(pattern), store_of(base)
    names = (PurePosixPath(found.url[len(base) + 1 :]) for found in store.listed(key))
    return any(fits.fullmatch(place.as_posix()) for name in names for place in (name, *name.parents))


def _fitting(base: str, pattern: str) -> Iterator[Found]:
    """Yield the objects below a URL that a pattern fits, in which ``{column}`` stands for anything."""
    wild = _WILD.search(pattern)
    if wild is None:
        place = StorePath(f"{base}/{pattern}")
        if place.is_file():
            yield place.state()
        return
    folder = f"{base}/{pattern[: wild.start()]}".rpartition("/")[0]
    fits = re.compile(".*".join(pattern_of(piece).pattern for piece in re.split(r"\{[^}]*\}", pattern)))
    store, key = store_of(folder)
    yield from (each for each in store.listed(key) if fits.fullmatch(each.url[len(base) + 1 :]))
