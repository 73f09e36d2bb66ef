"""The score stage: one task per clip for all runs of its dataset, so that the reference is analysed once."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path

from codec_superb.metrics.plugged import find_metrics
from codec_superb.metrics.table import METRICS, Backends, Metric, backends_of, checked_backends
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.runs.finished import RunGroup, by_dataset, selected_clips
from codec_superb.pipeline.runs.folder import find_runs
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.probes import drop_probes, kept_probes, with_probes
from codec_superb.pipeline.runs.provenance import stamp, supersede
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.scoring.clip import Resynthesis, ScoredRun, ScoreTask, all_failed, score_clip, without_first
from codec_superb.pipeline.scoring.compile_ahead import WorkingBackends, load_metrics
from codec_superb.pipeline.scoring.store import Missing, ScoreStore
from codec_superb.pipeline.workers.blocks import stream_in_blocks
from codec_superb.pipeline.workers.executor import Executor, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress, SilentProgress


def score(
    runs: Sequence[Path],
    *,
    metrics: Sequence[str] | None = None,
    workers: int | None = None,
    shard: Shard | None = None,
    overwrite: bool = False,
    timeout: float | None = None,
    backends: Backends = (),
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[RunOutcome]:
    """Compute ``metrics`` (default: those of each clip's category) on every clip of the runs found in ``runs``.

    With ``shard`` their shards of this number are scored, in place of whole runs.

    Existing values of the same resynthesis and the same version of the metric are reused; ``overwrite`` computes all
    again. ``backends`` chooses implementations of metrics; where one does not work on this machine, the reference
    implementation takes over in all workers. The run's provenance records which ones ran. ``timeout`` is in seconds per
    resynthesis; a given ``executor`` brings its own workers and timeout.

    Raises RunFolderError for a run that is not finished or whose dataset has changed, MetricError for an unknown
    metric, DatasetError for a dataset that is not on this machine.
    """
    chosen = None if metrics is None else find_metrics(metrics)
    checked_backends(backends)
    folders = find_runs(runs, shard)
    outcomes: dict[Path, RunOutcome] = {}
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers, timeout=timeout))
        progress = progress or SilentProgress()
        working = WorkingBackends(backends, pool, progress)
        for group in by_dataset(folders):
            for outcome in _score_group(group, chosen, pool, progress, working, overwrite=overwrite):
                outcomes[outcome.path] = outcome
    return [outcomes[folder.path] for folder in folders]


def _score_group(
    group: RunGroup,
    chosen: Sequence[Metric] | None,
    pool: Executor,
    progress: Progress,
    working: WorkingBackends,
    *,
    overwrite: bool,
) -> list[RunOutcome]:
    """Score all runs of one dataset together."""
    with ExitStack() as stack:
        stores = [ScoreStore(folder, chosen, stack, overwrite=overwrite) for folder in group.folders]
        for store in stores:
            store.select(selected_clips(store.folder, store.info, group.dataset))
        try:
            _work(group, stores, pool, progress, working)
            for store in stores:
                finish(store)
        except OSError as error:
            if (fatal := cannot_write(error, "scores")) is None:
                raise
            raise fatal from error
        return [store.outcome() for store in stores]


def _work(
    group: RunGroup, stores: Sequence[ScoreStore], pool: Executor, progress: Progress, working: WorkingBackends
) -> None:
    """Compute and journal the missing values."""
    pairs = sum(store.scorable for store in stores)
    # counted first and made when a worker is free: a million tasks take a gigabyte
    missing = clips = 0
    keys: set[str] = set()
    for _, lacking in _by_clip(stores):
        clips, missing = clips + 1, missing + len(lacking)
        keys.update(key for _, item in lacking for key in item.keys)
    if missing:
        pool.load(load_metrics, tuple(sorted(keys & METRICS.keys())), clips)
    backends = working.settle(keys)
    title = stores[0].info.title if len(stores) == 1 else f"{len(stores)} runs"
    progress.start(f"score {title} on {stores[0].info.dataset.name}", pairs, pairs - missing)
    if not missing:
        return
    ready = (task._replace(backends=backends) for task in _tasks(group, stores))
    with closing(stream_in_blocks(pool, score_clip, ready, clips, remainder=without_first)) as events:
        for event in events:
            if isinstance(event, WorkerCrash):
                if event.index == len(event.task.items):  # it died after its last answer
                    continue
                # answers come in order: the first that is missing killed the worker
                lost = event.task.items[event.index]
                outcome = ScoredRun(lost.run, all_failed(lost.keys, event.reason))
                progress.message(f"{stores[lost.run].info.title}: {event.task.clip}: {event.reason}")
            else:
                outcome = event.value
            ran = backends_of(outcome.values, backends)
            sha256 = next(item.sha256 for item in event.task.items if item.run == outcome.run)
            stores[outcome.run].record(event.task.clip, sha256, outcome.values, ran)
            progress.advance()


def _tasks(group: RunGroup, stores: Sequence[ScoreStore]) -> Iterator[ScoreTask]:
    """Yield a task per clip with missing values."""
    for clip, lacking in _by_clip(stores, again=True):
        items = [
            Resynthesis(number, str(stores[number].folder.audio_path(clip)), its.sha256, stores[number].table(its.keys))
            for number, its in lacking
        ]
        yield ScoreTask(group.spec, clip, tuple(items), reference=group.reference)


def _by_clip(stores: Sequence[ScoreStore], *, again: bool = False) -> Iterator[tuple[str, list[tuple[int, Missing]]]]:
    """Yield each clip with missing values, sorted, with those of each store: the reference is analysed once."""

    def of(number: int) -> Iterator[tuple[int, Missing]]:
        return ((number, its) for its in stores[number].missing(again=again))

    every = heapq.merge(*map(of, range(len(stores))), key=lambda found: found[1].clip)
    return ((clip, list(found)) for clip, found in groupby(every, key=lambda found: found[1].clip))


def finish(store: ScoreStore) -> None:
    """Write the table and the run's status, unless unchanged; probes are kept while no resynthesis has changed."""
    columns, info = store.columns(), store.info
    probes = kept_probes(store.folder, info)
    if not store.computed and info.status == "scored" and info.metrics == columns and info.probes == probes:
        return
    # run.json first: it decides which columns of the table are valid
    if info.probes and not probes:
        info = drop_probes(store.folder, info)
    if probes:
        rows = with_probes(store.folder, store.rows(list(columns)), probes)
        store.folder.write_rows(rows, list(columns), list(probes))
    else:
        store.folder.write_blocks(store.tables(list(columns)), list(columns))
    provenance = info.provenance
    if store.computed:
        provenance = supersede(provenance, stamp("score", "cpu", store.backends()))
    update = {
        "status": "scored",
        "metrics": columns,
        "custom_metrics": store.custom(columns),
        "provenance": provenance,
        "probes": probes,
    }
    store.folder.write_info(info.model_copy(update=update))
