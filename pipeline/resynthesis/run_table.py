"""What a run is described by, and the rows of its table: the same whether its sound was made here or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.dataset import categories
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.resynthesis.plan import Plan
from codec_superb.pipeline.runs.audio_store import file_name as audio_file_name
from codec_superb.pipeline.runs.dataset_access import location_of
from codec_superb.pipeline.runs.info import DatasetInfo, RunInfo
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.probes import drop_probes
from codec_superb.pipeline.runs.selection import batched
from codec_superb.pipeline.tables.clip_columns import BLOCK, block_of
from codec_superb.pipeline.tables.clips import ID_LIMIT
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.pipeline.workers.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

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


def blocks_of(plan: Plan, journal: RowJournal) -> Iterator[pa.Table]:
    """Yield the rows of the requested clips, sorted, in blocks of columns. RunFolderError for one of another kind."""
    for clips in batched(plan.clips, BLOCK):
        contents = [content for content in journal.newest(clips) if content is not None]
        if (block := block_of(contents)) is None:
            # of an older version, which lacks columns, or damaged, which raises
            rows = (journal.last(content["clip"]) for content in contents)
            block = block_of([row.model_dump() for row in rows if row is not None])
        if block is None:
            raise ClipTableError(
                f"{journal.path}: expected ids of at most {ID_LIMIT} characters, got a longer one between "
                f"{clips[0][:40]!r}… and {clips[-1][:40]!r}…"
            )
        yield block


class Left:
    """Those of some clips that are left to do, in their order: a byte a clip, and ids as the clips give them."""

    def __init__(self, clips: Sequence[str], chosen: NDArray[np.bool_]) -> None:
        """Take for each clip whether it is left, shape ``(clips,)``."""
        self._clips, self._chosen = clips, chosen
        self._count = int(np.count_nonzero(chosen))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return compress(self._clips, self._chosen)


def left_to_do(plan: Plan, journal: RowJournal) -> Left:
    """Return the requested clips that have no valid resynthesis, sorted."""
    chosen = (
        content is None or not _is_valid(plan, clip, content.get("status"), content.get("category"), category)
        for clips in batched(plan.clips, BLOCK)
        for clip, content, category in zip(clips, journal.newest(clips), categories(plan.dataset, clips), strict=True)
    )
    return Left(plan.clips, np.fromiter(chosen, bool, len(plan.clips)))


def is_resynthesised(plan: Plan, journal: RowJournal, clip: str) -> bool:
    """Whether a clip has a valid resynthesis."""
    row = journal.last(clip)
    return row is not None and _is_valid(plan, clip, row.status, row.category, plan.dataset.clip(clip).category)


def _is_valid(plan: Plan, clip: str, status: str | None, made_as: str | None, category: str) -> bool:
    """Whether a row stands for a resynthesis; a power loss may have left an empty file, since files are not synced.

    A clip whose category has changed is computed again: the manifest's hash does not cover categories.
    """
    if status != "ok" or made_as != category:
        return False
    try:
        # a crash of the machine may leave files that were renamed and are empty: they are not synced one by one.
        # Not by Path: its stat takes twice the time, of a million clips
        return bool(os.stat(f"{plan.folder.audio}/{audio_file_name(clip)}").st_size) and (  # noqa: PTH116
            not plan.tokens or bool(plan.folder.tokens_path(clip).stat().st_size)
        )
    except OSError:
        return False


def is_news(journal: RowJournal, row: ResynthesisRow) -> bool:
    """Whether a row differs from the journal's row of its clip; measured times are ignored."""
    known = journal.last(row.clip)
    # times differ at every run and change no table
    return known is None or row != known.model_copy(update={"encode_s": row.encode_s, "decode_s": row.decode_s})


def outcome_of(plan: Plan, done: int, stage: Literal["resynth", "import"] = "resynth") -> RunOutcome:
    """Count computed, reused and failed clips of a run whose table is written."""
    asked = len(plan.clips)
    outcome = RunOutcome(plan.folder.path, plan.title, plan.dataset.name, stage, asked, done, asked - done)
    outcome.failed.extend(plan.folder.failures())
    return outcome
