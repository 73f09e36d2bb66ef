"""Training sounds out of publishers' shards: each shard is read once for an encoder, and its frames are kept."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from codec_superb.applications.embed.frames_store import FramesStore, home_of
from codec_superb.applications.errors import MissingLabels, PredictionFailed
from codec_superb.applications.interface import Item, Samples
from codec_superb.applications.understanding.measures.xares import labels_of
from codec_superb.applications.understanding.templates import render
from codec_superb.applications.xares.configuration import Track, TrackTask
from codec_superb.applications.xares.examples import FAMILY, Example, asked, definition_of
from codec_superb.applications.xares.shards import decode, find_shards, read_shard
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.files import file_stamp, write_atomically
from codec_superb.data_manifests.objects.store_path import Place


def examples_of_shards(track: Track, root: Place, store: FramesStore, report: ShardReport) -> dict[str, list[Example]]:
    """Return the training sounds of each task from the shards below ``root``; what cannot be used is in ``report``.

    A shard whose sounds are encoded already is not opened again. Raises ApplicationError for a shard that is missing,
    MissingLabels for a task without shards, or whose shards hold nothing to train on.
    """
    found = {name: list(_examples(name, of, root, store, report)) for name, of in track.tasks.items()}
    for name, examples in found.items():
        classes, labels = track.tasks[name].classes, {label for of in examples for label in labels_of([of.target])}
        if 0 < classes < len(labels):
            report.note("more labels than classes", name, f"expected {classes}, got {len(labels)}")
        if not examples:
            raise MissingLabels(f"{name}: expected sounds with texts in its shards below {root}, got none")
    return found


def _examples(task: str, of: TrackTask, root: Place, store: FramesStore, report: ShardReport) -> Iterator[Example]:
    prompt = _question(task)
    for pattern in of.shards:
        for shard in find_shards(root, pattern):
            for key, target in _indexed(shard, of, store, report):
                length = len(prompt) + len(target)
                yield Example(task, key, prompt, target, length, functools.partial(_gone, shard.name))


def _question(task: str) -> str:
    """Return what is asked: a fixed instruction, since shards have no labels that a prompt could name."""
    definition = definition_of(task)
    return asked(render(definition.prompt(FAMILY), Item("", definition.task.categories[0])))


def _indexed(shard: Place, of: TrackTask, store: FramesStore, report: ShardReport) -> list[tuple[str, str]]:
    """Return key and text of each sample of a shard whose frames are kept, encoding those that are not."""
    said = json.dumps([str(shard.resolve()), _stamp(shard), of.fields, store.digest])
    file = home_of("shards") / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.json"
    if file.is_file():
        index: Mapping[str, list[list[str]]] = json.loads(file.read_text())
        for place in index["faults"]:
            report.note(place[0], place[1])
        return [(key, target) for key, target in index["samples"]]
    own, samples = ShardReport(), []
    for sample in read_shard(shard, of.fields, own, training=True):
        key = hashlib.sha256(sample.audio).hexdigest()
        try:
            store.of(key, functools.partial(decode, sample))
        except PredictionFailed as error:
            own.note("a sound without frames", sample.place, str(error))
            continue
        samples.append((key, sample.target))
    file.parent.mkdir(parents=True, exist_ok=True)
    faults = [(kind, f"{shard.name}") for kind in own.faults.elements()]
    # last: a shard that was read in part is read again
    write_atomically(file, json.dumps({"samples": samples, "faults": faults}).encode())
    report.faults += own.faults
    report.examples += own.examples[: max(0, 20 - len(report.examples))]
    return samples


def _stamp(shard: Place) -> tuple[int, int] | tuple[int, str]:
    return file_stamp(shard) if isinstance(shard, Path) else shard.state()[1:]


def _gone(shard: str, _rate: int) -> Samples:
    raise PredictionFailed(f"its frames, from {shard}, were removed; remove xares/shards of the program's home too")
