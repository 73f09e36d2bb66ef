"""What a run is described by, and the rows of its table: the same whether its sound was made here or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from codec_superb.pipeline.resynthesis.plan import Plan
from codec_superb.pipeline.runs.dataset_access import location_of
from codec_superb.pipeline.runs.info import DatasetInfo, RunInfo
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.outcome import FailedClip, RunOutcome
from codec_superb.pipeline.runs.probes import drop_probes
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.pipeline.workers.progress import Progress

RowJournal = Journal[ResynthesisRow]


def describe(plan: Plan, before: RunInfo | None) -> RunInfo:
    """Return the info of the requested run; its status is kept where its table has the requested rows."""
    dataset = DatasetInfo(
        name=plan.dataset.name,
        title=plan.dataset.title,
        manifest_hash=plan.dataset.manifest_hash,
        clips=len(plan.dataset),
        selected=len(plan.asked),
        licence=plan.dataset.licence,
        homepage=plan.dataset.homepage,
        citation=plan.dataset.citation,
        location=location_of(plan.spec.spec),
        category=plan.spec.category,
        only=tuple(plan.asked) if plan.named_clips else None,
        shard=plan.shard,
    )
    if before is None:
        return RunInfo(
            card=plan.card, dataset=dataset, condition=plan.condition, spec_hash=plan.spec_hash, status="started"
        )
    # another selection needs another table
    same = (before.dataset.selected, before.dataset.only) == (dataset.selected, dataset.only)
    status = before.status if same else "started"
    return before.model_copy(update={"dataset": dataset, "status": status})


def without_probes(plan: Plan, info: RunInfo, progress: Progress) -> RunInfo:
    """Drop the probe results, which belong to other rows than the new table's; predictions stay in their journal."""
    if info.probes:
        names = ", ".join(info.probes)
        progress.message(f"{plan.folder.path}: its clips are not those that were probed ({names}); probe them again")
    return drop_probes(plan.folder, info)


def rows_of(plan: Plan, journal: RowJournal) -> Iterator[ResynthesisRow]:
    """Yield the rows of the requested clips, sorted."""
    for clip in plan.clips:
        row = journal.last(clip)
        if row is not None:
            yield row


def is_resynthesised(plan: Plan, journal: RowJournal, clip: str) -> bool:
    """Whether a clip has a valid resynthesis; a power loss may have left an empty file, since files are not synced.

    A clip whose category has changed is computed again: the manifest's hash does not cover categories.
    """
    row = journal.last(clip)
    if row is None or row.status != "ok" or row.category != plan.dataset.clip(clip).category:
        return False
    files = [plan.folder.audio_path(clip), *([plan.folder.tokens_path(clip)] if plan.tokens else [])]
    try:
        # a crash of the machine may leave files that were renamed and are empty: they are not synced one by one
        return all(file.stat().st_size for file in files)
    except OSError:
        return False


def is_news(journal: RowJournal, row: ResynthesisRow) -> bool:
    """Whether a row differs from the journal's row of its clip; measured times are ignored."""
    known = journal.last(row.clip)
    # times differ at every run and change no table
    return known is None or row != known.model_copy(update={"encode_s": row.encode_s, "decode_s": row.decode_s})


def outcome_of(
    plan: Plan, journal: RowJournal, done: int, stage: Literal["resynth", "import"] = "resynth"
) -> RunOutcome:
    """Count computed, reused and failed clips."""
    asked = len(plan.clips)
    outcome = RunOutcome(plan.folder.path, plan.title, plan.dataset.name, stage, asked, done, asked - done)
    for row in rows_of(plan, journal):
        if row.status == "failed":
            outcome.failed.append(FailedClip(row.clip, row.stage, f"{row.error_type}: {row.error}"))
    return outcome
