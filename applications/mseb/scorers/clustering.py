"""Clustering: whether the clips of one label lie together, on the originals and on the resyntheses.

One vector a clip, as the model gives it. Clusters are found anew on each side, with ten seeds; the clusters of each
are kept, so that every figure is computed from them. ``nearest`` are those of the originals' centroids: where the
resynthesis of a clip falls among the clusters of the originals.

Option of the task: ``label``, as probes name labels (``speaker``, ``extra:age``); of several labels of a clip the first
counts, as in MSEB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.clustering import BATCH, SEEDS, cluster, nearest
from codec_superb.applications.mseb.scorers.sides import matrix, taking_part
from codec_superb.applications.probe import Probe

Floats = NDArray[np.float64]
_TWO = 2


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Cluster the vectors of each side for every seed, and give each label a number.

    Clips without a label are left out, and all where fewer than two labels remain.
    """
    items, outcomes = taking_part(probe, question, lambda _: "")
    labels = [_first(probe, item) for item in items]
    names = sorted(set(labels))
    if len(names) < _TWO:
        reason = f"expected clips of two labels or more, got {len(names)}"
        return ProbeScores({**outcomes, **{item.clip: ClipOutcome("left_out", reason) for item in items}})
    sides = _numbers(question, items, len(names))
    for place, (item, label) in enumerate(zip(items, labels, strict=True)):
        reference, resynthesis = ({name: float(of[place]) for name, of in side.items()} for side in sides)
        shared = {"label": float(names.index(label))}
        outcomes[item.clip] = ClipOutcome("ok", "", shared, reference, resynthesis)
    return ProbeScores(outcomes, settings=_settings(len(names)))


def _first(probe: Probe, item: Item) -> str:
    found = item.label(probe.option("label"))
    return found[0] if isinstance(found, tuple) else str(found)


def _settings(count: int) -> dict[str, Setting]:
    import sklearn

    return {
        "clusters": count,
        "clustering": f"mini-batch k-means of scikit-learn {sklearn.__version__}, batches of {BATCH}",
        "seeds": f"{SEEDS[0]} to {SEEDS[-1]}",
    }


def _numbers(question: ScoringInput, items: Sequence[Item], count: int) -> tuple[Mapping[str, Floats], ...]:
    """Return the numbers of the clusters of all clips by field, of the reference and of the resynthesis."""
    sides = [matrix(side, items).astype(np.float64) for side in (question.reference, question.resynthesis)]
    found: tuple[dict[str, Floats], ...] = ({}, {})
    for seed in SEEDS:
        fitted = [cluster(vectors, count, seed) for vectors in sides]
        _, centroids = fitted[0]
        for numbers, vectors, (clusters, _) in zip(found, sides, fitted, strict=True):
            numbers[f"cluster_{seed}"] = clusters.astype(np.float64)
            numbers[f"nearest_{seed}"] = nearest(vectors, centroids).astype(np.float64)
    return found
