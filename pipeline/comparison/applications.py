"""Paired comparison of two codecs' application metrics on shared clips, where the same model answered for both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from pydantic import FiniteFloat

from codec_superb.applications.probe import Probe
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.pipeline.aggregates.estimate import draw_figures, estimate
from codec_superb.pipeline.aggregates.evidence import (
    PairedEvidence,
    by_dataset_and_probe,
    changed_answers,
    is_computed_from_pairs,
    paired_evidence_of,
)
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.statistics.bootstrap import REPLICATES
from codec_superb.pipeline.statistics.groups import cluster_names
from codec_superb.pipeline.statistics.jackknife import Jackknife, numbered
from codec_superb.pipeline.statistics.paired import Difference, difference_of
from codec_superb.record import Record


class PairedApplication(Record):
    """One figure of an application on the clips of a dataset on which the probe is ok for both codecs."""

    dataset: str
    probe: str
    figure: str
    backend: str
    """The model that answered, for both."""
    n: int
    """Clips that take part."""
    pairs: int
    """Trials or ranks behind the figure."""
    only_first: int
    """Clips on which the probe is ok for the first codec only; left out."""
    only_second: int
    """Clips on which it is ok for the second codec only; left out."""
    reference: FiniteFloat | None
    """On the originals of these clips; None where the figure has no value there."""
    result: Difference
    lost: int | None = None
    """Clips answered rightly with the first codec only; None for all figures but the accuracy of a task."""
    gained: int | None = None
    """Clips answered rightly with the second codec only."""
    mcnemar_p: FiniteFloat | None = None
    """McNemar's exact p-value of these two, of clips taken as independent."""


class NotCompared(Record):
    """A probe of a dataset that was not compared."""

    dataset: str
    probe: str
    reason: str


def compare_applications(
    first: Results, second: Results, datasets: Collection[str]
) -> tuple[tuple[PairedApplication, ...], tuple[NotCompared, ...]]:
    """Compare on ``datasets``, which both have in the same state; by dataset and figure, then what was left out."""
    found: list[PairedApplication] = []
    left_out: list[NotCompared] = []
    for dataset in sorted(datasets):
        one, two = _infos(first, dataset), _infos(second, dataset)
        for key in (key for key in PROBES if key in one or key in two):
            reason = _differ(one.get(key), two.get(key))
            sides = None if reason else _shared(PROBES[key], dataset, first, second)
            if isinstance(sides, str) or sides is None:
                left_out.append(NotCompared(dataset=dataset, probe=key, reason=reason or str(sides)))
            else:
                found += _figures(dataset, one[key].backend, *sides)
    return tuple(found), tuple(left_out)


def _infos(results: Results, dataset: str) -> Mapping[str, ProbeInfo]:
    described = results.dataset(dataset)
    return {info.probe: info for info in described.probes} if described else {}


def _differ(one: ProbeInfo | None, two: ProbeInfo | None) -> str:
    """Return why the figures of two codecs cannot be compared; '' where they can."""
    if one is None or two is None:
        return f"only the {'first' if two is None else 'second'} was probed with it"
    if (one.backend, one.model_sha256) != (two.backend, two.model_sha256):
        models = " and ".join(f"{info.backend} ({info.model_sha256[:12]})" for info in (one, two))
        return f"different models answered: {models}"
    if one.version != two.version:
        return f"defined differently: version {one.version} and version {two.version}"
    names = sorted({*one.settings, *two.settings})
    others = [name for name in names if one.settings.get(name) != two.settings.get(name)]
    return f"asked with different settings: {', '.join(others)}" if others else ""


def _shared(
    probe: Probe, dataset: str, first: Results, second: Results
) -> tuple[PairedEvidence, PairedEvidence, tuple[int, int]] | str:
    """Collect both codecs' evidence on shared clips, and how many only one has; or return why there are none."""
    rows = [[row for row in results.rows if row.dataset == dataset] for results in (first, second)]
    taking = [
        {row.clip for row in part if probe.key in row.probes and row.probes[probe.key].status == "ok"} for part in rows
    ]
    clips = taking[0] & taking[1]
    if not clips:
        return "no clip on which it is ok for both"
    # a rank counts the clips before it, so that ranks among other clips are other numbers
    if probe.pairs == "ranks" and taking[0] != taking[1]:
        return "ranks are among other clips: the two did not fail on the same ones"
    groups = [by_dataset_and_probe(results.pairs).get((dataset, probe.key), ()) for results in (first, second)]
    one, two = (paired_evidence_of(probe, part, pairs, clips) for part, pairs in zip(rows, groups, strict=True))
    by_clip = [{row.clip: row for row in part} for part in rows]
    clusters = numbered(cluster_names([[part[clip] for part in by_clip] for clip in one.clips]))
    one, two = (replace(sides, clusters=clusters) for sides in (one, two))
    # codecs have different codebooks, and names of counts with them
    if probe.pairs != "counts" and not _same_pairs(one, two):
        return "they rest on other trials, classes or frames"
    return one, two, (len(taking[0] - clips), len(taking[1] - clips))


def _same_pairs(one: PairedEvidence, two: PairedEvidence) -> bool:
    same = all(
        np.array_equal(getattr(one.reference, name), getattr(two.reference, name))
        for name in ("left", "right", "target")
    )
    return same and np.array_equal(one.reference.frames.clips, two.reference.frames.clips)


def _figures(
    dataset: str, backend: str, one: PairedEvidence, two: PairedEvidence, alone: tuple[int, int]
) -> list[PairedApplication]:
    """Compare figure by figure; both codecs see the same draws, because they have the same clips."""
    # the same seed and clips give the same draws on both sides: the difference is paired
    estimates, drawn = zip(
        *((estimate(sides), draw_figures(sides, dataset, SEED, REPLICATES)) for sides in (one, two)), strict=True
    )
    found = []
    for figure, mine in estimates[0].items():
        both = _resyntheses(mine.found, estimates[1][figure].found)
        if not np.isfinite(both.point).all():
            continue
        result = difference_of(
            both, np.stack([draws[figure][:, 1] for draws in drawn], axis=1), 1 if figure.higher_is_better else -1
        )
        changed = changed_answers(figure, one.probe, one.resynthesis, two.resynthesis)
        found.append(
            PairedApplication(
                dataset=dataset,
                probe=one.probe.key,
                figure=figure.key,
                backend=backend,
                n=mine.n,
                pairs=one.pairs if is_computed_from_pairs(figure, one.probe) else 0,
                only_first=alone[0],
                only_second=alone[1],
                reference=float(mine.found.point[0]) if np.isfinite(mine.found.point[0]) else None,
                result=result if figure.interval else result.model_copy(update={"low": None, "high": None}),
                **({**changed._asdict(), "mcnemar_p": changed.p} if changed else {}),
            )
        )
    return found


def _resyntheses(one: Jackknife, two: Jackknife) -> Jackknife:
    """Put the figures of two codecs on the resyntheses side by side; they are without the same clusters."""
    tables = zip((one.point, *one.left_out), (two.point, *two.left_out), strict=True)
    point, *left_out = (np.stack([mine[..., 1], other[..., 1]], axis=-1) for mine, other in tables)
    return Jackknife(point, tuple(left_out), one.shares)
