"""Score audio made by other programs: two folders of files, paired by relative path without suffix.

A file is paired with the file of the other folder that has the same relative path except for the suffix (``a/b.wav``
and ``a/b.flac``), or the one under which a run keeps it (``a/b.wav.flac``). Missing and ambiguous partners are an error
that names all of them. A pair whose rates or lengths differ fails, unless they are fitted on request
(:mod:`codec_superb.pipeline.scoring.fit`); nothing is shifted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from codec_superb.data_manifests import Category, Clip
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset
from codec_superb.metrics.errors import MissingPackage, UnusableBackend
from codec_superb.metrics.plugged import find_metrics
from codec_superb.metrics.score import prepare
from codec_superb.metrics.table import METRICS, Backends, Metric, backends_of, checked_backends, metrics_for
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.lag import residual_lag
from codec_superb.pipeline.runs.audio_store import digest, file_name, quantise
from codec_superb.pipeline.runs.dataset_access import load_mono, reason_of
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.clip import all_failed, compare
from codec_superb.pipeline.scoring.compile_ahead import WorkingBackends
from codec_superb.pipeline.scoring.fit import Fitted, fit_to_reference
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.executor import Executor, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

NAMED = 20
"""Files that are named in an error; the others are counted."""


class FilePair(NamedTuple):
    """A reference and its resynthesis."""

    reference: Clip
    resynthesis: Clip
    metrics: tuple[Metric, ...]
    backends: Backends = ()
    fit: bool = False
    """Whether another rate or length of the resynthesis is fitted."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the metrics."""
        return tuple(row.key for row in self.metrics)


class ScoredPair(NamedTuple):
    """What came of one pair."""

    row: ClipRow
    fitted: Fitted | None = None


class FolderScores(NamedTuple):
    """What came of two folders."""

    rows: list[ClipRow]
    fitted: dict[str, Fitted]
    """By clip, where the resynthesis was fitted to its reference."""
    backends: dict[str, str]
    """Implementation that ran, of each metric that has more than one."""


def score_folders(
    reference: Path,
    resynthesis: Path,
    *,
    metrics: Sequence[str] | None = None,
    category: Category | None = None,
    fit: bool = False,
    workers: int | None = None,
    timeout: float | None = None,
    backends: Backends = (),
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> FolderScores:
    """Score every file below ``reference`` with its partner below ``resynthesis``; rows sorted by clip id.

    ``metrics`` None means those of each clip's category, which comes from the reference folder or is ``category``.
    ``fit`` resamples resyntheses and fits their lengths, within bounds; ``resynthesis`` may be a run's folder.
    Rows have no bits and no times. Raises PipelineError naming all files without a partner, DatasetError for a folder
    without audio, MetricError for an unknown metric.
    """
    chosen = None if metrics is None else find_metrics(metrics)
    checked_backends(backends)
    run = RunFolder(resynthesis)
    audio = FolderDataset(run.audio if run.exists() else run.path)
    pairs = [
        FilePair(first, second, _defaults(first.category) if chosen is None else chosen, fit=fit)
        for first, second in pair_clips(FolderDataset(Path(reference), category), audio)
    ]
    progress = progress or SilentProgress()
    scored: list[ScoredPair] = []
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers, timeout=timeout))
        wanted = {key for pair in pairs for key in pair.keys}
        backends = WorkingBackends(backends, pool, progress).settle(wanted)
        pairs = [pair._replace(backends=backends) for pair in pairs]
        progress.start(f"score {resynthesis}", len(pairs))
        for event in stack.enter_context(closing(pool.stream(score_files, pairs))):
            scored.append(ScoredPair(_crashed(event)) if isinstance(event, WorkerCrash) else event.value)
            progress.advance()
    scored.sort(key=lambda pair: pair.row.clip)
    fitted = {pair.row.clip: pair.fitted for pair in scored if pair.fitted}
    return FolderScores([pair.row for pair in scored], fitted, backends_of(sorted(wanted), backends))


def _defaults(category: Category) -> tuple[Metric, ...]:
    return tuple(METRICS[key] for key in metrics_for(category))


def pair_clips(reference: FolderDataset, resynthesis: FolderDataset) -> list[tuple[Clip, Clip]]:
    """Pair clips by path without suffix. Raises PipelineError unless each has exactly one partner."""
    # as a run stores them: a.wav.flac is the resynthesis of a.wav
    stored = {file_name(clip_id): clip_id for clip_id in reference.clip_ids()}
    sides = [_by_stem(reference, {}), _by_stem(resynthesis, stored)]
    for folder, side in zip((reference, resynthesis), sides, strict=True):
        twins = [" and ".join(ids) for ids in side.values() if len(ids) > 1]
        if twins:
            raise PipelineError(f"{folder.folder} holds files that differ only in their ending: {_listed(twins)}")
    lost = [
        f"{len(missing)} of {folder.folder} have no partner in {other.folder}: {_listed(missing)}"
        for folder, other, own, its in (
            (reference, resynthesis, sides[0], sides[1]),
            (resynthesis, reference, sides[1], sides[0]),
        )
        if (missing := [ids[0] for stem, ids in sorted(own.items()) if stem not in its])
    ]
    if lost:
        raise PipelineError("expected a partner for every file; " + "; ".join(lost))
    return [(reference.clip(ids[0]), resynthesis.clip(sides[1][stem][0])) for stem, ids in sorted(sides[0].items())]


def _by_stem(dataset: FolderDataset, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Group ids by path without suffix; ``names`` replaces ids before."""
    stems = defaultdict(list)
    for clip_id in dataset.clip_ids():
        # a codec's output often has another ending: a.wav beside a.mp3
        stems[str(PurePosixPath(names.get(clip_id, clip_id)).with_suffix(""))].append(clip_id)
    return stems


def _listed(names: Sequence[str]) -> str:
    """List the first files and the number of the others."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def score_files(pair: FilePair) -> Iterator[ScoredPair]:
    """Yield the row of one pair, inside a worker."""
    yield _scored(pair)


def _scored(pair: FilePair) -> ScoredPair:
    """Read both sides and compare them; a side that cannot be read makes a failed row."""
    row, fitted = _blank(pair), None
    try:
        reference, rate = load_mono(pair.reference)
    except Exception as error:  # noqa: BLE001 - one file costs its own row only
        return ScoredPair(_failed(row, pair, "load", error, reason_of(error, pair.reference)))
    row = row.model_copy(update={"sampling_rate": rate, "samples": reference.size})
    try:
        resynthesis, its_rate = load_mono(pair.resynthesis)
        if pair.fit:
            (resynthesis, fitted), its_rate = fit_to_reference(resynthesis, its_rate, rate, reference.size), rate
        values = compare(prepare(reference, rate), resynthesis, its_rate, pair.metrics, pair.backends)
    except (MissingPackage, UnusableBackend):
        raise  # the same for every pair
    except Exception as error:  # noqa: BLE001 - one file costs its own row only
        return ScoredPair(_failed(row, pair, "score", error, reason_of(error, pair.resynthesis)))
    row = row.model_copy(
        update={
            "status": "ok",
            "lag_samples": residual_lag(reference, resynthesis, rate),
            "clipped_samples": int((abs(resynthesis) > 1).sum()),
            # of 24-bit samples, as if `resynth` had stored them
            "resynthesis_sha256": digest(quantise(resynthesis)),
            "metrics": values,
        }
    )
    return ScoredPair(row, fitted)


def _blank(pair: FilePair) -> ClipRow:
    """Return an empty row."""
    clip = pair.reference
    return ClipRow(
        clip=clip.id,
        dataset=clip.dataset,
        category=clip.category,
        cluster=clip.cluster,
        slice=clip.slice,
        status="failed",
    )


def _failed(row: ClipRow, pair: FilePair, stage: str, error: Exception, reason: str) -> ClipRow:
    """Return the row with a failure and without scores."""
    lost = {"stage": stage, "error_type": type(error).__name__, "error": reason}
    return row.model_copy(update={**lost, "metrics": all_failed(pair.keys, reason)})


def _crashed(crash: WorkerCrash[FilePair]) -> ClipRow:
    """Return the row of a pair that killed its worker."""
    lost = {"stage": "worker", "error_type": "WorkerDied", "error": crash.reason}
    update = {**lost, "metrics": all_failed(crash.task.keys, crash.reason)}
    return _blank(crash.task).model_copy(update=update)
