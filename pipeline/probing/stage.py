"""The probe stage: predict on references and resyntheses, journal the predictions, score them, write the tables."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.interface import Model, Terms
from codec_superb.applications.table import PROBES
from codec_superb.applications.text.nearest import Search
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.probing.choice import (
    BackendPlan,
    ProbeGroup,
    examine,
    is_own,
    prepare_all,
    train,
    with_clips,
)
from codec_superb.pipeline.probing.clip import SoundPlace
from codec_superb.pipeline.probing.embedding import Embedder
from codec_superb.pipeline.probing.judging import Judge, is_judged, judge_of
from codec_superb.pipeline.probing.own_codec import OwnCodecs, prepare_own
from codec_superb.pipeline.probing.predictions import PredictionSet, check_dimensions, model_digest, split_failures
from codec_superb.pipeline.probing.predictor import Predictor
from codec_superb.pipeline.probing.reference_predictions import open_references
from codec_superb.pipeline.probing.scoring import (
    Answers,
    ProbeResult,
    SidePredictions,
    collection_settings,
    score_run,
    search_settings,
)
from codec_superb.pipeline.probing.second_stage import SecondStageAnswers, open_second_stage
from codec_superb.pipeline.probing.shards import choices_of, note_answered, note_predicted, refuse_missing, request_of
from codec_superb.pipeline.probing.store import ProbeStore
from codec_superb.pipeline.runs.finished import by_dataset
from codec_superb.pipeline.runs.folder import RunFolder, find_runs
from codec_superb.pipeline.runs.info import Predicted, Provenance, RunInfo
from codec_superb.pipeline.runs.outcome import FailedClip, ProbeCounts, RunOutcome
from codec_superb.pipeline.runs.provenance import stamp, supersede
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue
from codec_superb.pipeline.workers.batches import Length
from codec_superb.pipeline.workers.devices import Device
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress, SilentProgress


@dataclass(frozen=True, slots=True)
class _Call:
    """Options of a call, with its workers and progress reporting."""

    weights: Path | None
    device: Device
    overwrite: bool
    pool: Executor
    progress: Progress
    terms: Terms
    judge: Judge | None = None
    predict: bool = True
    """Whether models are asked; otherwise what the journals have is scored."""


@dataclass(frozen=True, slots=True)
class _Scoring:
    """What the score of one run by one model rests on."""

    store: ProbeStore
    asked: BackendPlan
    group: ProbeGroup
    model: Model
    """Of the first stage."""
    references: References
    device: str
    behind: SecondStageAnswers | None
    judge: Judge | None
    stamped: bool


class References(NamedTuple):
    """A model's predictions on references."""

    answers: PredictionSet
    fresh: frozenset[str]
    """Clips of which they were computed in this call."""


def probe(
    runs: Sequence[Path],
    *,
    applications: Sequence[str],
    backends: Sequence[str] = (),
    tasks: Sequence[Path] = (),
    codecs: Sequence[str] = (),
    codec_weights: str | None = None,
    weights: Path | None = None,
    device: Device = "auto",
    workers: int | None = None,
    overwrite: bool = False,
    budget: float | None = None,
    judge: str = "",
    shard: Shard | None = None,
    answered: Predicted | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[RunOutcome]:
    """Run the probes behind ``applications`` on references and resyntheses of the runs found in ``runs``.

    Predictions are cached: on a reference for all codecs, folders and later commands, on a resynthesis for its run;
    ``overwrite`` computes all again. Results of other probes stay in the run; those of the same probe are replaced.
    ``tasks`` are files or folders of tasks of one's own, which names of ``applications`` may mean.
    ``codecs`` are those that the runs were made with, as they were named: probes of a run's own codec find its file;
    ``codec_weights`` are those that these codecs had, by default those in ``weights``.
    ``judge`` names the configuration of the model that reads the answers of judged tasks.
    ``backends`` names models in place of the defaults, ``weights`` a folder to find them in. ``workers`` limits the
    processes that load small models, one each; a large model has one process with all cores, or the CUDA device.
    ``budget`` is the money that servers may cost in this call; the one that would exceed it ends the call, which can be
    resumed.
    With ``shard`` the models answer for their shards of this number, and ``merge`` scores the answers of all shards
    (``answered``): then no model is asked, and no clip may lack an answer.

    Raises ApplicationError for names, labels and models that are missing, before any work; RunFolderError for a run
    that is not finished or whose dataset has changed; DatasetError for a dataset that is not on this machine.
    """
    choices = choices_of(applications, tasks, backends, answered)
    folders = find_runs(runs, shard)
    groups = [examine(group, choices) for group in by_dataset(folders)]
    here = with_clips(groups, choices)
    asked = prepare_all([choice for choice in here if not is_own(choice)], weights)
    progress = progress or SilentProgress()
    codecs_weights = weights if codec_weights is None else Path(codec_weights)
    own = prepare_own(here, [folder.info() for folder in folders], codecs_weights, progress, codecs)
    terms = Terms(secrets.token_hex(8), overwrite, budget)
    reader = judge_of([choice.probe for choice in here], judge, weights, progress, terms)
    outcomes: dict[Path, RunOutcome] = {}
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers))
        if reader is not None:
            stack.callback(reader.close)
        call = _Call(weights, device, overwrite, pool, progress, terms, reader, answered is None)
        request = request_of(applications, choices, tasks, weights, judge)
        for group in groups:
            for outcome in _probe_group(group, asked, own, call, request):
                outcomes[outcome.path] = outcome
    return [outcomes[folder.path] for folder in folders]


def _probe_group(
    group: ProbeGroup, all_asked: Sequence[BackendPlan], own: OwnCodecs, call: _Call, request: Predicted
) -> list[RunOutcome]:
    """Probe all runs of one dataset together, model by model."""
    with ExitStack() as stack:
        stores = [ProbeStore(folder, group.runs.dataset, stack) for folder in group.runs.folders]
        try:
            here = [plan for asked in all_asked if (plan := asked.only(group.probes))]
            for _, plans in groupby(here, key=lambda plan: id(plan.backend)):
                _ask(list(plans), group, stores, call)
            for of_codec, its in _by_codec(stores, own):
                for plan in of_codec:
                    if (mine := plan.only(group.probes)) is not None:
                        _ask([mine], group, its, replace(call, weights=own.weights))
            if group.runs.shard is not None:
                return [note_predicted(store, request) for store in stores]
        except OSError as error:
            if (fatal := cannot_write(error, "predictions and scores")) is None:
                raise
            raise fatal from error
        keys = [row.key for asked in all_asked for row in asked.probes if row.key in group.probes]
        keys += [key for key in own.keys if key in group.probes]
        return [_outcome(store, keys) for store in stores]


def _by_codec(
    stores: Sequence[ProbeStore], own: OwnCodecs
) -> Iterator[tuple[tuple[BackendPlan, ...], list[ProbeStore]]]:
    """Yield the plans of each codec with its runs: it is opened once for all of them."""
    found: dict[int, tuple[tuple[BackendPlan, ...], list[ProbeStore]]] = {}
    for store in stores:
        plans = own.of(store.info)
        found.setdefault(id(plans), (plans, []))[1].append(store)
    yield from found.values()


def _ask(plans: Sequence[BackendPlan], group: ProbeGroup, stores: Sequence[ProbeStore], call: _Call) -> None:
    """Compute the missing predictions of one model, with each of its prompts, then score each run."""
    predicted = []
    with ExitStack() as stack:
        loaded = plans[0].loaded or train(plans[0], group, call.device)
        predictor = Predictor(
            plans[0].backend, plans[0].entry, loaded, call.weights, group.runs.spec, call.device, call.progress,
            call.pool, stack, terms=call.terms,
        )  # fmt: skip
        for asked in plans:
            model = asked.model if asked.loaded else loaded
            predictor.prompt = asked.prompt
            references = _predict_references(predictor, model, asked, group, stores, call)
            _predict_resyntheses(predictor, model, asked, group, stores, call)
            predicted.append((asked, model, references))
    if group.runs.shard is not None:  # scored once for all shards, by `merge`
        for asked, model, references in predicted:
            for store in stores:
                note_answered(store, asked, model, references.fresh, predictor.device)
        return
    for asked, model, references in predicted:
        with ExitStack() as stack:
            behind = None
            if asked.second is not None:
                embedder = Embedder(asked.second, call.device, call.progress, call.pool, stack)
                behind = open_second_stage(embedder, group.runs.dataset, overwrite=call.overwrite)
            for store in stores:
                _finish(
                    _Scoring(store, asked, group, model, references, predictor.device, behind, call.judge, call.predict)
                )


def _predict_references(
    predictor: Predictor,
    model: Model,
    asked: BackendPlan,
    group: ProbeGroup,
    stores: Sequence[ProbeStore],
    call: _Call,
) -> References:
    """Return the predictions on the references of all clips with a resynthesis in some run.

    Of a server's model the missing resyntheses are predicted along with them: batches are ordered by length, then by
    clip, so that the sides of a clip are asked one after the other and a server that changes affects both.
    """
    seconds = {of.clip: of.seconds for store in stores for of in store.clips.values() if of.sha256}
    items = [item for item in group.items.values() if item.clip in seconds and asked.looks_at(item)]
    digest = model_digest(model)
    key = (group.runs.spec.manifest_hash, digest)
    with open_references(*key, call.progress, group.runs.shard, overwrite=call.overwrite) as known:
        if not call.predict:
            refuse_missing([item.clip for item in items if known.answer(item) is None], model, "references")
        lacking = [item.clip for item in items if call.predict and known.missing(item)]
        todo = [Length(seconds[clip], SoundPlace(clip)) for clip in lacking]
        title = f"{model.name} on references of {group.runs.dataset.name}"
        total = len(items)
        if asked.backend.remote:
            beside = list(_resyntheses(stores, {item.clip for item in items}, digest, call))
            todo += [Length(seconds[of.place.clip], of.place) for of in beside]
            total += len(beside)
            _foretell(asked, todo, call)
        call.progress.start(title, total, total - len(todo))
        for made in predictor.answers(todo):
            if made.place.run < 0:
                known.record(group.items[made.place.clip], made.answer)
            else:
                stores[made.place.run].record(made.place.clip, digest, made.answer)
            call.progress.advance()
        found = {item.clip: answer for item in items if (answer := known.answer(item)) is not None}
    return References(split_failures(found), frozenset(of.place.clip for of in todo if of.place.run < 0))


def _foretell(asked: BackendPlan, todo: Sequence[Length[SoundPlace]], call: _Call) -> None:
    """Say what a server will cost, before the first request."""
    parts = [part for message in (asked.prompt.messages if asked.prompt else ()) for part in message.parts]
    said = asked.backend.foretell([of.seconds for of in todo], sum(len(part.text) for part in parts)) if todo else ""
    if said:
        call.progress.message(said)


def _predict_resyntheses(
    predictor: Predictor,
    model: Model,
    asked: BackendPlan,
    group: ProbeGroup,
    stores: Sequence[ProbeStore],
    call: _Call,
) -> None:
    """Compute and journal the missing predictions on the resyntheses of all runs."""
    if asked.references_only:
        return
    digest = model_digest(model)
    wanted = {clip for clip, item in group.items.items() if asked.looks_at(item)}
    todo = list(_resyntheses(stores, wanted, digest, call))
    heard = [(store, clip) for store in stores for clip, of in store.clips.items() if clip in wanted and of.sha256]
    if not call.predict:
        refuse_missing([clip for store, clip in heard if store.answer(clip, digest) is None], model, "resyntheses")
    codecs = stores[0].info.title if len(stores) == 1 else f"{len(stores)} codecs"
    call.progress.start(f"{model.name} on {codecs}, {group.runs.dataset.name}", len(heard), len(heard) - len(todo))
    for made in predictor.answers(todo):
        stores[made.place.run].record(made.place.clip, digest, made.answer)
        call.progress.advance()


def _resyntheses(
    stores: Sequence[ProbeStore], wanted: set[str], digest: str, call: _Call
) -> Iterator[Length[SoundPlace]]:
    """Yield the resyntheses without a prediction of the model."""
    for number, store in enumerate(stores):
        for clip, of in store.clips.items():
            if call.predict and clip in wanted and store.missing(clip, digest, overwrite=call.overwrite):
                yield Length(of.seconds, SoundPlace(clip, number, str(store.folder.audio_path(clip)), of.sha256))


def _finish(of: _Scoring) -> None:
    """Score one run and write its table, unless nothing has changed."""
    store, asked, group = of.store, of.asked, of.group
    digest = model_digest(of.model)
    items = [group.items[clip] for clip in store.clips]
    heard = SidePredictions(of.references.answers, split_failures(store.answers([item.clip for item in items], digest)))
    model = asked.second.whole if asked.second else asked.shown or of.model
    dataset = group.runs.dataset
    used = [name for row in asked.probes for name in row.collections_of(dataset.collections)]
    collections = {name: dataset.collection(name) for name in used}
    search = asked.second.search if asked.second else Search()
    wanted = {row: {**collection_settings(row, collections), **search_settings(row, search)} for row in asked.probes}
    for row in asked.probes:
        wanted[row] |= of.judge.settings(row) if of.judge else {}
    made = store.made(digest)
    if asked.references_only and of.references.fresh:
        made = True
        store.computed |= of.references.fresh & store.clips.keys()
    if not of.references.fresh and store.is_current(wanted, model, heard.failures(), made=made):
        return
    classes = asked.backend.classes(of.model)
    name = group.runs.dataset.name
    results = []
    for row in asked.probes:
        answers = Answers(heard) if of.behind is None else of.behind.answers(row, heard, items, store)
        answers = answers._replace(collections=collections, judge=of.judge if is_judged(row) else None)
        if row.takes:
            check_dimensions(model.name, answers.sides)
        results.append(score_run(row, name, items, answers, model, group.trials, classes, asked.backend.entries()))
    ran = {row.key: model.name for row in asked.probes}
    # a second stage may have answered from transcripts that an earlier call made
    ran_here = of.stamped and (made or asked.second is not None)
    store.info = put_probes(store.folder, results, stamp("probe", of.device, ran) if ran_here else None)


def _outcome(store: ProbeStore, keys: Sequence[str]) -> RunOutcome:
    """Count the results of the requested probes in the table."""
    result = RunOutcome(store.folder.path, store.info.title, store.info.dataset.name, "probe", asked=0)
    result.probes = {key: ProbeCounts() for key in keys}
    for row in store.folder.rows():
        of = {key: row.probes[key] for key in keys if key in row.probes}
        result.asked += bool(of)
        result.done += row.clip in store.computed
        result.reused += bool(of) and row.status == "ok" and row.clip not in store.computed
        if of and row.status == "failed":
            result.failed.append(FailedClip(row.clip, row.stage, f"{row.error_type}: {row.error}"))
        for key, value in of.items():
            counts = result.probes[key]
            setattr(counts, value.status, getattr(counts, value.status) + 1)
            if value.status == "failed" and row.status == "ok":
                result.failed.append(FailedClip(row.clip, "probe", f"{key}: {value.reason}"))
    return result


def put_probes(folder: RunFolder, results: Sequence[ProbeResult], stamp: Provenance | None) -> RunInfo:
    """Write results into the table of a finished run; each replaces an earlier one of its probe, or of its task.

    A task whose definition has changed is another probe, and the earlier one would stand beside it for ever.
    ``runs/probes.py`` explains the order of the writes.
    """
    info = folder.info()
    new = {result.info.probe: result for result in results}
    tasks = {of.info.definition.task.task for of in results if of.info.definition}
    kept = {
        key: of
        for key, of in info.probes.items()
        if key not in new and not (of.definition and of.definition.task.task in tasks)
    }
    if kept != info.probes:
        info = info.model_copy(update={"probes": kept})
        folder.write_info(info)
    pairs = [pair for pair in folder.pairs() if pair.probe in kept]
    folder.write_pairs([*pairs, *(pair for result in results for pair in result.pairs)])
    values = {key: result.values for key, result in new.items()}
    folder.write_rows(_rows(folder, kept, values), list(info.metrics), _ordered({*kept, *new}))
    probes = kept | {key: result.info for key, result in new.items()}
    stamps = info.provenance if stamp is None else supersede(info.provenance, stamp)
    info = info.model_copy(update={"probes": {key: probes[key] for key in _ordered(probes)}, "provenance": stamps})
    folder.write_info(info)
    return info


def _rows(folder: RunFolder, kept: Iterable[str], new: Mapping[str, Mapping[str, ProbeValue]]) -> Iterator[ClipRow]:
    """Yield the rows of the table with the retained and the new probes."""
    for row in folder.rows():
        probes = {key: row.probes[key] for key in kept if key in row.probes}
        probes |= {key: values[row.clip] for key, values in new.items() if row.clip in values}
        yield row.model_copy(update={"probes": probes})


def _ordered(keys: Iterable[str]) -> list[str]:
    """Sort probes in the order of the probe table."""
    chosen = set(keys)
    return [key for key in PROBES if key in chosen]
