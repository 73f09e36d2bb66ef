"""Resynthesise datasets with codecs: decide what is left to do, hand it to workers, journal it, write the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.registry import configure
from codec_superb.base_codec.weights import check_options_apply, describe_weights
from codec_superb.data_manifests import Category, Dataset, open_dataset
from codec_superb.data_manifests.catalogue import is_plugged, manifest_names
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.resynthesis.batches import SECONDS_ON_CUDA, plan_batches
from codec_superb.pipeline.resynthesis.clip import OpenedCodec, ResynthTask, Target, prepare_codec, resynthesise_clips
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import DatasetInfo, RunInfo, codec_source, spec_hash
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.outcome import FailedClip, RunOutcome
from codec_superb.pipeline.runs.probes import drop_probes
from codec_superb.pipeline.runs.provenance import stamp, supersede
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.batches import BatchQueue
from codec_superb.pipeline.workers.devices import Device, refuse_device
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress, SilentProgress


@dataclass(frozen=True, slots=True)
class _Plan:
    """One run as it was asked for."""

    codec: str
    card: Card
    spec: DatasetSpec
    dataset: Dataset
    clips: Sequence[str]
    folder: RunFolder
    spec_hash: str
    options: CodecOptions
    batch: float | None
    tokens: bool
    """Whether they are kept beside the sound."""


def resynthesise(
    codecs: Sequence[str],
    datasets: Sequence[str],
    *,
    out: Path,
    device: Device = "auto",
    options: CodecOptions = DEFAULT_OPTIONS,
    batch: float | None = None,
    tokens: bool = False,
    workers: int | None = None,
    limit: int | None = None,
    overwrite: bool = False,
    category: Category | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[RunOutcome]:
    """Run every codec on every dataset into ``out/<codec>/<dataset>/``; what is finished there is not done again.

    ``options`` are for the neural codecs among ``codecs`` (weights, precision); the run's card says what they chose.
    ``batch`` is how many seconds of sound those get together, 0 for clip by clip; by default a minute on a graphics
    card, and 0 on a CPU. ``tokens`` keeps the tokens behind each resynthesis, of codecs that have some. ``limit`` takes
    that many clips a dataset (see :mod:`~codec_superb.pipeline.runs.selection`).
    ``timeout`` is in seconds a clip (a batch that takes longer is taken apart); an ``executor`` that is given brings
    its own workers and timeout. Clips that fail become failed rows and are tried again by the next call. A run whose
    card or dataset has changed is set aside and begun anew; ``overwrite`` deletes it instead, changed or not.

    Raises CodecError, DatasetError or PipelineError when a run cannot go on at all; it can be resumed.
    """
    progress = progress or SilentProgress()
    if batch is not None and not 0 <= batch < inf:
        raise PipelineError(f"expected a batch of 0 seconds or more, got {batch:g}")
    opened = [(str(spec), open_dataset(spec, category=category)) for spec in datasets]
    cards = [card_of(codec) for codec in codecs]
    check_options_apply(options, cards)
    refuse_device(device, cards)
    configured = {codec: _configured(codec, options) for codec in codecs}
    plans = [
        _plan(codec, configured[codec], spec, dataset, category, Path(out), limit, batch, tokens=tokens)
        for spec, dataset in opened
        for codec in codecs
    ]
    _refuse_output_inside(opened, Path(out))
    _refuse_twins(plans)
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers, timeout=timeout))
        return [_run(plan, device, pool, progress, overwrite=overwrite) for plan in plans]


def _configured(codec: str, options: CodecOptions) -> tuple[Card, CodecOptions]:
    """Find the codec's weights before any work begins; the card says which will be used."""
    card = card_of(codec)
    if card.encode_only:
        raise PipelineError(f"{card.name} only encodes: it has no resynthesis to score; choose another codec")
    return configure(codec, options)


def _plan(
    codec: str, configured: tuple[Card, CodecOptions], spec: str, dataset: Dataset, category: Category | None,
    out: Path, limit: int | None, batch: float | None, *, tokens: bool,
) -> _Plan:  # fmt: skip
    """Name what is to be done, before any work begins."""
    card, options = configured
    folder = RunFolder(out / card.name / dataset.name)
    identity = spec_hash(card, dataset.manifest_hash, codec_source(codec, card))
    opened = DatasetSpec(spec, category, dataset.manifest_hash)
    kept = tokens and card.codebooks is not None
    return _Plan(codec, card, opened, dataset, select_clips(dataset, limit), folder, identity, options, batch, kept)


def _refuse_output_inside(opened: Sequence[tuple[str, Dataset]], out: Path) -> None:
    """Refuse to write resyntheses where the next call would take them for clips."""
    for spec, dataset in opened:
        place = _location(spec)
        if place is not None and not is_plugged(spec) and out.resolve().is_relative_to(Path(place).resolve()):
            raise PipelineError(f"the output folder {out} lies inside the dataset {dataset.name}; choose another --out")


def _refuse_twins(plans: Sequence[_Plan]) -> None:
    """Refuse two runs in one folder, as two folders of audio of the same name would be."""
    seen: dict[Path, _Plan] = {}
    for plan in plans:
        other = seen.setdefault(plan.folder.path, plan)
        if other is not plan:
            raise PipelineError(
                f"{other.codec} on {other.spec.spec} and {plan.codec} on {plan.spec.spec} are both kept in "
                f"{plan.folder.path}; name each once, or give them different --out folders"
            )


def _run(plan: _Plan, device: Device, pool: Executor, progress: Progress, *, overwrite: bool) -> RunOutcome:
    """Do one run under its lock; a full disk becomes an error that says so."""
    try:
        with plan.folder.lock():
            before = _settle(plan, progress, overwrite=overwrite)
            with plan.folder.journal("resynth") as journal:
                return _resume(plan, before, journal, device, pool, progress)
    except OSError as error:
        if (fatal := cannot_write(error, plan.folder.path)) is None:
            raise
        raise fatal from error


def _settle(plan: _Plan, progress: Progress, *, overwrite: bool) -> RunInfo | None:
    """Remove or set aside results that do not belong to this specification; return the info of those that do."""
    folder = plan.folder
    if overwrite:
        folder.forget("resynth")
    if not folder.exists():
        return None
    before = folder.info()
    if before.spec_hash == plan.spec_hash:
        return before
    place = folder.set_aside()
    progress.message(
        f"{folder.path}: {_changed(before, plan)}; the old results are kept in {place}, the run starts anew"
    )
    return None


def _changed(before: RunInfo, plan: _Plan) -> str:
    """Say what makes old results useless."""
    if before.dataset.manifest_hash != plan.dataset.manifest_hash:
        return f"the dataset {plan.dataset.name} has changed"
    old, new = before.card.model_dump(), plan.card.model_dump()
    fields = [name for name in new if old.get(name) != new[name]]
    return f"the codec {plan.card.name} has changed ({', '.join(fields) or 'its file'})"


def _resume(
    plan: _Plan, before: RunInfo | None, journal: Journal, device: Device, pool: Executor, progress: Progress
) -> RunOutcome:
    """Do what the journal lacks, then write the table where it says something new."""
    todo = [clip for clip in plan.clips if not _finished(plan, journal, clip)]
    progress.start(f"{plan.card.name} on {plan.dataset.name}", len(plan.clips), len(plan.clips) - len(todo))
    info = _describe(plan, before)
    stale = info.status == "started" or not plan.folder.has_table()
    if todo:
        on = _prepare(plan, device, pool, progress)
        info = _with_weights(info, on.weights, before)
        seconds = _batch_seconds(plan, on, progress)
        new = stamp("resynth", on.device, batch_seconds=seconds)
        info = info.model_copy(update={"provenance": supersede(info.provenance, new)})
        stale |= _work(plan, _tasks(plan, todo, on, seconds), journal, info, pool, progress)
    if stale:
        info = _without_probes(plan, info, progress)
        plan.folder.write_rows(_rows(plan, journal), metrics=())
        info = info.model_copy(update={"status": "resynthesised", "metrics": {}})
    if info != before:
        plan.folder.write_info(info)
    return _outcome(plan, journal, len(todo))


def _without_probes(plan: _Plan, info: RunInfo, progress: Progress) -> RunInfo:
    """Drop what probes said about other rows than those that the table will have; predictions stay in their journal."""
    if info.probes:
        names = ", ".join(info.probes)
        progress.message(f"{plan.folder.path}: its clips are not those that were probed ({names}); probe them again")
    return drop_probes(plan.folder, info)


def _outcome(plan: _Plan, journal: Journal, done: int) -> RunOutcome:
    """Count what there is now."""
    asked = len(plan.clips)
    outcome = RunOutcome(plan.folder.path, plan.card.name, plan.dataset.name, "resynth", asked, done, asked - done)
    for row in _rows(plan, journal):
        if row["status"] == "failed":
            outcome.failed.append(FailedClip(row["clip"], row["stage"], f"{row['error_type']}: {row['error']}"))
    return outcome


def _describe(plan: _Plan, before: RunInfo | None) -> RunInfo:
    """Describe the run as asked for now; it keeps its state where its table has the rows asked for."""
    dataset = DatasetInfo(
        name=plan.dataset.name,
        title=plan.dataset.title,
        manifest_hash=plan.dataset.manifest_hash,
        clips=len(plan.dataset),
        selected=len(plan.clips),
        licence=plan.dataset.licence,
        homepage=plan.dataset.homepage,
        citation=plan.dataset.citation,
        location=_location(plan.spec.spec),
        category=plan.spec.category,
    )
    if before is None:
        return RunInfo(card=plan.card, dataset=dataset, spec_hash=plan.spec_hash, status="started")
    status = before.status if before.dataset.selected == dataset.selected else "started"
    return before.model_copy(update={"dataset": dataset, "status": status})


def _location(spec: str) -> str | None:
    """Return how a dataset that is none of the benchmark's is opened again: an absolute path, or a plug-in's name."""
    if spec in manifest_names():
        return None
    path = Path(spec).expanduser()
    return spec if is_plugged(spec) and not path.is_file() else str(path.absolute())


def _finished(plan: _Plan, journal: Journal, clip: str) -> bool:
    """Whether a clip has a resynthesis that is still there; a power loss may have emptied the file.

    A clip that has come into another category is done again: the manifest's hash does not tell.
    """
    row = journal.last(clip)
    if row is None or row["status"] != "ok" or row["category"] != plan.dataset.clip(clip).category:
        return False
    files = [plan.folder.audio_path(clip), *([plan.folder.tokens_path(clip)] if plan.tokens else [])]
    try:
        return all(file.stat().st_size for file in files)
    except OSError:
        return False


def _prepare(plan: _Plan, device: Device, pool: Executor, progress: Progress) -> OpenedCodec:
    """Open the codec in a worker before anything is written; return how it was opened."""
    if plan.card.isolation is not None:  # here, where nobody's time runs out
        ensure_built(open_lock(plan.card.isolation.lock), progress.message)
    (event,) = pool.stream(prepare_codec, [(plan.codec, device, plan.options)])
    if isinstance(event, TaskResult):
        return event.value
    raise PipelineError(f"{plan.card.name} cannot be opened: {event.reason}\n{event.log}".rstrip())


def _with_weights(info: RunInfo, opened: Weights | None, before: RunInfo | None) -> RunInfo:
    """Say in the run's card which weights were opened. Raises PipelineError where the run's clips are of others."""
    card = info.card
    if before is not None and opened != card.weights:
        raise PipelineError(
            f"{card.name}: its weights are no longer those of this run: {describe_weights(card.weights)} then, "
            f"{describe_weights(opened)} now; begin it anew with --overwrite, or keep it and name another --out"
        )
    return info.model_copy(update={"card": card.model_copy(update={"weights": opened})})


def _batch_seconds(plan: _Plan, on: OpenedCodec, progress: Progress) -> float:
    """Return how many seconds of sound go together; 0 for clip by clip."""
    if on.gains_from_batches:
        usual = SECONDS_ON_CUDA if on.device == "cuda" else 0.0
        return usual if plan.batch is None else plan.batch
    if plan.batch:
        progress.message(f"{plan.card.name} codes clip by clip: it gains nothing from batches")
    return 0.0


def _work(
    plan: _Plan, tasks: Iterable[ResynthTask], journal: Journal, info: RunInfo, pool: Executor, progress: Progress
) -> bool:
    """Do the tasks; return whether any row differs from what was known before."""
    plan.folder.write_info(info)
    changed = False
    queue = BatchQueue(tasks)
    with closing(pool.stream(resynthesise_clips, queue)) as events:
        for event in events:
            row = _crashed(plan, event, queue, progress) if isinstance(event, WorkerCrash) else event.value
            if row is None:
                continue
            entry = row.model_dump(mode="json", exclude={"metrics", "probes"})
            if not changed and _is_news(journal, entry):
                changed = True
                # From here on the table is behind the journal, which must show if this process is killed.
                plan.folder.write_info(info.model_copy(update={"status": "started"}))
            journal.append(entry)
            progress.advance()
    return changed


def _tasks(plan: _Plan, todo: Sequence[str], on: OpenedCodec, seconds: float) -> Iterator[ResynthTask]:
    """Describe the work, a batch or a clip at a time, as workers ask for it."""
    clips = (plan.dataset.clip(clip) for clip in todo)
    for together in plan_batches(clips, seconds) if seconds else ((clip,) for clip in todo):
        targets = tuple(_target(plan, clip) for clip in together)
        yield ResynthTask(plan.codec, on.device, plan.spec, plan.dataset.name, targets, plan.options, on.weights)


def _target(plan: _Plan, clip: str) -> Target:
    tokens = str(plan.folder.tokens_path(clip)) if plan.tokens else ""
    return Target(clip, plan.dataset.clip(clip).category, str(plan.folder.audio_path(clip)), tokens)


def _crashed(
    plan: _Plan, crash: WorkerCrash[ResynthTask], queue: BatchQueue[ResynthTask], progress: Progress
) -> ClipRow | None:
    """Make the row of a clip that took its worker along; the clips of a batch are first tried one by one."""
    left = crash.task.targets[crash.index :]
    if not left:  # it had done its work
        return None
    if len(crash.task.targets) > 1:
        queue.put_back(crash.task._replace(targets=(target,)) for target in left)
        progress.message(f"{plan.card.name}: a batch of {len(left)} clips, which now go one by one: {crash.reason}")
        return None
    progress.message(f"{plan.card.name}: {left[0].clip}: {crash.reason}")
    return ClipRow(
        clip=left[0].clip,
        dataset=plan.dataset.name,
        category=left[0].category,
        status="failed",
        stage="worker",
        error_type="WorkerDied",
        error=crash.reason,
    )


def _is_news(journal: Journal, entry: dict[str, Any]) -> bool:
    """Whether a row says something else about its clip than the journal does; times do not count."""
    known = journal.last(entry["clip"])
    return known is None or any(known[name] != entry[name] for name in entry if name not in {"encode_s", "decode_s"})


def _rows(plan: _Plan, journal: Journal) -> Iterator[dict[str, Any]]:
    """Yield the rows of the clips asked for, sorted."""
    for clip in plan.clips:
        row = journal.last(clip)
        if row is not None:
            yield row
