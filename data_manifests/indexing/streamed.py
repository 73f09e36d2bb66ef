"""Write the clip list of a dataset that lies in a store: part by part, so that a killed call goes on with the next one.

Finished parts are kept beside the dataset, in ``.NAME.parts`` (:mod:`codec_superb.data_manifests.lists.parts`). A later
call reads those again that are new or have changed, as the versions of their objects say, and all where the manifest
describes them in another way, or the program has another version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codec_superb import __version__
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.clip_list import (
    ClipRecord,
    DatasetIndex,
    ObjectPart,
    canonical_json,
    to_labels,
    write_clip_list,
)
from codec_superb.data_manifests.clusters import check_slice, slice_of
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers import parts_of
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Part
from codec_superb.data_manifests.indexing.index_report import NAMED, IndexReport, other_rates, seconds_of
from codec_superb.data_manifests.lists.clip_table import write_clip_table
from codec_superb.data_manifests.lists.parts import Mark, PartLists
from codec_superb.data_manifests.manifest import IndexedSource, Manifest, is_wanted
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate

LINES = 100_000
"""Clips of a list that is written as lines, and held in memory; a longer one is a table."""


@dataclass(slots=True)
class _Note:
    """What is counted of a part's clips, or of all clips."""

    report: ShardReport = field(default_factory=ShardReport)
    rates: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    """By sampling rate in Hz: clips, samples per channel of all of them, and the first one."""

    def passed(self, records: Iterable[ClipRecord]) -> Iterator[ClipRecord]:
        """Count records while they pass."""
        for record in records:
            self._count(record.sampling_rate or 0, 1, record.frames or 0, record.id)
            yield record

    def as_json(self) -> Any:
        """Return it as plain data."""
        return [self.report.faults, self.report.examples, self.rates]

    def add(self, data: Any) -> None:
        """Add what :meth:`as_json` returned, and JSON has held."""
        faults, examples, rates = data
        self.report.add(faults, examples)
        for rate, counted in rates.items():
            self._count(int(rate), *counted)

    def _count(self, rate: int, clips: int, frames: int, first: str) -> None:
        known = self.rates.get(rate, (0, 0, first))
        self.rates[rate] = (known[0] + clips, known[1] + frames, known[2])

    def other_rates(self, published: int | None) -> list[str]:
        """Return a note where clips are not at the published rate."""
        other = {rate: counted for rate, counted in self.rates.items() if published and rate not in {0, published}}
        if not other:
            return []
        rate, (_, _, first) = next(iter(other.items()))
        return [other_rates(published or 0, sum(clips for clips, _, _ in other.values()), first, rate)]


def index_streamed(
    manifest: Manifest, source: IndexedSource, url: str, folder: Path, progress: OnProgress
) -> IndexReport:
    """Build and write the clip list of what lies below ``url`` into ``folder``; return what was found.

    Raises LayoutError, ManifestError (an id given twice), ObjectError for a part that cannot be read, and StoreError.
    """
    request = IndexRequest(folder, manifest.partition, folder, source.options, progress, url)
    lists, noted, keys, count = PartLists(folder.with_name(f".{folder.name}.parts")), _Note(), list[str](), 0
    notes, extra = list[str](), list[str]()
    described = _described(manifest, source, url)
    for part in parts_of(source.layout, request):
        key = f"{described} {part.key}"
        mark = lists.mark(key) or _read(part, key, lists, manifest, url)
        keys.append(key)
        count += mark.clips
        noted.add(mark.note)
        notes += part.notes
        extra += part.extra
        progress(ProgressUpdate("cut", count, 0, part.name))
    if not count:
        raise LayoutError(f"{manifest.name}: no clip of the partition ({manifest.partition.text}) lies in {url}")
    lists.keep_only(keys)
    expected, missing = manifest.expected_clips, noted.report.faults.total()
    short = expected.count - count if expected else 0
    index = DatasetIndex(
        name=manifest.name,
        manifest_version=manifest.version,
        root=url,
        clips=count,
        expected_clips=expected.count if expected else None,
        missing=max(missing, short),
        extra=len(extra) + max(0, -short),
        seconds=seconds_of({rate: frames for rate, (_, frames, _) in noted.rates.items()}),
        manifest_hash="0" * 64,
    )
    unreadable, _, first = noted.rates.get(0, (0, 0, ""))
    write = write_clip_list if count <= LINES else write_clip_table
    written = write(folder, index, lists.merged(keys))
    return IndexReport(
        name=manifest.name,
        root=url,
        folder=folder,
        clips=written.clips,
        published=written.expected_clips,
        published_source=expected.source if expected else None,
        missing=written.missing,
        missing_names=tuple(noted.report.places()[:NAMED]),
        extra=written.extra,
        extra_names=tuple(extra[:NAMED]),
        unlabelled=0,
        unlabelled_names=(),
        unreadable=unreadable,
        unreadable_names=(first,) if unreadable else (),
        seconds=written.seconds or 0.0,
        trials={},
        collections={},
        notes=(*notes, *noted.report.lines(), *noted.other_rates(manifest.sampling_rate)),
        manifest_hash=written.manifest_hash,
    )


def _read(part: Part, key: str, lists: PartLists, manifest: Manifest, url: str) -> Mark:
    note = _Note()
    records = (_record(clip, manifest, url) for clip in part.read(note.report) if _in_partition(clip, manifest))
    return lists.write(key, note.passed(records), note.as_json)


def _described(manifest: Manifest, source: IndexedSource, url: str) -> str:
    """Return a hash of what the records follow from, beside the objects."""
    fields = manifest.model_dump(mode="json", include={"name", "title", "homepage", "licence", "categories", "slice"})
    said = {**fields, "partition": manifest.partition.model_dump(mode="json"), "layout": source.layout}
    options = source.model_dump(mode="json")["options"]
    return hashlib.sha256(canonical_json([__version__, url, said, options])).hexdigest()


def _in_partition(clip: FoundClip, manifest: Manifest) -> bool:
    path, wanted = clip.path.as_posix(), manifest.partition
    return is_wanted(path, wanted.include) and not (wanted.exclude and is_wanted(path, wanted.exclude))


def _record(clip: FoundClip, manifest: Manifest, url: str) -> ClipRecord:
    check_slice(clip.id, slice_of(to_labels(clip.labels), manifest.slice))
    assert clip.kept is not None
    sound, measured = clip.kept
    return ClipRecord(
        id=clip.id,
        path=sound.url.removeprefix(f"{url}/"),
        object=ObjectPart(
            version=sound.version, size=sound.size, start=sound.start, row=sound.row, column=sound.column,
            suffix=sound.suffix,
        ),
        frames=measured.frames or None,
        category=clip.category or manifest.categories[0],
        sampling_rate=measured.sampling_rate or None,
        licence=clip.licence or manifest.licence,
        attribution=clip.attribution or f"{manifest.title} ({manifest.homepage})",
        sha256=measured.sha256,
        sha256_of="samples" if sound.stored else "file",
        labels=clip.labels,
    )  # fmt: skip
