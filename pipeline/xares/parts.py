"""On what a track is tried: the datasets of its tasks, of which test shards are indexed from the folder of data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.understanding.measures.table import check_models
from codec_superb.applications.understanding.probes import PREFIX
from codec_superb.applications.xares.configuration import Track
from codec_superb.applications.xares.examples import tasks_tried
from codec_superb.data_manifests.catalogue import is_plugged, load_manifest, manifest_names
from codec_superb.data_manifests.clip_list import current_index
from codec_superb.data_manifests.indexing.index import index_manifest
from codec_superb.data_manifests.manifest import LocalSource, Manifest
from codec_superb.data_manifests.objects.published import shards_at
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.folder import find_runs

LAYOUT = "described_shards"
Say = Callable[[str], None]


def runs_by_dataset(track: Track, runs: Sequence[Path]) -> dict[str, list[Path]]:
    """Group runs by dataset. Raises PipelineError for one that the track does not try."""
    tried = _datasets(track)
    found: dict[str, list[Path]] = {}
    for folder in find_runs(runs) if runs else ():
        dataset = folder.info().dataset.name
        if dataset not in tried:
            raise PipelineError(f"{folder.path}: expected a run on {' or '.join(tried)}, got {dataset}; leave it out")
        found.setdefault(dataset, []).append(folder.path)
    return found


def parts_of(track: Track, data: Place | None, runs: Sequence[Path], say: Say) -> dict[str, list[str]]:
    """Return the probes that decoders are asked on each dataset, told by ``say`` of what is not tried and why.

    With ``data``, these are the test shards below it, indexed where they were not before, and the datasets of ``runs``;
    without it all datasets of the track's tasks but shards. Raises PipelineError where nothing is left, LayoutError for
    a task of which only some shards are there.
    """
    named = runs_by_dataset(track, runs)
    found: dict[str, list[str]] = {}
    for name, definition in tasks_tried(track).items():
        try:
            check_models(definition.task.measure.name)
        except MissingModel as error:
            say(f"{name}: not tried: {error}")
            continue
        here = [
            dataset for dataset in definition.task.datasets if dataset in named or _is_here(dataset, data, say)
        ]  # fmt: skip
        for dataset in here:
            found.setdefault(dataset, []).append(f"{PREFIX}{name}")
        if not here:
            place = "is in shards, and no --data DIR is named" if data is None else f"is not below {data}"
            say(f"{name}: not tried: its test part, {' or '.join(definition.task.datasets)}, {place}")
    if not found:
        place = "" if data is None else f" below {data}"
        raise PipelineError(
            f"track {track.track}: expected the test part of one task at least, found none{place}; see the steps of "
            f"codec-superb datasets index {next(iter(_datasets(track)))}"
        )
    return found


def _datasets(track: Track) -> dict[str, TaskDefinition]:
    return {dataset: of for of in tasks_tried(track).values() for dataset in of.task.datasets}


def _is_here(dataset: str, data: Place | None, say: Say) -> bool:
    manifest = load_manifest(dataset) if dataset in manifest_names() or is_plugged(dataset) else None
    if manifest is None or not (isinstance(manifest.source, LocalSource) and manifest.source.layout == LAYOUT):
        return data is None
    return data is not None and _index(manifest, manifest.source, data, say)


def _index(manifest: Manifest, source: LocalSource, data: Place, say: Say) -> bool:
    """Index the test shards of a task; False where there are none. What was indexed before is taken as it is."""
    if current_index(manifest) is not None:
        return True
    patterns = source.options.get("files", ())
    found = [
        shard for pattern in (patterns if isinstance(patterns, tuple) else ()) for shard in shards_at(data, pattern)[0]
    ]
    if not found:
        return False
    if not isinstance(data, Path) and any(shard.name.endswith(".gz") for shard in found):
        say(f"{manifest.name}: clips of compressed shards cannot be read in a store: unpack those below {data} to .tar")
        return False
    report = index_manifest(manifest, data if isinstance(data, Path) else str(data))
    for line in report.lines():
        say(line)
    return True
