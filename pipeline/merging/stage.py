"""The merge stage: take over sound, rows, scores and answers of all shards, then finish each stage as one run does.

Nothing is computed that a shard has computed: journals are joined, and the tables are written from them by what writes
them for a run that was never divided. A merge that is killed goes on where it was; the shards stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.merging.identity import metric_versions, refuse_differences, refuse_other_backends
from codec_superb.pipeline.merging.in_order import clips_in_order
from codec_superb.pipeline.merging.joining import join
from codec_superb.pipeline.merging.sets import ShardSet, command_for, find_sets, lacking, later_command
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.probing.reference_predictions import join_references
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import Predicted
from codec_superb.pipeline.runs.outcome import RunOutcome
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.scoring.stage import finish
from codec_superb.pipeline.scoring.store import ScoreStore
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress, SilentProgress


@dataclass(frozen=True, slots=True)
class _Checked:
    """Shards that are one run."""

    shards: ShardSet
    clips: Sequence[str]
    """Of all shards, sorted."""
    metrics: dict[str, str]


def merge(
    runs: Sequence[Path],
    *,
    out: Path | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[RunOutcome]:
    """Merge the shards below ``runs`` into ``out/<codec>/<dataset>/``, by default beside them.

    Sound is linked where the file system can, and copied elsewhere. Dataset-level parts of probes are computed here, by
    ``executor``. ``overwrite`` deletes what is there of another run. Raises RunFolderError, before anything is written,
    for shards that are missing, overlap, are not complete, or differ in what makes a run what it is.
    """
    progress = progress or SilentProgress()
    checked = [_check(shards) for shards in find_sets(runs, out)]
    with ExitStack() as stack:
        pool = executor or stack.enter_context(Executor(workers))
        return [_merge(each, pool, progress, overwrite=overwrite) for each in checked]


def _check(shards: ShardSet) -> _Checked:
    """Raise RunFolderError unless the shards are one whole run."""
    refuse_differences(shards)
    refuse_other_backends(shards)
    metrics = metric_versions(shards)
    if other := [key for key, version in metrics.items() if key in METRICS and METRICS[key].version != version]:
        raise RunFolderError(f"{shards.target}: {', '.join(other)}: other versions than this program has: score again")
    if reasons := list(lacking(shards)):
        more = f"; and {len(reasons) - 1} more, see merge --check" if len(reasons) > 1 else ""
        raise RunFolderError(f"{reasons[0]}{more}")
    asked, dataset = shards.one.dataset, shards.open_dataset()
    clips = select_clips(dataset, asked.selected, asked.only)
    if not clips_in_order(shards, clips):
        _refuse_gaps(shards, clips)
    _refuse_unscored(shards)
    return _Checked(shards, clips, metrics)


def _refuse_gaps(shards: ShardSet, clips: Sequence[str]) -> None:
    """Raise RunFolderError, which names a clip that is in two shards, in none, or in one unasked."""
    home: dict[str, int] = {}
    for index, folder in shards.folders.items():
        for clip, _ in folder.resyntheses():
            if (other := home.setdefault(clip, index)) != index:
                raise RunFolderError(
                    f"{shards.target}: expected each clip in one shard, got {clip!r} in shards {shards.shard(other)} "
                    f"and {shards.shard(index)}: {command_for(shards, index, 'resynth')} --overwrite"
                )
    if odd := sorted(home.keys() ^ set(clips)):
        where = "no shard has it" if odd[0] not in home else f"shard {shards.shard(home[odd[0]])} has it unasked"
        raise RunFolderError(
            f"{shards.target}: expected the {len(clips)} clips that were asked for, got {len(home)}: {odd[0]!r}, "
            f"{where}; call {command_for(shards, home.get(odd[0], 1), 'resynth')}, and so for the other shards"
        )


def _refuse_unscored(shards: ShardSet) -> None:
    """Raise RunFolderError where a shard lacks a metric that another has on clips of the same category."""
    has = {index: _scored(folder, shards.infos[index].metrics) for index, folder in shards.folders.items()}
    wanted: dict[str, set[str]] = {}
    for found in has.values():
        for category, keys in found.items():
            wanted.setdefault(category, set()).update(keys)
    for index, found in has.items():
        for category, keys in found.items():
            if lost := sorted(wanted[category] - keys):
                raise RunFolderError(
                    f"{shards.target}: expected {', '.join(lost)} on all clips of {category}, which shard "
                    f"{shards.shard(index)} lacks: {later_command(shards, index, 'score', '--metric', *lost)}"
                )


def _scored(folder: RunFolder, metrics: Iterable[str]) -> dict[str, set[str]]:
    """Return the metrics that the clips of a shard have, by category."""
    states = [f"{key}_status" for key in metrics]
    lacking: dict[str, set[str]] = {}
    for block in folder.blocks(["category", "status", *states]):
        # a clip that failed has all metrics, as failed ones
        made = block.filter(pc.equal(block["status"], "ok"))
        for category in pc.unique(made["category"]).to_pylist():
            its = made.filter(pc.equal(made["category"], category))
            lacking.setdefault(category, set()).update(name for name in states if its[name].null_count)
    return {
        category: {name.removesuffix("_status") for name in states if name not in lost}
        for category, lost in lacking.items()
    }


def _merge(of: _Checked, pool: Executor, progress: Progress, *, overwrite: bool) -> RunOutcome:
    """Make the run, stage by stage; errors of the disk become PipelineError."""
    folder = RunFolder(of.shards.target)
    try:
        with folder.lock():
            if overwrite:
                for shard in of.shards.folders.values():
                    with shard.lock():  # one that is at work is refused before what is there goes
                        pass
                folder.forget("resynth")
            joined = join(of.shards, of.clips, of.metrics, folder, pool, progress)
        if joined.scores or not of.metrics.items() <= folder.info().metrics.items():
            _finish_scores(of, folder)
        for request in _requests(of.shards):
            _finish_probes(of, folder, request, pool, progress)
    except OSError as error:
        if (fatal := cannot_write(error, folder.path)) is None:
            raise
        raise fatal from error
    outcome = RunOutcome(
        folder.path, of.shards.one.title, of.shards.one.dataset.name, "merge", len(of.clips), joined.clips
    )
    outcome.reused = len(of.clips) - joined.clips
    outcome.failed.extend(folder.failures())
    return outcome


def _finish_scores(of: _Checked, folder: RunFolder) -> None:
    """Write scores into a table that stays, with those that it has, as ``score`` does where nothing is left to do."""
    with ExitStack() as stack:
        info = folder.info()
        custom = {key: it for each in of.shards.infos.values() for key, it in each.custom_metrics.items()}
        kept = {"status": "resynthesised", "metrics": info.metrics | of.metrics}
        kept["custom_metrics"] = info.custom_metrics | custom
        store = ScoreStore(folder, (), stack, info=info.model_copy(update=kept))
        store.select(of.clips)
        finish(store)


def _requests(shards: ShardSet) -> tuple[Predicted, ...]:
    """Return what was asked of models; all shards with clips have the same."""
    return max((info.predicted for info in shards.infos.values()), key=len)


def _finish_probes(of: _Checked, folder: RunFolder, asked: Predicted, pool: Executor, progress: Progress) -> None:
    """Score the answers of all shards together."""
    for digest in dict.fromkeys(asked.models.values()):
        join_references(of.shards.one.dataset.manifest_hash, digest, of.shards.count, progress)
    probe(
        [folder.path], applications=asked.applications, tasks=[Path(at) for at in asked.tasks], answered=asked,
        weights=None if asked.weights is None else Path(asked.weights), judge=asked.judge,
        progress=progress, executor=pool,
    )  # fmt: skip
