"""The import stage: pair files with clips, distribute them to workers, journal rows, write the table.

What was resynthesised elsewhere becomes a run as ``resynth`` leaves one; scoring and all later stages make no
difference. No sound is shifted: a lag is measured and stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.options import DEFAULT_OPTIONS
from codec_superb.base_codec.returned import BEYOND_S
from codec_superb.data_manifests import Category, open_dataset
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.card import Stated, imported_card
from codec_superb.pipeline.importing.clip import ImportedClip, ImportTask, Source, blank_row, import_clip
from codec_superb.pipeline.importing.sources import Sources, find_sources, source_text
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.resynthesis.plan import Plan
from codec_superb.pipeline.resynthesis.run_table import (
    RowJournal,
    describe,
    is_news,
    is_resynthesised,
    outcome_of,
    rows_of,
    without_probes,
)
from codec_superb.pipeline.resynthesis.token_statistics import TokenCounter, TokenStatistics
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, location_of, refuse_output_inside
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import RunInfo, TakenOver, spec_hash
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.provenance import stamp
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.runs.token_store import read_tokens
from codec_superb.pipeline.tables.rows import ClipRow, ImportLine, ResynthesisRow
from codec_superb.pipeline.workers.executor import Executor, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

LONGEST_S = 0.04
"""Largest difference in length that is fitted, in seconds, where no frame of the codec is longer: frames of speech
coders have 10 to 40 ms, and a decoder that gives whole frames is up to one longer than its input. A card widens it to
:data:`~codec_superb.base_codec.returned.BEYOND_S` at most."""
COUNTED_ENTRIES = 1 << 22
"""Entries of all codebooks together up to which their use is counted."""
_SOURCE = b"imported"
"""Tells the run of an import from a run of a codec with the same card."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What :func:`import_sound` did."""

    outcome: RunOutcome
    card: Card
    strangers: list[str] = field(default_factory=list)
    """Files and lines that belong to no clip."""
    taken_over: TakenOver | None = None
    """None where nothing could be taken over."""
    lag: float | None = None
    """Median lag in milliseconds (positive: late), of the clips with a distinct one; it was not removed."""
    statistics: TokenStatistics | None = None
    """Of the tokens of all clips; None where there are none."""

    @property
    def complete(self) -> bool:
        """Whether every clip has a resynthesis, and every file a clip."""
        return self.outcome.complete and not self.strangers


@dataclass(frozen=True, slots=True)
class _Job:
    """What an import works on."""

    plan: Plan
    sources: Sources
    resample: bool
    longest_s: float
    pool: Executor
    progress: Progress


def import_sound(
    folder: Path,
    dataset: str,
    *,
    stated: Stated,
    out: Path,
    bits: Path | None = None,
    tokens: Path | None = None,
    resample: bool = False,
    category: Category | None = None,
    workers: int | None = None,
    limit: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Imported:
    """Make the run ``out/<name>/<dataset>/`` out of the files below ``folder``; what is unchanged is not read again.

    ``bits`` is a table of the bits of each clip, ``tokens`` a folder of token arrays ``(codebooks, frames)``, by
    default ``folder`` itself; without both the bits are those of ``stated.kbps``, or unknown. A file of another rate
    than its reference fails, or is resampled (soxr VHQ) with ``resample``. Lengths that differ by at most
    :data:`LONGEST_S`, or one block of the codec where its card states a longer one (200 ms at most), are fitted at the
    end. Clips without a resynthesis become failed rows; the next call tries them again.

    Raises PipelineError, DatasetError for what cannot be a run at all.
    """
    progress = progress or SilentProgress()
    given = [
        name for name, value in (("--kbps", stated.kbps), ("--bits", bits), ("--tokens", tokens)) if value is not None
    ]
    if len(given) > 1:
        raise PipelineError(f"give one of --kbps, --bits and --tokens, got {' and '.join(given)}")
    opened = open_dataset(dataset, category=category)
    refuse_output_inside(dataset, opened, out)
    _refuse_mixed_folders(folder, dataset, out)
    sources = find_sources(
        folder, opened, bits=bits, tokens=tokens, declared=stated.kbps is not None, tell=progress.message
    )
    card = imported_card(stated, sources.highest_rate(), codebooks=sources.codebooks(), measured=sources.measured)
    plan = Plan(
        card.name,
        card,
        DatasetSpec(dataset, category, opened.manifest_hash),
        opened,
        select_clips(opened, limit),
        RunFolder(out / card.name / opened.name),
        spec_hash(card, opened.manifest_hash, _SOURCE),
        DEFAULT_OPTIONS,
        None,
        sources.tokens is not None,
    )
    block_s = card.block_frames / card.frame_rate if card.frame_rate else 0.0
    longest_s = max(LONGEST_S, min(block_s, BEYOND_S))
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers))
        return _run(_Job(plan, sources, resample, longest_s, pool, progress), overwrite=overwrite)


def _refuse_mixed_folders(folder: Path, dataset: str, out: Path) -> None:
    """Refuse the references as their own resyntheses, and a run inside of what is imported. Raises PipelineError."""
    place = location_of(dataset)
    if place is not None and folder.resolve() == Path(place).resolve():
        raise PipelineError(f"{folder} is the dataset itself: expected the folder of its resyntheses")
    if out.resolve().is_relative_to(folder.resolve()):
        raise PipelineError(
            f"the output folder {out} lies inside {folder}, whose files are imported; choose another --out"
        )


def _run(job: _Job, *, overwrite: bool) -> Imported:
    """Execute the import under the lock of its run; errors of the disk become PipelineError."""
    folder = job.plan.folder
    try:
        with folder.lock():
            before = _settle(job, overwrite=overwrite)
            with folder.resynth_journal() as rows, folder.import_journal() as lines:
                return _resume(job, before, rows, lines)
    except OSError as error:
        if (fatal := cannot_write(error, folder.path)) is None:
            raise
        raise fatal from error


def _settle(job: _Job, *, overwrite: bool) -> RunInfo | None:
    """Remove or set aside results of another specification; return the info of a run that can be resumed."""
    folder = job.plan.folder
    if overwrite:
        folder.forget("resynth")
    if not folder.exists():
        return None
    before = folder.info()
    if before.spec_hash == job.plan.spec_hash:
        return before
    # renamed, never deleted, as `resynth` does
    place = folder.set_aside()
    job.progress.message(
        f"{folder.path}: the card or the dataset has changed; the old results are kept in {place}, the run is restarted"
    )
    return None


def _resume(job: _Job, before: RunInfo | None, rows: RowJournal, lines: Journal[ImportLine]) -> Imported:
    """Take over the clips that are not in the journals, then write the table if it changes."""
    plan, folder = job.plan, job.plan.folder
    sources = {clip: job.sources.of(clip) for clip in plan.clips}
    texts = {
        clip: source if isinstance(source, str) else source_text(source, resample=job.resample)
        for clip, source in sources.items()
    }
    todo = [
        clip
        for clip in plan.clips
        if (line := lines.last(clip)) is None or line.source != texts[clip] or not is_resynthesised(plan, rows, clip)
    ]
    job.progress.start(f"{plan.title} on {plan.dataset.name}", len(plan.clips), len(plan.clips) - len(todo))
    info = describe(plan, before)
    stale = info.status == "started" or not folder.has_table()
    if todo:
        folder.write_info(info)
    for taken in _taken(job, todo, sources):
        clip = taken.row.clip
        if not stale and is_news(rows, taken.row):
            stale = True
            # the table is now older than the journal, and the status must say so if this process is killed
            folder.write_info(info.model_copy(update={"status": "started"}))
        # the row first: a process that is killed between the two takes the clip over again
        rows.append(taken.row)
        lines.append(_line(taken, texts[clip]))
        job.progress.advance()
    found = list(rows_of(plan, rows))
    made = _taken_over(found, lines)
    if stale:
        info = without_probes(plan, info, job.progress)
        folder.write_rows(map(ClipRow.of, found), metrics=())
        new = stamp("imported", "cpu").model_copy(update={"taken_over": made})
        kept = tuple(old for old in info.provenance if old.stage != "imported")
        info = info.model_copy(update={"status": "resynthesised", "metrics": {}, "provenance": (*kept, new)})
    if stale or info != before:  # while it was at work, it may have said that it had only begun
        folder.write_info(info)
    outcome = outcome_of(plan, len(todo), "import")
    return Imported(outcome, plan.card, job.sources.strangers, made, _lag(found), _statistics(plan, found))


def _taken(job: _Job, todo: Sequence[str], sources: Mapping[str, Source | str]) -> Iterator[ImportedClip]:
    """Yield the rows of the clips: those without files first, the others as workers finish them."""
    plan = job.plan
    tasks = []
    for clip_id in todo:
        clip, source = plan.dataset.clip(clip_id), sources[clip_id]
        if isinstance(source, str):
            lost = {"stage": "load", "error_type": "NoResynthesis", "error": source}
            yield ImportedClip(blank_row(clip).model_copy(update=lost))
            continue
        audio, tokens = str(plan.folder.audio_path(clip_id)), str(plan.folder.tokens_path(clip_id))
        tasks.append(ImportTask(clip, plan.spec, source, plan.card, audio, tokens, job.longest_s, job.resample))
    with closing(job.pool.stream(import_clip, tasks)) as events:
        for event in events:
            if isinstance(event, WorkerCrash):
                lost = {"stage": "worker", "error_type": "WorkerDied", "error": event.reason}
                yield ImportedClip(blank_row(event.task.clip).model_copy(update=lost))
            else:
                yield event.value


def _line(taken: ImportedClip, source: str) -> ImportLine:
    rate = taken.row.sampling_rate
    if taken.fitted is None:
        return ImportLine(clip=taken.row.clip, source=source, from_rate=rate)
    fitted = taken.fitted
    return ImportLine(
        clip=taken.row.clip, source=source, from_rate=fitted.from_rate, added_samples=fitted.added_samples
    )


def _taken_over(rows: Sequence[ResynthesisRow], lines: Journal[ImportLine]) -> TakenOver | None:
    """Count what was done to the sound of a run; None where it has none."""
    done = [(row.sampling_rate or 1, line) for row in rows if row.status == "ok" and (line := lines.last(row.clip))]
    if not done:
        return None
    changes = [1000 * abs(line.added_samples) / rate for rate, line in done if line.added_samples]
    return TakenOver(
        files=len(done),
        fitted=len(changes),
        longest_ms=round(max(changes, default=0.0), 3),
        resampled=sum(line.from_rate != rate for rate, line in done),
    )


def _lag(rows: Sequence[ResynthesisRow]) -> float | None:
    lags = [
        1000 * row.lag_samples / row.sampling_rate for row in rows if row.lag_samples is not None and row.sampling_rate
    ]
    return median(lags) if lags else None


def _statistics(plan: Plan, rows: Sequence[ResynthesisRow]) -> TokenStatistics | None:
    """Return the statistics of the stored tokens; None for none, and for codebooks too large to count their use."""
    sizes = plan.card.codebook_entries
    ok = [row for row in rows if row.status == "ok"]
    if not plan.tokens or sizes is None or not ok or sum(sizes) > COUNTED_ENTRIES:
        return None
    counter = TokenCounter(sizes)
    for row in ok:
        counter.add(read_tokens(plan.folder.tokens_path(row.clip)), row.bits or 0, row.seconds or 0.0)
    return counter.statistics()
