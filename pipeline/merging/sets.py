"""Find the shards of each run, and say of each how far it has come and which command goes on with it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from codec_superb.data_manifests import Dataset
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.dataset_access import dataset_of_run
from codec_superb.pipeline.runs.folder import RunFolder, find_shards
from codec_superb.pipeline.runs.info import Provenance, RunInfo
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.runs.shard import Shard, divided_by_length, shard_of_folder

_PROGRAM = "codec-superb"


@dataclass(frozen=True, slots=True)
class ShardSet:
    """The shards of one run, those of them that are there."""

    target: Path
    """Folder of the run that they are merged into."""
    count: int
    folders: dict[int, RunFolder]
    """By index, sorted."""
    infos: dict[int, RunInfo]

    @property
    def one(self) -> RunInfo:
        """What any of them says about the run."""
        return next(iter(self.infos.values()))

    def shard(self, index: int) -> Shard:
        """Return a shard by its index."""
        return Shard(index=index, count=self.count)

    def open_dataset(self) -> Dataset:
        """Open the dataset. Raises DatasetError, and RunFolderError where it has changed since."""
        return dataset_of_run(self.one.dataset)


class ShardState(NamedTuple):
    """How far a shard has come."""

    run: Path
    shard: Shard
    clips: int
    """Clips of the shard."""
    resynthesised: int
    """How many of them have a row, failed ones included."""
    stages: tuple[str, ...]
    """What is complete: ``resynth``, ``score``, and each probe."""
    todo: str
    """The command that goes on with it; '' where nothing is left to do."""


def find_sets(paths: Iterable[Path], out: Path | None) -> list[ShardSet]:
    """Find the shards below ``paths`` and group them by the runs that they belong to.

    ``out`` is the folder of the merged runs, by default that of the shards. Raises RunFolderError where there are none,
    for a shard that is there twice, and for shards that divide one run differently.
    """
    given = list(paths)
    groups: dict[tuple[str, str], list[RunFolder]] = {}
    for folder in find_shards(given):
        if (found := shard_of_folder(folder.path)) is not None:
            groups.setdefault((folder.path.absolute().parent.name, found[0]), []).append(folder)
    if not groups:
        raise RunFolderError(
            f"expected shards of runs in {', '.join(map(str, given))}, found none: resynth --shard I/N makes them"
        )
    return [_set(codec, run, folders, out) for (codec, run), folders in sorted(groups.items())]


def _set(codec: str, run: str, folders: Sequence[RunFolder], out: Path | None) -> ShardSet:
    name = f"{codec}/{run}"
    found: dict[int, RunFolder] = {}
    counts: dict[int, RunFolder] = {}
    for folder in folders:
        of = shard_of_folder(folder.path)
        assert of is not None
        counts.setdefault(of[1].count, folder)
        if len(counts) > 1:
            got = " and ".join(f"{count} ({one.path})" for count, one in counts.items())
            raise RunFolderError(
                f"{name}: expected shards of one division, got shards of {got}, which overlap: move one away"
            )
        if (other := found.setdefault(of[1].index, folder)) is not folder:
            raise RunFolderError(
                f"{name}: expected each shard once, got shard {of[1]} twice, {other.path} and {folder.path}: name one"
            )
    outs = {folder.path.parent.parent for folder in folders}
    if out is None and len(outs) > 1:
        raise RunFolderError(f"{name}: its shards lie in {len(outs)} folders: say with --out where the run shall be")
    infos = {index: _info(found[index]) for index in sorted(found)}
    place = (out or outs.pop()) / codec / run
    return ShardSet(place, next(iter(counts)), {index: found[index] for index in infos}, infos)


def _info(folder: RunFolder) -> RunInfo:
    info, of = folder.info(), shard_of_folder(folder.path)
    if of is None or info.dataset.shard != of[1]:
        raise RunFolderError(
            f"{folder.path}: expected the shard that its name says, got {info.dataset.shard or 'a whole run'} in "
            "run.json: give it its name back"
        )
    return info


def states(of: ShardSet) -> Iterator[ShardState]:
    """Yield how far each shard of a run has come, those that are missing included."""
    dataset, asked = of.open_dataset(), of.one.dataset
    parts = divided_by_length(dataset, select_clips(dataset, asked.selected, asked.only), of.count)
    wanted = {index: _stages(info) for index, info in of.infos.items()}
    everything = list(dict.fromkeys(stage for stages in wanted.values() for stage in stages))
    for index, clips in enumerate(parts, start=1):
        done = len(of.folders[index].resynthesised() & set(clips)) if index in of.folders else 0
        lacking = [stage for stage in everything or ["resynth"] if stage not in wanted.get(index, ())]
        todo = command_for(of, index, lacking[0]) if lacking else ""
        yield ShardState(of.target, of.shard(index), len(clips), done, tuple(wanted.get(index, ())), todo)


def _stages(info: RunInfo) -> list[str]:
    found = [] if info.status == "started" else ["resynth"]
    found += ["score"] if info.status == "scored" else []
    return found + [f"probe {key}" for of in info.predicted for key in of.models]


def lacking(of: ShardSet) -> Iterator[str]:
    """Yield a sentence for each shard that is missing or lacks a stage that others have, with the command."""
    has = {index: _stages(info) for index, info in of.infos.items()}
    everything = ["resynth", *dict.fromkeys(stage for stages in has.values() for stage in stages if stage != "resynth")]
    for index in range(1, of.count + 1):
        for stage in everything:
            if index not in has or stage not in has[index]:
                what = "is missing" if index not in has else f"has no complete {stage}"
                yield f"{of.target}: shard {of.shard(index)} {what}: {command_for(of, index, stage)}"
                break


def command_for(of: ShardSet, index: int, stage: str) -> str:
    """Return the command that makes a shard, or adds a stage to it: that of another shard with its number."""
    name, _, key = stage.partition(" ")
    stamps = [stamp for info in of.infos.values() for stamp in info.provenance if stamp.stage == name]
    if key:
        stamps = [stamp for stamp in stamps if key in stamp.backends]
    for stamp in reversed(stamps):
        if words := _with_shard(stamp, of.shard(index)):
            return shlex.join([_PROGRAM, *words])
    card, dataset, out = of.one.card.name, of.one.dataset, str(of.target.parent.parent)
    asked = ["--codec", card, "--dataset", dataset.location or dataset.name, "--out", out]
    if name == "resynth":
        return shlex.join([_PROGRAM, name, *asked, "--shard", str(of.shard(index))])
    return later_command(of, index, name, *(["--application", key] if key else []))


def later_command(of: ShardSet, index: int, stage: str, *options: str) -> str:
    """Return the command of a later stage on one shard."""
    place = next(iter(of.folders.values())).path.parent
    return shlex.join([_PROGRAM, stage, str(place), *options, "--shard", str(of.shard(index))])


def _with_shard(stamp: Provenance, shard: Shard) -> list[str]:
    """Return the words of a command for another shard; none where it was no command of one."""
    words = shlex.split(stamp.command)[1:]
    if words[:1] != [stamp.stage]:
        return []
    for number, word in enumerate(words):
        if word == "--shard" and number + 1 < len(words):
            return [*words[: number + 1], str(shard), *words[number + 2 :]]
        if word.startswith("--shard="):
            return [*words[:number], f"--shard={shard}", *words[number + 1 :]]
    return []
