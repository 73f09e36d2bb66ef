"""Choose the listening samples of the report, the same for every codec, and encode them as Ogg Opus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from codec_superb.web.rows import ReportSample

if TYPE_CHECKING:
    from codec_superb.data_manifests import Dataset
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.tables.rows import ClipRow

LONGEST = 8.0
"""Seconds; longer clips are used only where there are no shorter ones."""
KBPS = 48


def choose_listening(results: Sequence[Results], per_category: int) -> list[ReportSample]:
    """Choose up to ``per_category`` clips of each category that every codec resynthesised and whose licence allows it.

    Only run folders hold audio: codecs from submission files are left out, and so are datasets that are not on this
    machine.
    """
    local = [entry for entry in results if all(dataset.source.is_dir() for dataset in entry.datasets)]
    if not local or not per_category:
        return []
    datasets = local_datasets(local)
    rows = [{(row.dataset, row.clip): row for row in entry.rows if row.status == "ok"} for entry in local]
    shared = [row for key, row in rows[0].items() if row.dataset in datasets and all(key in other for other in rows)]
    chosen = _choose(shared, datasets, per_category)
    return [_listening(row, datasets[row.dataset], local) for row in chosen]


def local_datasets(results: Sequence[Results]) -> dict[str, Dataset]:
    """Open the datasets that are on this machine with the manifest hash of the runs."""
    from codec_superb.data_manifests import DatasetError
    from codec_superb.pipeline.errors import RunFolderError
    from codec_superb.pipeline.runs.dataset_access import dataset_of_run

    found: dict[str, Dataset] = {}
    for info in (dataset.info for entry in results for dataset in entry.datasets):
        if info.name in found:
            continue
        with suppress(DatasetError, RunFolderError):
            found[info.name] = dataset_of_run(info)
    return found


def _choose(rows: Sequence[ClipRow], datasets: Mapping[str, Dataset], per_category: int) -> list[ClipRow]:
    from codec_superb.pipeline.submission.listening import is_redistributable, round_robin

    taken: dict[str, list[ClipRow]] = {}
    candidates = list(round_robin(rows))
    short = [row for row in candidates if (row.seconds or 0.0) <= LONGEST]
    for row in (*short, *(row for row in candidates if row not in short)):
        place = taken.setdefault(row.category, [])
        if len(place) < per_category and is_redistributable(datasets[row.dataset].clip(row.clip).licence):
            place.append(row)
    return [row for place in taken.values() for row in place]


def _listening(row: ClipRow, dataset: Dataset, results: Sequence[Results]) -> ReportSample:
    from codec_superb.pipeline.runs.audio_store import read_audio
    from codec_superb.pipeline.runs.dataset_access import load_mono
    from codec_superb.pipeline.runs.folder import open_run
    from codec_superb.pipeline.submission.samples import ogg_opus

    clip = dataset.clip(row.clip)
    reference, rate = load_mono(clip)
    versions = {}
    for entry in results:
        source = entry.dataset(row.dataset)
        if source is not None:
            digest = _row(entry, row).resynthesis_sha256 or ""
            resynthesis, resynthesis_rate = read_audio(open_run(source.source).audio_path(row.clip), digest)
            versions[entry.card.name] = ogg_opus(resynthesis, resynthesis_rate, KBPS)
    said = clip.labels.text or ", ".join(clip.labels.events) or None
    return ReportSample(
        clip=row.clip, dataset=row.dataset, category=row.category, text=said,
        attribution=clip.attribution, licence=clip.licence,
        reference=ogg_opus(reference, rate, KBPS), resyntheses=versions,
    )  # fmt: skip


def _row(entry: Results, like: ClipRow) -> ClipRow:
    """Find the codec's own row of a clip."""
    return next(row for row in entry.rows if (row.dataset, row.clip) == (like.dataset, like.clip))
