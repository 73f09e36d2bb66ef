"""Finished runs and datasets put into a store and fetched from one: every file by itself, what marks the whole last.

An object is written under the condition that there is none of its name. A copy that was interrupted goes on, two
writers never mix, and a run is in the store once its ``run.json`` is (a dataset its ``index.json``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

from codec_superb.data_manifests.clip_list import INDEX_FILE, read_index
from codec_superb.data_manifests.files import PARTIAL, write_atomically
from codec_superb.data_manifests.objects.stores import Found, Store, store_of
from codec_superb.data_manifests.objects.urls import checked_url
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.folder import INFO, RunFolder, find_shards, folders_with
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

_MARKS = (INFO, INDEX_FILE)
_EACH = 100
"""Files between two messages."""


def put(folder: Path, url: str, progress: Progress | None = None) -> int:
    """Copy the runs or datasets in ``folder`` below ``url``; return the number of files that were not there before.

    Raises RunFolderError for a folder without any, for one that is not finished, and where an object holds something
    else; StoreError where the store gives nothing or takes nothing.
    """
    store, key = store_of(checked_url(url))
    tops = folders_with(_MARKS, folder)
    if not tops:
        only = "only shards: codec-superb merge joins them" if find_shards([folder]) else f"no {' or '.join(_MARKS)}"
        raise RunFolderError(f"expected runs or a dataset in {folder}, found {only}")
    files = [file for top in tops for file in _files(top)]
    there = {each.url: each for each in store.listed(key)}
    written = 0
    with ExitStack() as held:
        for top in tops:
            _refuse_unfinished(top, held)
        for number, file in enumerate(files, start=1):
            name = file.relative_to(folder).as_posix()
            written += _put_one(store, f"{key}/{name}", file, there.get(f"{url.rstrip('/')}/{name}"))
            _tell(progress, f"{folder} to {url}", number, len(files))
    return written


def get(url: str, folder: Path, progress: Progress | None = None) -> int:
    """Copy the runs or datasets below ``url`` into ``folder``; return the number of files that were not there before.

    Raises RunFolderError for a place without any, and where a file here holds something else.
    """
    url = checked_url(url)
    store, key = store_of(url)
    there = {each.url[len(url) + 1 :]: each for each in store.listed(key)}
    tops = {name.rpartition("/")[0] for name in there if PurePosixPath(name).name in _MARKS}
    if not tops:
        raise RunFolderError(f"expected runs or a dataset below {url}, found no {' or '.join(_MARKS)}")
    wanted = [name for name in there if any(not top or name.startswith(f"{top}/") for top in tops)]
    if strange := [name for name in wanted if {"", "..", "."} & set(name.split("/"))]:
        raise RunFolderError(f"{url}/{strange[0]}: its name is no path below a folder; it is not fetched")
    written = 0
    for number, name in enumerate(sorted(wanted, key=_marks_last), start=1):
        written += _get_one(store, there[name], f"{key}/{name}", folder / name)
        _tell(progress, f"{url} to {folder}", number, len(wanted))
    return written


def _files(top: Path) -> Iterator[Path]:
    found = (path for path in top.rglob("*") if path.is_file() and not path.name.startswith((PARTIAL, ".")))
    yield from sorted(found, key=lambda path: _marks_last(path.relative_to(top).as_posix()))


def _marks_last(name: str) -> tuple[bool, str]:
    return PurePosixPath(name).name in _MARKS, name


def _refuse_unfinished(top: Path, held: ExitStack) -> None:
    """Hold a run against other processes while it is copied; a dataset must lie in its own folder, or in a store."""
    if (top / INFO).is_file():
        run = RunFolder(top)
        held.enter_context(run.lock())
        if not run.has_table() or run.info().status == "started":
            raise RunFolderError(f"{top} is not finished: end its stage first, a store has whole runs")
        return
    index = read_index(top)
    if index is not None and index.root.startswith("/"):
        raise RunFolderError(f"{top}: its clips lie in {index.root}: put that folder into the store, and index its URL")


def _put_one(store: Store, key: str, file: Path, found: Found | None) -> bool:
    content = file.read_bytes()
    if found is None and store.create(key, content):
        return True
    found = found or store.stat(key)
    if not _same(found, content) and store.read(key, 0, found.size, found.version) != content:
        raise RunFolderError(f"{found.url} holds something else than {file}: name another URL")
    return False


def _get_one(store: Store, found: Found, key: str, target: Path) -> bool:
    here = target.read_bytes() if target.is_file() else None
    if here is not None and _same(found, here):
        return False
    content = store.read(key, 0, found.size, found.version)
    if here is not None and here != content:
        raise RunFolderError(f"{target} holds something else than {found.url}: name another folder")
    if here is None:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    return here is None


def _same(found: Found, content: bytes) -> bool:
    """Whether an object surely has this content; S3 states the MD5 of what came in one piece and is not encrypted."""
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return found.size == len(content) and found.version.strip('"') == md5


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if done % _EACH == 0 or done == total:
        (progress or SilentProgress()).message(f"{what}: {done} of {total} files")
