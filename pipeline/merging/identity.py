"""What the shards of a run must have in common: codec, dataset, condition, versions, settings, models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import codec_superb
from codec_superb.base_codec.weights import describe_weights
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.merging.sets import ShardSet, command_for
from codec_superb.pipeline.runs.info import Provenance, RunInfo
from codec_superb.pipeline.tables import strict_json

Facts = Mapping[str, str]
_ABSENT = "none"


def refuse_differences(of: ShardSet) -> None:
    """Raise RunFolderError, which names the shard and what differs, unless all shards are parts of one run."""
    whole = {index: dict(_of_run(info)) for index, info in of.infos.items()}
    # a shard without a clip has opened no codec and asked no model
    made = {index: _of_stages(info) for index, info in of.infos.items() if info.provenance}
    first = next(iter(whole))
    for index, facts in whole.items():
        _compare(of, first, index, "resynth", whole[first], facts)
    for stage in ("resynth", "score", "probe"):
        has = {index: stages[stage] for index, stages in made.items() if stage in stages}
        for index, facts in has.items():
            first = next(iter(has))
            _compare(of, first, index, stage, has[first], facts)
    for stamp in (stamp for info in of.infos.values() for stamp in info.provenance):
        if stamp.tool_version != codec_superb.__version__:
            raise RunFolderError(
                f"{of.target}: expected shards of this version, {codec_superb.__version__}, got shards that "
                f"{stamp.tool_version} has made: merge them with that"
            )


def _compare(of: ShardSet, first: int, index: int, stage: str, expected: Facts, got: Facts) -> None:
    for what in dict.fromkeys([*expected, *got]):
        one, other = expected.get(what, _ABSENT), got.get(what, _ABSENT)
        if one != other:
            raise RunFolderError(
                f"{of.target}: shard {of.shard(index)} differs from shard {of.shard(first)} in {what}: expected {one}, "
                f"got {other}: {command_for(of, index, stage)} --overwrite"
            )


def _of_run(info: RunInfo) -> Iterator[tuple[str, str]]:
    """Yield what a run is of, which is known before any clip."""
    yield "the dataset's manifest", info.dataset.manifest_hash
    selection = strict_json.digest({"clips": info.dataset.selected, "only": info.dataset.only})[:12]
    yield "the clips that are asked for", f"{info.dataset.selected} ({selection})"
    yield "the category that was given", info.dataset.category or _ABSENT
    yield "the condition", info.condition.name if info.condition else "clean"
    yield from (
        (f"the codec's {name}", str(value)) for name, value in info.card.identity().items() if name != "weights"
    )
    yield "the codec's file or its settings", info.spec_hash


def _of_stages(info: RunInfo) -> dict[str, dict[str, str]]:
    """Return what each stage was done with, by stage."""
    stages: dict[str, dict[str, str]] = {}
    for stage in ("resynth", "score", "probe"):
        if stamps := [stamp for stamp in info.provenance if stamp.stage == stage]:
            stages[stage] = _circumstances(stamps)
    if "resynth" in stages:
        stages["resynth"] |= {"the weights": describe_weights(info.card.weights)}
        stages["resynth"] |= {"the delay": f"{info.card.delay_samples} ({info.card.delay_source})"}
    if "probe" in stages:
        asked = {key: digest for of in info.predicted for key, digest in of.models.items()}
        stages["probe"] |= {f"the model of {key}": digest for key, digest in asked.items()}
    return stages


def _circumstances(stamps: Sequence[Provenance]) -> dict[str, str]:
    """Return versions and settings of a stage; machines may differ, a shard may have been resumed on another."""
    found: dict[str, set[str]] = defaultdict(set)
    names = dict.fromkeys(name for stamp in stamps for name in stamp.packages)
    for stamp in stamps:
        found["the version of this program"].add(f"{stamp.tool_version} {stamp.commit or ''}{'+' * bool(stamp.dirty)}")
        found["the version of Python"].add(stamp.python)
        found["the device"].add(stamp.device)
        found["the batch size in seconds"].add(str(stamp.batch_seconds or 0))
        for name in names:
            found[f"the version of {name}"].add(stamp.packages.get(name, _ABSENT))
    return {what: " and ".join(sorted(values)) for what, values in found.items()}


def metric_versions(of: ShardSet) -> dict[str, str]:
    """Return the metrics of all shards with their versions, in the order of the benchmark's table, then plug-ins.

    Raises RunFolderError where two shards have different ones.
    """
    known: dict[str, tuple[int, str]] = {}
    for index, info in of.infos.items():
        for key, version in info.metrics.items():
            first, expected = known.setdefault(key, (index, version))
            _compare(of, first, index, "score", {f"the version of {key}": expected}, {f"the version of {key}": version})
    order = [*METRICS, *sorted(known.keys() - METRICS.keys())]
    return {key: known[key][1] for key in order if key in known}


def refuse_other_backends(of: ShardSet) -> None:
    """Raise RunFolderError where shards computed one metric by different implementations."""
    known: dict[str, tuple[int, str]] = {}
    for index, info in of.infos.items():
        for key, name in (
            pair for stamp in info.provenance if stamp.stage == "score" for pair in stamp.backends.items()
        ):
            first, expected = known.setdefault(key, (index, name))
            what = f"the implementation of {key}"
            _compare(of, first, index, "score", {what: expected}, {what: name})
