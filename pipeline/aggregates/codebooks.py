"""Every count of tokens by codebook, with its interval: what headline figures leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from codec_superb.applications.probe import Probe, ProbeMetric
from codec_superb.applications.table import PROBES
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.estimate import estimate
from codec_superb.pipeline.aggregates.evidence import by_dataset_and_probe, paired_evidence_of
from codec_superb.pipeline.tables.rows import ClipRow, KeptRow
from codec_superb.pipeline.tables.stored_rows import where

_FIGURES = "codec_superb.applications.tokens.figures"
_PER_TOTAL: Mapping[str, tuple[str, float]] = {
    "edits": ("percentage", inf), "drift": ("mean", inf), "bits": ("percentage", inf), "bias": ("mean", inf),
}  # fmt: skip
"""By the first part of a count's name, which figure it becomes, and the largest value of that."""
_SHARE = ("percentage", 100.0)
"""Of all other counts."""


class Counted(NamedTuple):
    """One count of one dataset."""

    dataset: str
    probe: str
    name: str
    """As the clips' counts are named: ``match:recode_2:1``."""
    score: Score
    """Percent of the total, of ``bits:`` of log2 of the entries; of ``drift:`` the metric's mean, of ``bias:`` bits."""


def counts_by_name(rows: Sequence[ClipRow], pairs: Iterable[KeptRow]) -> tuple[Counted, ...]:
    """Return every count over the clips of each dataset, sorted; empty where no probe keeps counts."""
    found = []
    for (dataset, key), kept in sorted(by_dataset_and_probe(pairs).items()):
        if key not in PROBES or PROBES[key].pairs != "counts":
            continue
        sides = paired_evidence_of(PROBES[key], where(rows, "dataset", {dataset}), kept)
        probe = _with_all(PROBES[key], sides.reference.names)
        for figure, estimated in estimate(replace(sides, probe=probe)).items():
            found.append(Counted(dataset, key, figure.field, estimated.scores(figure)["resynthesis"]))
    return tuple(found)


def _with_all(probe: Probe, names: Iterable[str]) -> Probe:
    """Return a probe that reports each of its counts."""
    return replace(probe, metrics=tuple(_figure(name) for name in names))


def _figure(name: str) -> ProbeMetric:
    target, most = _PER_TOTAL.get(name.partition(":")[0], _SHARE)
    least = -inf if target == "mean" else 0.0
    shown = f"{_FIGURES}:{target}"
    return ProbeMetric(
        name, name, "", True, least, most, 3, "", shown, name, interval=not name.startswith(("use:", "bias:"))
    )
