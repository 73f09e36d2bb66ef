"""Chooses the listening samples of a submission and encodes them.

The choice depends on the clip ids alone, so that submissions of different codecs carry the same clips; categories take
turns. Only clips under a licence that allows passing them on are taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from codec_superb.data_manifests import CATEGORIES, Clip, Dataset
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import dataset_of_run, load_mono, refuse_other_state
from codec_superb.pipeline.runs.folder import AnyRun
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.pipeline.submission.schema import SAMPLES, Sample
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import texts_of, where

FREE = (
    *("cc0", "cc-by-", "cc by", "public domain", "public-domain", "pdm", "odc-by", "unlicense"),
    *("mit", "bsd", "0bsd", "isc", "apache-2.0", "gpl-", "lgpl-"),
)
"""How licences begin that allow passing a clip on with attribution (SPDX identifiers, lower case)."""
_NOT_FREE = ("-nd", " nd")
"""Licences that forbid derivatives, which a cut and re-encoded clip is."""


@dataclass(frozen=True, slots=True)
class PackedSample:
    """One sample with its sound."""

    sample: Sample
    reference: bytes
    resynthesis: bytes


def is_redistributable(licence: str) -> bool:
    """Whether a clip under this licence may be packed; a clip under an unknown licence may not."""
    name = licence.strip().lower()
    return name.startswith(FREE) and not any(mark in name for mark in _NOT_FREE)


def choose_samples(
    runs: Sequence[tuple[AnyRun, RunInfo]],
    rows: Sequence[ClipRow],
    count: int,
    opened: Mapping[str, Dataset],
    *,
    any_licence: bool = False,
) -> list[PackedSample]:
    """Up to ``count`` samples of the runs; fewer where fewer clips are ok and free, none when ``count`` is 0.

    With ``any_licence`` clips need not be free: for a file that does not leave this machine.
    ``opened`` holds datasets that need not be opened again, by name. SubmissionError for a count out of range and
    for a dataset that is not on this machine any more; RunFolderError for one that has changed since the run.
    """
    if not 0 <= count <= SAMPLES:
        raise SubmissionError(f"expected 0 to {SAMPLES} listening samples, got {count}")
    if count == 0:
        return []
    try:
        datasets = {run.dataset.name: opened.get(run.dataset.name) or dataset_of_run(run.dataset) for _, run in runs}
    except DatasetError as error:
        raise SubmissionError(f"no samples can be made: {error}; or pack without them: --samples 0") from error
    for _, info in runs:
        refuse_other_state(datasets[info.dataset.name], info.dataset)
    folders = {info.dataset.name: folder for folder, info in runs}
    chosen: list[PackedSample] = []
    for row in round_robin(rows):
        clip = datasets[row.dataset].clip(row.clip)
        if any_licence or is_redistributable(clip.licence):
            chosen.append(_listening(len(chosen), row, clip, folders[row.dataset]))
        if len(chosen) == count:
            break
    return chosen


def round_robin(rows: Sequence[ClipRow]) -> Iterator[ClipRow]:
    """Yield clips that are ok, categories in turn, in an order by hash that is unrelated to names."""
    turns = zip_longest(*(_by_hash(where(rows, "category", {category})) for category in CATEGORIES))
    return (row for row in chain.from_iterable(turns) if row is not None)


def _by_hash(rows: Sequence[ClipRow]) -> Iterator[ClipRow]:
    ok = where(rows, "status", {"ok"})
    # by hash of the id alone: all codecs carry the same clips, so that they can be compared by ear
    names = zip(texts_of(ok, "dataset"), texts_of(ok, "clip"), strict=True)
    hashes = [hashlib.sha256(f"{dataset}\x1f{clip}".encode()).digest() for dataset, clip in names]
    return (ok[place] for place in sorted(range(len(hashes)), key=hashes.__getitem__))


def _listening(number: int, row: ClipRow, clip: Clip, folder: AnyRun) -> PackedSample:
    reference, rate = load_mono(clip)
    resynthesis, resynthesis_rate = read_audio(folder.audio_path(row.clip), row.resynthesis_sha256 or "")
    sound = ogg_opus(reference, rate), ogg_opus(resynthesis, resynthesis_rate)
    sample = Sample(
        dataset=row.dataset,
        clip=row.clip,
        category=row.category,
        licence=clip.licence,
        attribution=clip.attribution,
        reference=f"samples/{number:02}-reference.ogg",
        resynthesis=f"samples/{number:02}-resynthesis.ogg",
        reference_sha256=hashlib.sha256(sound[0]).hexdigest(),
        resynthesis_sha256=hashlib.sha256(sound[1]).hexdigest(),
    )
    return PackedSample(sample, *sound)
