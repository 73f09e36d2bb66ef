"""Probes of a shard of a run: models answer for its clips; what needs all clips is scored when the shards are merged.

That is every score: trials and ranks go across clips, heads are trained on other clips, tokens are counted with tables
of other clips. Scoring takes seconds, answers take hours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from codec_superb.applications.catalogue import Choice, choose
from codec_superb.applications.interface import Model
from codec_superb.applications.plugged import adopt
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.choice import BackendPlan
from codec_superb.pipeline.probing.predictions import Failure, model_digest
from codec_superb.pipeline.probing.store import ProbeStore
from codec_superb.pipeline.runs.info import Predicted
from codec_superb.pipeline.runs.outcome import FailedClip, RunOutcome
from codec_superb.pipeline.runs.provenance import stamp, supersede


def request_of(
    applications: Sequence[str], choices: Sequence[Choice], tasks: Sequence[Path], weights: Path | None, judge: str
) -> Predicted:
    """Return what a call asks, so that the answers of all shards can be scored."""
    return Predicted(
        applications=tuple(applications),
        backends={choice.probe: choice.backend for choice in choices},
        tasks=tuple(str(path.absolute()) for path in tasks),
        weights=None if weights is None else str(weights.absolute()),
        judge=judge,
    )


def choices_of(
    applications: Sequence[str], tasks: Sequence[Path], backends: Sequence[str], answered: Predicted | None
) -> tuple[Choice, ...]:
    """Return which probes run with which backends: those that shards have answered, where ``answered`` is given."""
    names = adopt(applications, tasks)
    if answered is None:
        return choose(names, backends)
    return tuple(Choice(key, backend) for key, backend in answered.backends.items() if key in answered.models)


def note_answered(store: ProbeStore, asked: BackendPlan, model: Model, fresh: Collection[str], device: str) -> None:
    """Note on a shard which model has answered for a probe, with a stamp where it was asked in this call."""
    digest = model_digest(model)
    store.models |= {row.key: digest for row in asked.probes}
    if asked.references_only:
        store.computed |= set(fresh) & store.clips.keys()
    if store.made(digest) or (asked.references_only and fresh):
        name = (asked.second.whole if asked.second else asked.shown or model).name
        new = stamp("probe", device, {row.key: name for row in asked.probes})
        store.info = store.info.model_copy(update={"provenance": supersede(store.info.provenance, new)})


def note_predicted(store: ProbeStore, request: Predicted) -> RunOutcome:
    """Write down that a shard's clips have their answers; a later call about the same probes replaces it."""
    new = request.model_copy(update={"models": store.models})
    kept = tuple(of for of in store.info.predicted if not of.models.keys() <= new.models.keys())
    info = store.info.model_copy(update={"predicted": (*kept, new) if new.models else kept})
    if info != store.folder.info():
        store.folder.write_info(info)
    lost = [FailedClip(clip, "resynth", of.failure) for clip, of in store.clips.items() if of.failure]
    failed = [
        FailedClip(clip, "probe", f"{key}: {answer.reason}")
        for key, digest in store.models.items()
        for clip, of in store.clips.items()
        if of.sha256 and isinstance(answer := store.answer(clip, digest), Failure)
    ]
    done, asked = len(store.computed), len(store.clips)
    outcome = RunOutcome(store.folder.path, info.title, info.dataset.name, "probe", asked, done)
    outcome.reused, outcome.failed = asked - done - len(lost), sorted(lost + failed)
    return outcome


def refuse_missing(clips: Sequence[str], model: Model, where: str) -> None:
    """Raise PipelineError where clips lack an answer that a merge expects."""
    if clips:
        raise PipelineError(
            f"{model.name}: expected its answers on {where} for all clips, found none for {len(clips)}, the first "
            f"{clips[0]}: call probe --shard again for each shard, with the CODEC_SUPERB_HOME of this call"
        )
