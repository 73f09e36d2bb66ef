"""Join the journals and the sound of shards to those of one run, and what their ``run.json`` say to one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from codec_superb.data_manifests.files import replacing
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.merging.sets import ShardSet
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import Provenance, RunInfo
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.probes import drop_probes
from codec_superb.pipeline.runs.provenance import supersede
from codec_superb.pipeline.tables.rows import ClipRow, PredictionLine, ResynthesisRow, ScoreLine
from codec_superb.pipeline.workers.progress import Progress

L = TypeVar("L", ScoreLine, PredictionLine)


class Joined(NamedTuple):
    """What a run took over from its shards."""

    clips: int
    """Clips whose resynthesis it did not have."""
    scores: bool
    """Whether scores were among it."""


class _Journals(NamedTuple):
    """The open journals of a run."""

    rows: Journal[ResynthesisRow]
    scores: Journal[ScoreLine] | None
    """None where there are none."""
    predictions: Journal[PredictionLine] | None


def join(shards: ShardSet, clips: Sequence[str], folder: RunFolder, progress: Progress) -> Joined:
    """Take over into a locked run what it does not have, then write its table where resyntheses were among it.

    ``clips`` are those of all shards, sorted. Raises RunFolderError for a run of another specification, or with other
    sound.
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
    taken, scores = 0, False
    with _opened(folder, every=True) as own:
        if info != before:
            folder.write_info(info)
        for shard in shards.folders.values():
            with shard.lock(), _opened(shard, every=False) as its:
                for clip, _ in shard.resyntheses():
                    if _is_other(row := _row(shard, its, clip), own.rows.last(clip), folder):
                        if not stale:
                            stale = True
                            # the table is now older than the journal, which the status must say from here on
                            folder.write_info(info.model_copy(update={"status": "started"}))
                        _take_sound(shard, folder, row)
                        own.rows.append(row)
                        taken += 1
                    scores |= _add(own.scores, its.scores, clip)
                    _add(own.predictions, its.predictions, clip)
                    progress.advance()
        if stale:
            info = drop_probes(folder, info)
            folder.write_rows(map(ClipRow.of, _rows(folder, own, clips)), metrics=())
            info = info.model_copy(update={"status": "resynthesised", "metrics": {}, "custom_metrics": {}})
            folder.write_info(info)
    return Joined(taken, scores)


@contextmanager
def _opened(folder: RunFolder, *, every: bool) -> Iterator[_Journals]:
    """Open the journals of a run; without ``every`` those that there are."""
    with ExitStack() as stack:
        yield _Journals(
            stack.enter_context(folder.resynth_journal()),
            stack.enter_context(folder.score_journal()) if every or folder.has_journal("score") else None,
            stack.enter_context(folder.probe_journal()) if every or folder.has_journal("probe") else None,
        )


def _row(folder: RunFolder, journals: _Journals, clip: str) -> ResynthesisRow:
    row = journals.rows.last(clip)
    if row is None:
        raise RunFolderError(f"{folder.path} has no row for {clip!r}: call resynth --shard again")
    return row


def _rows(folder: RunFolder, journals: _Journals, clips: Iterable[str]) -> Iterator[ResynthesisRow]:
    return (_row(folder, journals, clip) for clip in clips)


def _is_other(row: ResynthesisRow, known: ResynthesisRow | None, folder: RunFolder) -> bool:
    """Whether the run lacks a row. Raises RunFolderError where it has another resynthesis of the clip."""
    if known is None:
        return True
    if known.status == row.status == "ok" and known.resynthesis_sha256 != row.resynthesis_sha256:
        raise RunFolderError(
            f"{folder.path}: expected the run of these shards, got other sound of {row.clip!r}: merge into another "
            "--out, or replace it with --overwrite"
        )
    lost = row.status == "ok" and not folder.audio_path(row.clip).is_file()
    return lost or row != known.model_copy(update={"encode_s": row.encode_s, "decode_s": row.decode_s})


def _add(own: Journal[L] | None, its: Journal[L] | None, clip: str) -> bool:
    """Append the lines of a clip that the run does not have; return whether there were any."""
    if own is None or its is None:
        return False
    known = list(own.entries(clip))
    new = [line for line in its.entries(clip) if line not in known]
    for line in new:
        own.append(line)
    return bool(new)


def _take_sound(shard: RunFolder, folder: RunFolder, row: ResynthesisRow) -> None:
    """Give the run the audio of a clip, and its tokens where they were stored."""
    if row.status == "ok":
        _take(shard.audio_path(row.clip), folder.audio_path(row.clip))
        if (tokens := shard.tokens_path(row.clip)).is_file():
            _take(tokens, folder.tokens_path(row.clip))


def _take(source: Path, target: Path) -> None:
    """Link a file, or copy it to another file system; files of a run are replaced, never written into."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target, sync=False) as temporary:
        try:
            os.link(source, temporary)
        except FileNotFoundError:
            raise RunFolderError(f"expected {source}, found no such file: call resynth --shard again") from None
        except OSError:
            shutil.copyfile(source, temporary)


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
