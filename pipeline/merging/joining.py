"""Join the journals and the sound of shards to those of one run, and what their ``run.json`` say to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.merging.in_order import rows_in_order
from codec_superb.pipeline.merging.sets import ShardSet
from codec_superb.pipeline.merging.sound import Takeover
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import CustomMetric, Provenance, RunInfo
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.probes import drop_probes
from codec_superb.pipeline.runs.provenance import supersede
from codec_superb.pipeline.tables.clips import FIXED, shorten
from codec_superb.pipeline.tables.rows import PredictionLine, ResynthesisRow, ScoreLine
from codec_superb.pipeline.workers.executor import Executor, WorkerCrash
from codec_superb.pipeline.workers.in_process import InProcessExecutor
from codec_superb.pipeline.workers.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

IN_WORKERS = 20_000
"""Clips from which on worker processes gain more than they take to start."""
_TIMES = frozenset({"encode_s", "decode_s"})
"""What two computations of one clip differ in."""


class Joined(NamedTuple):
    """What a run took over from its shards."""

    clips: int
    """Clips whose resynthesis it did not have."""
    scores: bool
    """Whether there are scores that its table lacks."""


class _Journals(NamedTuple):
    """The open journals of a run."""

    rows: Journal[ResynthesisRow]
    scores: Journal[ScoreLine] | None
    """None where there are none."""
    predictions: Journal[PredictionLine] | None


class _Shard(NamedTuple):
    """A shard that a worker takes sound and lines from."""

    path: str
    target: str
    wanted: list[NDArray[np.bool_]] | None
    """Which rows of each block of its table the run does not have; None for all."""


class _Lines(NamedTuple):
    """Lines of a journal."""

    clips: list[str]
    """Of each line."""
    lines: list[bytes]


class _Taken(NamedTuple):
    """What stands in the journals of a shard about a block of its clips; the sound is in its place."""

    clips: int
    rows: _Lines
    scores: _Lines
    predictions: _Lines


def join(shards: ShardSet, clips: Sequence[str], metrics: Mapping[str, str], folder: RunFolder, pool: Executor,
         progress: Progress) -> Joined:  # fmt: skip
    """Take over into a locked run what it does not have, then write its table where resyntheses were among it.

    ``clips`` are those of all shards, sorted, ``metrics`` what their tables have, with versions. Raises RunFolderError
    for a run of another specification, or with other sound, before anything is written.
    """
    before = folder.info() if folder.exists() else None
    if before is not None and before.spec_hash != shards.one.spec_hash:
        raise RunFolderError(
            f"{folder.path}: expected the run of these shards, got one of {before.title} with other settings or "
            "another state of the dataset: merge into another --out, or replace it with --overwrite"
        )
    info = _info(shards, before)
    stale = info.status == "started" or not folder.has_table()
    progress.start(f"merge {info.title} on {info.dataset.name}", len(clips))
    with _opened(folder, every=True) as own:
        tasks = [
            _Shard(str(shard.path), str(folder.path), _wanted(shard, folder, own.rows) if own.rows else None)
            for shard in shards.folders.values()
        ]
        if not stale and any(block.any() for task in tasks for block in task.wanted or ()):
            stale = True
            # the table will be older than the journal, which the status must say from here on
            info = info.model_copy(update={"status": "started"})
        if info != before:
            folder.write_info(info)
        taken, scores = _take_over(tasks, own, pool if len(clips) >= IN_WORKERS else InProcessExecutor(), progress)
    if stale:
        info = drop_probes(folder, info)
        folder.write_blocks(rows_in_order(shards, clips, metrics), list(metrics))
        scored = {"status": "scored" if metrics else "resynthesised", "metrics": dict(metrics)}
        folder.write_info(info.model_copy(update=scored | {"custom_metrics": _custom(shards, metrics)}))
    return Joined(taken, scores and not stale)


def _custom(shards: ShardSet, metrics: Mapping[str, str]) -> dict[str, CustomMetric]:
    found = {key: it for info in shards.infos.values() for key, it in info.custom_metrics.items()}
    return {key: found[key] for key in metrics if key in found}


@contextmanager
def _opened(folder: RunFolder, *, every: bool) -> Iterator[_Journals]:
    """Open the journals of a run; without ``every`` those that there are."""
    with ExitStack() as stack:
        yield _Journals(
            stack.enter_context(folder.resynth_journal()),
            stack.enter_context(folder.score_journal()) if every or folder.has_journal("score") else None,
            stack.enter_context(folder.probe_journal()) if every or folder.has_journal("probe") else None,
        )


def _wanted(shard: RunFolder, folder: RunFolder, own: Journal[ResynthesisRow]) -> list[NDArray[np.bool_]]:
    """Tell which rows of a shard the run lacks. Raises RunFolderError where it has another resynthesis of a clip."""
    return [
        np.array([
            _is_other(row, known, folder)
            for row, known in zip(block.to_pylist(), own.newest(block["clip"].to_pylist()), strict=True)
        ], bool)
        for block in shard.blocks(list(FIXED))
    ]  # fmt: skip


def _is_other(row: dict[str, Any], known: dict[str, Any] | None, folder: RunFolder) -> bool:
    if known is None:
        return True
    if known.get("status") == row["status"] == "ok" and known.get("resynthesis_sha256") != row["resynthesis_sha256"]:
        raise RunFolderError(
            f"{folder.path}: expected the run of these shards, got other sound of {row['clip']!r}: merge into another "
            "--out, or replace it with --overwrite"
        )
    lost = row["status"] == "ok" and not folder.audio_path(row["clip"]).is_file()
    same = known | {"error": shorten(known.get("error") or "")}
    return lost or any(row[name] != same.get(name) for name in FIXED if name not in _TIMES)


def _take_over(tasks: Sequence[_Shard], own: _Journals, pool: Executor, progress: Progress) -> tuple[int, bool]:
    """Append what workers find in the shards; return the number of rows, and whether there were scores."""
    taken, scores = 0, False
    # in an empty journal nothing is looked for, however much is appended to it
    scored, predicted = bool(own.scores), bool(own.predictions)
    with closing(pool.stream(_taken, tasks)) as events:
        for event in events:
            if isinstance(event, WorkerCrash):
                raise PipelineError(
                    f"{event.task.path}: {event.reason} while it was merged: call merge again, it goes on where it was"
                    f"\n{event.log}".rstrip()
                )
            found: _Taken = event.value
            own.rows.append_lines(*found.rows)
            taken += len(found.rows.lines)
            scores |= _append(own.scores, found.scores, compare=scored)
            _append(own.predictions, found.predictions, compare=predicted)
            progress.advance(found.clips)
    return taken, scores


def _append(own: Journal[ScoreLine] | Journal[PredictionLine] | None, found: _Lines, *, compare: bool) -> bool:
    """Append the lines that a journal does not have; return whether there were any."""
    assert own is not None
    known = {line for _, line, _ in own.lines(list(dict.fromkeys(found.clips)))} if compare else ()
    new = [pair for pair in zip(*found, strict=True) if pair[1] not in known]
    own.append_lines([clip for clip, _ in new], [line for _, line in new])
    return bool(new)


def _taken(task: _Shard) -> Iterator[_Taken]:
    """Give a run the sound of a shard, and yield the lines of its journals, in the order of its table."""
    shard, folder = RunFolder(Path(task.path)), RunFolder(Path(task.target))
    take = Takeover(shard, folder)
    with shard.lock(), _opened(shard, every=False) as its:
        for number, block in enumerate(shard.blocks(["clip", "status", "resynthesis_sha256"])):
            clips = block["clip"].to_pylist()
            rows = _rows(shard, its.rows, block)
            if task.wanted is not None:
                rows = [row for row, wanted in zip(rows, task.wanted[number], strict=True) if wanted]
            for clip, status, _ in rows:
                if status == "ok":
                    take.sound(clip)
            chosen = _Lines([clip for clip, _, _ in rows], [line for _, _, line in rows])
            yield _Taken(len(clips), chosen, _lines(its.scores, clips), _lines(its.predictions, clips))


def _rows(shard: RunFolder, journal: Journal[ResynthesisRow], block: pa.Table) -> list[tuple[str, str, bytes]]:
    """Return clip, status and newest line of each clip of a block of the table."""
    clips, states, hashes = (block[name].to_pylist() for name in ("clip", "status", "resynthesis_sha256"))
    newest: list[tuple[bytes, dict[str, Any]] | None] = [None] * len(clips)
    for place, line, content in journal.lines(clips):
        newest[place] = line, content
    rows = []
    for clip, status, sha256, found in zip(clips, states, hashes, newest, strict=True):
        if found is None:
            raise RunFolderError(f"{shard.path} has no row for {clip!r}: call resynth --shard again")
        if (status, sha256) != (found[1].get("status"), found[1].get("resynthesis_sha256")):
            raise RunFolderError(
                f"{shard.path}: expected one resynthesis of {clip!r}, got another one in its table than in its "
                "journal: delete its clips.parquet and call resynth --shard again"
            )
        rows.append((clip, status, found[0]))
    return rows


def _lines(journal: Journal[Any] | None, clips: list[str]) -> _Lines:
    found = _Lines([], [])
    for place, line, _ in journal.lines(clips) if journal is not None else ():
        found.clips.append(clips[place])
        found.lines.append(line)
    return found


def _info(shards: ShardSet, before: RunInfo | None) -> RunInfo:
    """Return the info of the run, without what its tables have."""
    infos = list(shards.infos.values())
    # a shard without a clip has opened no codec
    made = [info for info in infos if info.provenance] or infos
    counted = [info.operations for info in infos if info.operations is not None]
    stamps = before.provenance if before else ()
    for stamp in _stamps(infos):
        stamps = supersede(stamps, stamp)
    dataset = made[0].dataset.model_copy(update={"shard": None})
    update: dict[str, Any] = {
        "card": made[0].card,
        "dataset": dataset,
        "codec_files": {path: digest for info in infos for path, digest in info.codec_files.items()},
        # of the first clip by its id that has a resynthesis, as where nothing was divided
        "operations": min(counted, key=lambda found: found.clip) if counted else None,
        "provenance": stamps,
    }
    if before is None:
        cleared = {"status": "started", "metrics": {}, "custom_metrics": {}, "predicted": ()}
        return made[0].model_copy(update=update | cleared)
    same = (before.dataset.selected, before.dataset.only) == (dataset.selected, dataset.only)
    return before.model_copy(update=update | {"status": before.status if same else "started"})


def _stamps(infos: Iterable[RunInfo]) -> list[Provenance]:
    """Return a stamp for each machine and stage, with the command and time of its last shard.

    Which implementations of metrics ran follows from the categories of a shard's clips: the stamps of scoring are one.
    """
    found: dict[str, Provenance] = {}
    stages = ("resynth", "imported", "score", "probe")
    every = [stamp for info in infos for stamp in info.provenance]
    for stamp in sorted(every, key=lambda stamp: stages.index(stamp.stage)):
        apart = {"command", "started", *(["backends"] if stamp.stage == "score" else [])}
        key = stamp.model_dump_json(exclude=apart)
        known = found.pop(key, stamp)
        found[key] = stamp.model_copy(update={"backends": dict(sorted((known.backends | stamp.backends).items()))})
    return list(found.values())
