"""What fetching a published dataset takes, before anything is fetched: files, bytes, place, licence."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.files import in_words
from codec_superb.data_manifests.home import published_home
from codec_superb.data_manifests.manifest import Archive, Download, HubFolder, IndexedSource, Manifest
from codec_superb.data_manifests.packages.index_client import IndexClient
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings
from codec_superb.data_manifests.published.hub_folder import HubFiles, list_files
from codec_superb.data_manifests.published.kept import is_there, note_name, read_lock
from codec_superb.data_manifests.published.unpack import ARCHIVES

STORE = "archives"
"""Folder, in that of the download, of the archives themselves."""


@dataclass(frozen=True, slots=True)
class Item:
    """An archive with its parts in the order in which they are read, or a plain file."""

    archive: Archive
    parts: tuple[Archive, ...]
    note: str
    """Name of the note about what lies there of it."""
    done: bool
    """Whether all that is needed of it lies in the folder already."""

    @property
    def is_archive(self) -> bool:
        """Whether it is unpacked, rather than put where it belongs."""
        return self.archive.filename.endswith(ARCHIVES)


@dataclass(frozen=True, slots=True)
class Plan:
    """What :func:`codec_superb.data_manifests.published.prepare.fetch` will do."""

    manifest: Manifest
    download: Download
    folder: Path
    items: tuple[Item, ...]
    hub: HubFiles | None
    """Files of the hub; None where there are none, or all of them lie in the folder already."""
    hub_note: str
    sizes: dict[str, int | None]
    """Bytes still to come, by file; None where nobody states them."""
    rounded: bool
    """Whether one of the sizes is as the publisher rounds it."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to fetch or to unpack."""
        return all(item.done for item in self.items) and self.hub is None

    @property
    def bytes(self) -> int:
        """What is still to come, as far as it is known."""
        return sum(size or 0 for size in self.sizes.values())

    @property
    def size(self) -> str:
        """What is still to come, in words."""
        if all(size == 0 for size in self.sizes.values()):
            return "nothing more"
        return size_in_words(self.sizes.values(), rounded=self.rounded)

    def lines(self) -> list[str]:
        """Return what a user is told before anything is fetched."""
        return _lines(self.manifest, self.folder, self.items, self.size)


def _lines(manifest: Manifest, folder: Path, items: Sequence[Item], size: str) -> list[str]:
    hashes, agreement = _without_hash(items), manifest.download.agreement if manifest.download else ""
    lines = [
        f"{manifest.title}: {size} from {manifest.homepage}",
        f"  licence: {manifest.licence}",
        f"  into: {folder} ({in_words(free_bytes(folder))} free)",
    ]
    lines += [f"  {agreement}"] if agreement else []
    lines += [f"  no hash is published of {', '.join(hashes)}: the first one is kept and held to"] if hashes else []
    return lines


def _say_nothing(_: Sequence[str]) -> None:
    pass


def plan(
    manifest: Manifest, folder: Path | None = None, *, say: Callable[[Sequence[str]], None] = _say_nothing
) -> Plan:
    """Return what is left to fetch for a dataset with a ``download``; servers are asked for sizes that nobody states.

    ``folder`` is the place for it, by default one below ``CODEC_SUPERB_HOME`` that all datasets of the layout share.
    ``say`` gets what is known before the first server is asked: the lines of the plan, with the size as it is stated.
    Raises DatasetError for a dataset that is not offered to everybody, FetchError where the hub does not answer.
    """
    download = manifest.download
    if download is None:
        raise DatasetError(f"{manifest.title} is not offered to everybody")
    place = folder.expanduser().absolute() if folder else default_folder(manifest)
    items = tuple(_items(download, place))
    told = cache(lambda: say(_lines(manifest, place, items, stated_size(manifest))))  # once
    note, hub = _hub(download.hub, place, told) if download.hub else ("", None)
    left = [part for item in items if not item.done for part in item.parts]
    sizes = {part.filename: _left(part, place, told) for part in left}
    if hub:
        sizes |= {name: size for name, size in hub.sizes.items() if not (place / name).exists()}
    rounded = any(not part.size and part.about for part in left)
    return Plan(manifest, download, place, items, hub, note, sizes, rounded)


def default_folder(manifest: Manifest) -> Path:
    """Return the folder that a download goes to unless the user names one."""
    layout = manifest.source.layout if isinstance(manifest.source, IndexedSource) else manifest.name
    return published_home() / (manifest.name if ":" in layout else layout)


def stated_size(manifest: Manifest) -> str:
    """Return the size of a download as its manifest states it, in words; nobody is asked."""
    archives = manifest.download.archives if manifest.download else ()
    return size_in_words([a.size or a.about for a in archives], rounded=any(not a.size and a.about for a in archives))


def size_in_words(sizes: Iterable[int | None], *, rounded: bool) -> str:
    """Return bytes in words: ``about 15.0 GB``, ``346.7 MB and 2 files of unknown size``."""
    every = list(sizes)
    known, unknown = [size for size in every if size is not None], every.count(None)
    if not known:
        return "size not known"
    words = f"{'about ' if rounded else ''}{in_words(sum(known))}"
    return f"{words} and {unknown} file{'s' * (unknown > 1)} of unknown size" if unknown else words


def free_bytes(folder: Path) -> int:
    """Return the room where ``folder`` lies, or will lie."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(there).free


def part_of(archive: Archive) -> str | None:
    """Return the name of the zip file that ``archive`` is an earlier part of; None where it is none."""
    stem, dot, end = archive.filename.rpartition(".")
    return f"{stem}.zip" if dot and end.startswith("z") and end[1:].isdecimal() else None


def _items(download: Download, folder: Path) -> Iterator[Item]:
    for archive in download.archives:
        if part_of(archive):
            continue
        name = archive.filename
        earlier = sorted((a for a in download.archives if part_of(a) == name), key=lambda a: a.filename)
        hashes = [part.sha256 or part.md5 for part in (*earlier, archive)]
        note = note_name(name, hashes, archive.members, archive.inner, archive.into)
        yield Item(archive, (*earlier, archive), note, is_there(folder, note))


def _hub(hub: HubFolder, folder: Path, before_asking: Callable[[], None]) -> tuple[str, HubFiles | None]:
    kept = read_lock(folder).files.get(hub.repo)
    commit = hub.revision or (kept.commit if kept else "")
    note = note_name(hub.repo, commit, hub.files)
    if commit and is_there(folder, note):
        return note, None
    before_asking()
    found = list_files(hub, commit)
    return note_name(hub.repo, found.commit, hub.files), found


def _left(archive: Archive, folder: Path, before_asking: Callable[[], None]) -> int | None:
    """Return how many bytes of a file are still to come; its server is asked where no size is stated."""
    store = folder / (STORE if archive.filename.endswith(ARCHIVES) or part_of(archive) else archive.into)
    whole, part = store / archive.filename, store / f"{archive.filename}.part"
    if whole.is_file() and archive.size in {None, whole.stat().st_size}:
        return 0
    size = archive.size or archive.about
    if not size:
        before_asking()
        size = _asked(archive)
    return max(0, size - (part.stat().st_size if part.is_file() else 0)) if size else None


def _asked(archive: Archive) -> int | None:
    with IndexClient(archive.url, read_pip_settings()) as client:
        return next((size for url in (archive.url, *archive.mirrors) if (size := client.size(url))), None)


def _without_hash(items: Iterable[Item]) -> list[str]:
    return [part.filename for item in items for part in item.parts if not (part.sha256 or part.md5)]
