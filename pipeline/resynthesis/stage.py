"""The resynth stage: find the clips that are left to do, distribute them to workers, journal rows, write the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from math import inf
from pathlib import Path

from codec_superb.base_codec.card import UNESSENTIAL, Weights
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.weights import describe_weights
from codec_superb.data_manifests import Category
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.resynthesis.batches import SECONDS_ON_CUDA, plan_batches
from codec_superb.pipeline.resynthesis.clip import (
    OpenedCodec,
    ResynthTask,
    Target,
    check_packets,
    load_stage,
    prepare_codec,
    resynthesise_clips,
)
from codec_superb.pipeline.resynthesis.codec_files import LateFiles, OpenedLate, changed_files, unseen
from codec_superb.pipeline.resynthesis.found_lag import LagTask, delay_of, first_clips, try_clips
from codec_superb.pipeline.resynthesis.operations import count_operations
from codec_superb.pipeline.resynthesis.plan import Asked, Plan, plan_runs
from codec_superb.pipeline.resynthesis.run_table import (
    RowJournal,
    blocks_of,
    describe,
    is_news,
    left_to_do,
    outcome_of,
    without_probes,
)
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.provenance import stamp, supersede
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.pipeline.workers.batches import BatchQueue
from codec_superb.pipeline.workers.blocks import stream_in_blocks
from codec_superb.pipeline.workers.devices import Device, chosen_device
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress, SilentProgress


def resynthesise(
    codecs: Sequence[str],
    datasets: Sequence[str],
    *,
    out: Path,
    conditions: Sequence[Condition] = (),
    device: Device = "auto",
    options: CodecOptions = DEFAULT_OPTIONS,
    batch: float | None = None,
    tokens: bool = False,
    workers: int | None = None,
    limit: int | None = None,
    clips: Mapping[str, Collection[str]] | None = None,
    shard: Shard | None = None,
    overwrite: bool = False,
    category: Category | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[RunOutcome]:
    """Run every codec on every dataset into ``out/<codec>/<dataset>/``; finished clips are not computed again.

    Each of ``conditions`` is another run of each, in ``out/<codec>@<condition>/<dataset>/`` beside the clean one.
    ``options`` apply to the neural codecs among ``codecs`` (weights, precision) and are recorded on the run's card.
    ``batch`` is their batch size in seconds of sound, 0 for single clips; by default 60 on a CUDA device and 0 on a
    CPU. ``tokens`` also stores the tokens of token codecs. ``limit`` is a number of clips per dataset (see
    :mod:`~codec_superb.pipeline.runs.selection`); ``clips`` names them instead, by dataset as given in ``datasets``.
    ``shard`` does one part of these clips, in ``out/<codec>/<dataset>.shard-I-of-N/``, which ``merge`` joins.
    ``timeout`` is in seconds per clip (a batch that exceeds it is split); a given ``executor`` brings its own workers
    and timeout. Failed clips become failed rows and are retried by the next call. A run whose card or dataset has
    changed is set aside and restarted; ``overwrite`` deletes it instead, changed or not.

    Raises CodecError, DatasetError or PipelineError when a run cannot continue; it can be resumed.
    """
    progress = progress or SilentProgress()
    if batch is not None and not 0 <= batch < inf:
        raise PipelineError(f"expected a batch of 0 seconds or more, got {batch:g}")
    asked = Asked(Path(out), options, batch, limit, clips, category, tokens, device, overwrite, shard)
    plans = plan_runs(codecs, datasets, conditions, asked, progress)
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers, timeout=timeout))
        _refuse_streams(plans, pool)
        return [_run(plan, device, pool, progress, overwrite=overwrite) for plan in plans]


def _refuse_streams(plans: Sequence[Plan], pool: Executor) -> None:
    """Refuse the loss of packets for codecs that have none, before any run. Raises PipelineError."""
    # tokens have frames; a codec in an environment of its own has tokens
    asked = {
        plan.codec: (plan.codec, plan.options, plan.condition)
        for plan in plans
        if plan.condition is not None
        and plan.condition.kind.key == "loss"
        and plan.card.codebooks is None
        and plan.card.isolation is None
    }
    for _ in pool.stream(check_packets, list(asked.values())):
        pass


def _run(plan: Plan, device: Device, pool: Executor, progress: Progress, *, overwrite: bool) -> RunOutcome:
    """Execute one run under its lock; errors of the disk become PipelineError."""
    try:
        with plan.folder.lock():
            before = _settle(plan, device, pool, progress, overwrite=overwrite)
            with plan.folder.resynth_journal() as journal:
                return _resume(plan, before, journal, device, pool, progress)
    except OSError as error:
        if (fatal := cannot_write(error, plan.folder.path)) is None:
            raise
        raise fatal from error


def _settle(plan: Plan, device: Device, pool: Executor, progress: Progress, *, overwrite: bool) -> RunInfo | None:
    """Remove or set aside results of another specification; return the info of a run that can be resumed."""
    folder = plan.folder
    if overwrite:
        folder.forget("resynth")
    if not folder.exists():
        return None
    before = folder.info()
    changed = changed_files(before.codec_files, plan.codec)
    if before.spec_hash == plan.spec_hash and not changed:
        return before
    # a codec that cannot be opened (damaged weights, say) sets nothing aside
    _prepare(plan, device, pool, progress)
    # renamed, never deleted: what was computed for days may be wanted again
    place = folder.set_aside()
    progress.message(
        f"{folder.path}: {_changed(before, plan, changed)}; the old results are kept in {place}, the run is restarted"
    )
    return None


def _changed(before: RunInfo, plan: Plan, files: Sequence[str]) -> str:
    """Describe the change that invalidates old results."""
    if before.dataset.manifest_hash != plan.dataset.manifest_hash:
        return f"the dataset {plan.dataset.name} has changed"
    old, new = before.card.model_dump(), plan.card.model_dump()
    fields = [*(name for name in new if old.get(name) != new[name] and name not in UNESSENTIAL), *files]
    if before.condition != plan.condition:
        fields.append("the condition")
    return f"the codec {plan.card.name} has changed ({', '.join(fields) or 'its file'})"


def _resume(
    plan: Plan,
    before: RunInfo | None,
    journal: RowJournal,
    device: Device,
    pool: Executor,
    progress: Progress,
) -> RunOutcome:
    """Compute the clips that are not in the journal, then write the table if it changes."""
    todo = left_to_do(plan, journal)
    progress.start(f"{plan.title} on {plan.dataset.name}", len(plan.clips), len(plan.clips) - len(todo))
    info = describe(plan, before)
    stale = info.status == "started" or not plan.folder.has_table()
    if todo:
        pool.load(load_stage, None, len(todo))
        on = _prepare(plan, device, pool, progress)
        if told := unseen(plan.codec, plan.card, on.files):
            progress.message(told)
        info = _with_weights(info, on.weights, before)
        info = _with_delay(plan, info, on, pool, progress)
        if info.card.delay_source == "found":
            plan = replace(plan, options=plan.options._replace(delay=info.card.delay_samples))
        seconds = _batch_seconds(plan, on, progress)
        new = stamp("resynth", on.device, batch_seconds=seconds)
        noted = {"provenance": supersede(info.provenance, new), "codec_files": on.files}
        info = info.model_copy(update=noted)
        tasks = BatchQueue(_tasks(plan, todo, on, seconds))
        stale |= _work(plan, tasks, len(todo), journal, info, pool, progress)
    if stale:
        if plan.card.kind == "neural":
            # behind the timed clips, which it would warm the worker for
            counted = count_operations(plan, journal, info.operations, device, pool)
            info = info.model_copy(update={"operations": counted})
        info = without_probes(plan, info, progress)
        plan.folder.write_blocks(blocks_of(plan, journal), metrics=())
        info = info.model_copy(update={"status": "resynthesised", "metrics": {}})
    if stale or info != before:  # while it was at work, it may have said that it had only begun
        plan.folder.write_info(info)
    return outcome_of(plan, len(todo))


def _prepare(plan: Plan, device: Device, pool: Executor, progress: Progress) -> OpenedCodec:
    """Open the codec in a worker before anything is written; return how it was opened."""
    if plan.card.isolation is not None:  # in the parent process, where no timeout applies
        ensure_built(open_lock(plan.card.isolation.lock, chosen_device(plan.codec, device)), progress.message)
    (event,) = pool.stream(prepare_codec, [(plan.codec, device, plan.options)])
    if isinstance(event, TaskResult):
        return event.value
    raise PipelineError(f"{plan.card.name} cannot be opened: {event.reason}\n{event.log}".rstrip())


def _with_weights(info: RunInfo, opened: Weights | None, before: RunInfo | None) -> RunInfo:
    """Record the opened weights on the run's card. Raises PipelineError where the run was made with others."""
    card = info.card
    known = card.weights
    if (
        before is None
        and known
        and opened
        and known.source == opened.source
        # the newest of a hub has no hash on the card of the codec
        and known.sha256 not in {None, opened.sha256}
    ):
        raise PipelineError(
            f"{card.name}: its weights differ from one opening to the next: load trained ones, or begin with "
            "torch.manual_seed(0) where they are random"
        )
    if before is not None and opened != card.weights:
        raise PipelineError(
            f"{card.name}: its weights are no longer those of this run: {describe_weights(card.weights)} then, "
            f"{describe_weights(opened)} now; restart it with --overwrite, or keep it and name another --out"
        )
    return info.model_copy(update={"card": card.model_copy(update={"weights": opened})})


def _with_delay(plan: Plan, info: RunInfo, on: OpenedCodec, pool: Executor, progress: Progress) -> RunInfo:
    """Record on the run's card the delay that its first clips have, where nobody states one; found once a run."""
    if info.card.delay_samples is not None:
        return info
    if plan.options.delay is not None:  # that of an earlier run, which found it on clips of its own
        delay = plan.options.delay
    elif plan.condition is not None and (clean := _clean_delay(plan)) is not None:
        delay = clean
    else:
        clips = first_clips(plan.spec, plan.asked)  # the same for all shards
        tasks = [LagTask(plan.codec, on.device, plan.options, plan.spec, clip) for clip in clips]
        delay, told = delay_of(plan.card, try_clips(tasks, pool))
        progress.message(told)
    found = {"delay_samples": delay, "delay_source": "found"}
    return info.model_copy(update={"card": info.card.model_copy(update=found)})


def _clean_delay(plan: Plan) -> int | float | None:
    """Return the delay that the clean run beside a run under a condition found; None where there is none."""
    clean = RunFolder(plan.folder.path.parents[1] / plan.card.name / plan.folder.path.name)
    if not clean.exists():
        return None
    info = clean.info()
    return info.card.delay_samples if info.card.identity() == plan.card.identity() else None


def _batch_seconds(plan: Plan, on: OpenedCodec, progress: Progress) -> float:
    """Return the batch size in seconds of sound; 0 for single clips."""
    if on.gains_from_batches:
        usual = SECONDS_ON_CUDA if on.device == "cuda" else 0.0
        return usual if plan.batch is None else plan.batch
    if plan.batch:
        progress.message(f"{plan.card.name} does not support batches: it codes clip by clip")
    return 0.0


def _work(
    plan: Plan,
    queue: BatchQueue[ResynthTask],
    clips: int,
    journal: RowJournal,
    info: RunInfo,
    pool: Executor,
    progress: Progress,
) -> bool:
    """Execute the tasks, of some ``clips``; return whether any row differs from the journal."""
    plan.folder.write_info(info)
    changed, late = False, LateFiles(plan.card.name)
    with closing(stream_in_blocks(pool, resynthesise_clips, queue, clips)) as events:
        for event in events:
            row = _crashed(plan, event, queue, progress) if isinstance(event, WorkerCrash) else event.value
            if isinstance(row, OpenedLate):
                late.tell(row, progress)
            if not isinstance(row, ResynthesisRow):
                continue
            if not changed and is_news(journal, row):
                changed = True
                # The table is now older than the journal; the status must say so if this process is killed.
                plan.folder.write_info(info.model_copy(update={"status": "started"}))
            journal.append(row)
            progress.advance()
    return changed


def _tasks(plan: Plan, todo: Iterable[str], on: OpenedCodec, seconds: float) -> Iterator[ResynthTask]:
    """Yield the tasks, one batch or clip each, as workers become free."""
    clips = (plan.dataset.clip(clip) for clip in todo)
    for together in plan_batches(clips, seconds) if seconds else ((clip,) for clip in todo):
        targets = tuple(_target(plan, clip) for clip in together)
        yield ResynthTask(
            plan.codec, on.device, plan.spec, plan.dataset.name, targets, plan.options, on.weights, plan.condition,
            on.files,
        )  # fmt: skip


def _target(plan: Plan, clip: str) -> Target:
    tokens = str(plan.folder.tokens_path(clip)) if plan.tokens else ""
    its = plan.dataset.clip(clip)
    return Target(clip, its.category, str(plan.folder.audio_path(clip)), tokens, its.cluster, its.slice)


def _crashed(
    plan: Plan, crash: WorkerCrash[ResynthTask], queue: BatchQueue[ResynthTask], progress: Progress
) -> ResynthesisRow | None:
    """Return the row of a clip that killed its worker; the clips of a batch are first repeated one by one."""
    left = crash.task.targets[crash.index :]
    # its last answer was read before the death was noticed
    if not left:  # it died after its last row
        return None
    if len(crash.task.targets) > 1:
        queue.put_back(crash.task._replace(targets=(target,)) for target in left)
        progress.message(f"{plan.card.name}: a batch of {len(left)} clips, which now go one by one: {crash.reason}")
        return None
    progress.message(f"{plan.card.name}: {left[0].clip}: {crash.reason}")
    return ResynthesisRow(
        clip=left[0].clip,
        dataset=plan.dataset.name,
        category=left[0].category,
        cluster=left[0].cluster,
        slice=left[0].slice,
        status="failed",
        stage="worker",
        error_type="WorkerDied",
        error=crash.reason,
    )
