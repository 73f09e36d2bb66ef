"""Fetch what a publisher offers, check it, unpack what the dataset needs, and index it.

Every step leaves what it has done: a second call, or one after a kill, does the rest. Files come one after another,
each with its own progress; what is fetched is resumed by ranges and held to its hash.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.clip_list import DatasetIndex, current_index
from codec_superb.data_manifests.errors import DatasetError, FetchError
from codec_superb.data_manifests.files import file_sha256, in_words, locked
from codec_superb.data_manifests.indexing.index import index_manifest
from codec_superb.data_manifests.indexing.index_report import IndexReport
from codec_superb.data_manifests.manifest import Archive, HubFolder, Manifest
from codec_superb.data_manifests.packages.fetch_all import fetch_all
from codec_superb.data_manifests.packages.index_client import WebFile
from codec_superb.data_manifests.progress import OnProgress
from codec_superb.data_manifests.published.hub_folder import fetch_files
from codec_superb.data_manifests.published.kept import FirstSeen, add_to_lock, is_there, note_members, read_lock
from codec_superb.data_manifests.published.plan import STORE, Item, Plan, default_folder, free_bytes
from codec_superb.data_manifests.published.unpack import KEPT, unpack


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was done for a published dataset."""

    index: DatasetIndex
    report: IndexReport | None
    """What indexing found; None where everything had been there before."""
    notes: tuple[str, ...]
    """Sentences for the user: hashes that were not published, members that were left out."""


def prepare_published(
    plan: Plan, progress: OnProgress, *, accepted: Collection[str] = (), remove_archives: bool = False
) -> Prepared:
    """Do what is left of ``plan``, and index the dataset.

    Raises DatasetError where the licence asks for an agreement that is not among ``accepted``, FetchError for what
    cannot be fetched or is not what the manifest describes, WriteError for a full disk, and what indexing raises.
    """
    check_agreement(plan, accepted)
    manifest, notes = plan.manifest, list[str]()
    if not plan.done:
        _refuse_without_room(plan)
        with locked(plan.folder / KEPT / ".lock"):
            notes = _fetch(plan, progress)
    if remove_archives:
        _remove(plan)
    index = _standing(plan)
    report = None
    if index is None or not plan.done:
        report = index_manifest(manifest, plan.folder, progress)
        index = current_index(manifest)
    assert index is not None
    return Prepared(index, report, tuple(notes))


def elsewhere(manifest: Manifest) -> DatasetIndex | None:
    """Return the index of a whole dataset that was made from a folder of the user's own; None where there is none."""
    index = current_index(manifest)
    if index is None or index.missing:
        return None
    root = Path(index.root)
    own = root.is_absolute() and root.is_dir() and not root.is_relative_to(default_folder(manifest))
    return index if own else None


def check_agreement(plan: Plan, accepted: Collection[str]) -> None:
    """Raise DatasetError where something is left to fetch whose licence has to be agreed to, and was not."""
    manifest = plan.manifest
    if plan.download.agreement and not plan.done and manifest.licence not in accepted:
        raise DatasetError(
            f"{manifest.title} is given under a licence that must be agreed to ({plan.download.agreement.rstrip('.')}; "
            f'see {manifest.homepage}): add --accept-licence "{manifest.licence}" if you agree'
        )


def _standing(plan: Plan) -> DatasetIndex | None:
    """Return the index of the dataset where it is of this manifest and this folder."""
    index = current_index(plan.manifest)
    if index is None:
        return None
    root = Path(index.root)
    return index if not root.is_absolute() or root.is_relative_to(plan.folder) else None


def _refuse_without_room(plan: Plan) -> None:
    """Refuse to begin what cannot end: the files, and as much again for what comes out of an archive as a whole."""
    whole = [item for item in plan.items if item.is_archive and not item.done and not item.archive.members]
    unpacked = sum(part.size or part.about or 0 for item in whole for part in item.parts)
    free = free_bytes(plan.folder)
    if plan.bytes + unpacked > free:
        besides = f" and at least {in_words(unpacked)} for what comes out of it" if unpacked else ""
        raise DatasetError(
            f"{plan.manifest.title} needs {in_words(plan.bytes)} for what is fetched{besides}, and {plan.folder} has "
            f"room for {in_words(free)}: free some, or name another folder"
        )


def _fetch(plan: Plan, progress: OnProgress) -> list[str]:
    notes: list[str] = []
    for item in plan.items:
        if not is_there(plan.folder, item.note):  # another process may have been quicker
            notes += _fetch_item(item, plan.folder, progress)
    if plan.hub and plan.download.hub:
        if not plan.download.hub.revision:
            _keep_commit(plan.download.hub, plan.hub.commit, plan.folder)
        fetch_files(plan.download.hub, plan.hub, plan.folder, progress)
        sizes = {name: (plan.folder / name).stat().st_size for name in plan.hub.sizes}
        note_members(plan.folder, plan.hub_note, sizes)
    return notes


def _fetch_item(item: Item, folder: Path, progress: OnProgress) -> list[str]:
    store = folder / (STORE if item.is_archive else item.archive.into)
    notes, paths = list[str](), list[Path]()
    for part in item.parts:
        paths.append(_fetch_file(part, store, folder, progress))
        if not (part.sha256 or part.md5):
            notes += _keep_hash(part, paths[-1], folder)
    if not item.is_archive:
        note_members(folder, item.note, {paths[0].relative_to(folder).as_posix(): paths[0].stat().st_size})
        return notes
    unpacked = unpack(paths, item.archive, folder, progress)
    if unpacked.left_out:
        notes.append(f"{item.archive.filename}: {unpacked.left_out} links or devices were left out")
    note_members(folder, item.note, unpacked.members)
    return notes


def _fetch_file(part: Archive, store: Path, folder: Path, progress: OnProgress) -> Path:
    first = read_lock(folder).files.get(part.filename)
    kept = first if first and not (part.sha256 or part.md5) else None
    sha256, size = (kept.sha256, kept.size) if kept else (part.sha256, part.size)
    name = part.filename
    file = WebFile(part.url, name, sha256 or "", size or 0, (part.url, *part.mirrors), part.md5 or "")
    try:
        return fetch_all({name: file}, store, progress)[name]
    except FetchError as error:
        if kept is None or "expected" not in str(error):
            raise
        raise FetchError(
            f"{error}; it came otherwise on {kept.day}, as {folder / KEPT} notes: ask the publisher which is right, "
            "and delete that note to take the new one"
        ) from error


def _keep_hash(part: Archive, path: Path, folder: Path) -> list[str]:
    """Note the hash of a file that came first, and return a sentence that shows it."""
    if part.filename in read_lock(folder).files:
        return []
    sha256, size = file_sha256(path), path.stat().st_size
    add_to_lock(folder, part.filename, FirstSeen(address=part.url, size=size, sha256=sha256, day=_today()))
    return [f"{part.filename}: no hash is published; it has SHA-256 {sha256}, which later downloads are held to"]


def _keep_commit(hub: HubFolder, commit: str, folder: Path) -> None:
    if hub.repo not in read_lock(folder).files:
        add_to_lock(folder, hub.repo, FirstSeen(address=hub.repo, commit=commit, day=_today()))


def _today() -> str:
    return dt.datetime.now(tz=dt.UTC).date().isoformat()


def _remove(plan: Plan) -> None:
    """Remove the archives, and what an interrupted download left of them."""
    for part in (part for item in plan.items if item.is_archive for part in item.parts):
        for path in (plan.folder / STORE).glob(f"{part.filename}*"):
            path.unlink()
