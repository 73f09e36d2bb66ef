"""Arranges clip rows, pairs and frames as sorted arrays, from which application metrics are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import NO_FRAMES, NO_TOTALS, Evidence, Floats, PairedFrames
from codec_superb.applications.probe import SIDES, Probe, ProbeMetric
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.groups import cluster_names
from codec_superb.pipeline.statistics.jackknife import numbered
from codec_superb.pipeline.statistics.mcnemar import Discordant, discordant
from codec_superb.pipeline.tables.rows import ClipRow, CountsRow, FramesRow, KeptRow, PairRow
from codec_superb.pipeline.tables.stored_rows import StoredRows
from codec_superb.plugins import load

Pairs = Mapping[tuple[str, str], Sequence[KeptRow]]
"""By dataset and probe."""
SHORT_S = 2.0
"""A clip below it, in seconds, is marked where a model repeats short clips: one sample more or less, which moves the
seams, was seen to move DNSMOS by up to 0.26."""


@dataclass(frozen=True, slots=True)
class PairedEvidence:
    """Both sides of one probe on one dataset, over the clips that take part, sorted by id."""

    probe: Probe
    clips: tuple[str, ...]
    clusters: NDArray[np.int64]
    """Number of each clip's cluster among those of the dataset, from 0."""
    reference: Evidence
    resynthesis: Evidence

    @property
    def pairs(self) -> int:
        """Trials or ranks."""
        return len(self.reference.scores)


def by_dataset_and_probe(pairs: Iterable[KeptRow]) -> Pairs:
    """Group pairs and frames by what they belong to."""
    groups: dict[tuple[str, str], list[KeptRow]] = defaultdict(list)
    for pair in pairs:
        groups[pair.dataset, pair.probe].append(pair)
    return groups


def paired_evidence_of(
    probe: Probe, rows: Sequence[ClipRow], kept: Iterable[KeptRow], clips: Collection[str] | None = None
) -> PairedEvidence:
    """Collect what a probe kept of the clips of one dataset whose status is ok, of those in ``clips`` where given.

    ``kept`` are its pairs or frames. Those of other clips are left aside where ``clips`` are given; otherwise they are
    a PipelineError.
    """
    taking = [row for row in rows if _takes_part(row, probe.key) and (clips is None or row.clip in clips)]
    chosen = {row.clip: row.probes[probe.key] for row in taking}
    # numbered over all clips of the dataset, so that a number means the same cluster to every probe
    numbers = numbered(cluster_names([[row] for row in rows]))
    number_of = {row.clip: number for row, number in zip(rows, numbers, strict=True)}
    # sorted, so that draws of clips do not depend on the order of rows
    names = tuple(sorted(chosen))
    columns: dict[str, dict[str, Floats]] = {side: {} for side in SIDES}
    for side in SIDES:
        for field in probe.shared:
            columns[side][field.name] = np.array([chosen[name].shared[field.name] for name in names])
        for field in probe.sided:
            columns[side][field.name] = np.array([getattr(chosen[name], side)[field.name] for name in names])
        if probe.pairs == "counts":  # rates a second
            seconds = {row.clip: row.seconds or 0.0 for row in taking}
            columns[side]["seconds"] = np.array([seconds[name] for name in names])
    rows_kept = list(kept)
    pairs = [row for row in rows_kept if isinstance(row, PairRow)]
    counts = probe.pairs == "counts"
    named, (left, right, target, scores) = (
        _counted([row for row in rows_kept if isinstance(row, CountsRow)], names, strict=clips is None)
        if counts
        else ((), _places(probe, pairs, names, strict=clips is None))
    )
    frames = _frames(probe, [row for row in rows_kept if isinstance(row, FramesRow)], names, strict=clips is None)
    totals = scores["reference"] if counts else NO_TOTALS
    sides = {
        side: Evidence(columns[side], left, right, target, scores[side], frames[side], named, totals) for side in SIDES
    }
    clusters = np.array([number_of[name] for name in names], np.int64)
    return PairedEvidence(probe, names, clusters, sides["reference"], sides["resynthesis"])


def _takes_part(row: ClipRow, key: str) -> bool:
    entry = row.probes.get(key)
    return entry is not None and entry.status == "ok"


_Places = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], dict[str, Floats]]


def _places(probe: Probe, pairs: Iterable[PairRow], clips: Sequence[str], *, strict: bool) -> _Places:
    """Pairs as positions, sorted by them, so that nothing depends on the order of the pairs."""
    place = {clip: position for position, clip in enumerate(clips)}
    listed = list(pairs)
    trials = probe.pairs == "trials"
    others = place if trials else _numbered(pair.right for pair in listed)
    table = []
    for pair in listed:
        if pair.left in place and pair.right in others:
            table.append((place[pair.left], others[pair.right], pair.target, pair.reference, pair.resynthesis))
        elif strict:
            raise PipelineError(
                f"pair {pair.left!r}, {pair.right!r} of {pair.dataset!r}: expected clips on which {probe.key} is ok; "
                "probe the run again"
            )
    # sums of floats depend on their order
    table.sort()
    left, right = (np.array([entry[n] for entry in table], np.int64) for n in (0, 1))
    target = np.array([entry[2] for entry in table], np.bool_)
    one, two = (np.array([entry[n] for entry in table], np.float64) for n in (3, 4))
    return left, right, target, {"reference": one, "resynthesis": two}


def _counted(rows: Sequence[CountsRow], clips: Sequence[str], *, strict: bool) -> tuple[tuple[str, ...], _Places]:
    """Return the names of counts, sorted, and the counts as positions among clips and names, sorted by them."""
    place = {clip: position for position, clip in enumerate(clips)}
    if strict and (astray := [row for row in rows if row.clip not in place]):
        raise PipelineError(
            f"counts of {astray[0].clip!r} of {astray[0].dataset!r}: expected clips on which {astray[0].probe} is ok; "
            "probe the run again"
        )
    numbers = _numbered(name for names in {row.names for row in rows} for name in names)
    # clips of a codec have the same names
    among = {names: np.array([numbers[name] for name in names], np.int64) for names in {row.names for row in rows}}
    mine = [row for row in rows if row.clip in place]
    left = np.repeat([place[row.clip] for row in mine], [len(row.names) for row in mine]).astype(np.int64)
    right = np.concatenate([np.zeros(0, np.int64), *(among[row.names] for row in mine)])
    totals, values = (np.concatenate([np.zeros(0), *(row.numbers[side] for row in mine)]) for side in (0, 1))
    # sums of floats depend on their order
    order = np.lexsort((values, totals, right, left))
    scores = {"reference": totals[order], "resynthesis": values[order]}
    return tuple(numbers), (left[order], right[order], np.ones(len(order), np.bool_), scores)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each name, from 0 in their order."""
    return {name: number for number, name in enumerate(sorted(set(names)))}


def _frames(probe: Probe, rows: Sequence[FramesRow], clips: Sequence[str], *, strict: bool) -> dict[str, PairedFrames]:
    """Frames of all clips in the order of the clips; the reference's own side is the reference beside itself."""
    place = {clip: position for position, clip in enumerate(clips)}
    if strict and (astray := [row for row in rows if row.clip not in place]):
        raise PipelineError(
            f"frames of {astray[0].clip!r} of {astray[0].dataset!r}: expected clips on which {probe.key} is ok; "
            "probe the run again"
        )
    mine = sorted((row for row in rows if row.clip in place), key=lambda row: place[row.clip])
    if not mine:
        return dict.fromkeys(SIDES, NO_FRAMES)
    sizes = {row.dimensions for row in mine}
    if len(sizes) > 1:
        raise PipelineError(f"frames of {probe.key}: expected one number of dimensions, got {sorted(sizes)}")
    positions = np.repeat([place[row.clip] for row in mine], [row.kept for row in mine]).astype(np.int64)
    reference, resynthesis = (np.concatenate([row.side(side) for row in mine]) for side in SIDES)
    return {
        "reference": PairedFrames(positions, reference, reference),
        "resynthesis": PairedFrames(positions, reference, resynthesis),
    }


@cache
def probe_metric_function(figure: ProbeMetric) -> Callable[[Evidence, Floats], Floats]:
    """Import what computes a figure; it takes evidence of one side and weights of shape ``(draws, clips)``."""
    function = load(figure.target)

    def compute(evidence: Evidence, weights: Floats) -> Floats:
        arguments = (figure.field,) if figure.field else ()
        # Rounding must not carry a percentage beyond 100.
        return np.asarray(np.clip(function(evidence, weights, *arguments), figure.minimum, figure.maximum))

    return compute


def changed_answers(figure: ProbeMetric, probe: Probe, first: Evidence, second: Evidence) -> Discordant | None:
    """Count clips that only one of two sides answers rightly; None for all figures but the accuracy of a task."""
    if probe.definition is None or figure.key != probe.primary or figure.field != "correct":
        return None
    return discordant(first.values[figure.field], second.values[figure.field])


def is_computed_from_pairs(figure: ProbeMetric, probe: Probe) -> bool:
    """Whether a figure is computed from pairs; a mean is not, even of a probe that keeps some."""
    return bool(probe.pairs) and not figure.field


def probes_present(rows: Iterable[ClipRow]) -> tuple[str, ...]:
    """Probes that some of the rows have an entry of, in the order of the table."""
    found = {key for row in rows for key in row.probes}
    return tuple(key for key in PROBES if key in found)


def short_clips(rows: Iterable[ClipRow], info: ProbeInfo, dataset: str) -> tuple[str, ...]:
    """Return the clips below :data:`SHORT_S` behind the figures of a probe whose model repeats short clips."""
    if "short_clips" not in info.settings:
        return ()
    its = (row for row in rows if row.dataset == dataset and _takes_part(row, info.probe))
    return tuple(row.clip for row in its if (row.seconds or 0.0) < SHORT_S)


def only_probes(rows: StoredRows, pairs: Iterable[KeptRow], keys: Collection[str]) -> tuple[StoredRows, list[KeptRow]]:
    """Leave out the entries of probes other than ``keys``: those of an unfinished probing, which ``run.json`` omits."""
    return rows.only(keys), [pair for pair in pairs if pair.probe in keys]
