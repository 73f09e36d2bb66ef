"""Clustering: whether the clips of one label lie together, on the originals and on the resyntheses.

One vector a clip, as the model gives it. Clusters are found anew on each side, with ten seeds; the clusters of each
are kept, so that every figure is computed from them. ``nearest`` are those of the originals' centroids: where the
resynthesis of a clip falls among the clusters of the originals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.clustering import BATCH, SEEDS, cluster, nearest
from codec_superb.applications.probe import Probe, Side

Floats = NDArray[np.float64]
_TWO = 2


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Cluster the vectors of each side for every seed, and give each label a number.

    A clip of several labels counts by the first. Clips without a label are left out, and all where fewer than two
    labels remain; one without both vectors, or with one of another length, is failed.
    """
    outcomes: dict[str, ClipOutcome] = {}
    labels: dict[str, str] = {}
    dimensions = _dimensions(question)
    for item in question.items:
        label = _label(probe, item)
        reason = question.failures.get(item.clip) or _fault(question, item.clip, dimensions)
        if label is None:
            outcomes[item.clip] = ClipOutcome("left_out", f"the clip has no label {probe.option('label')}")
        elif reason:
            outcomes[item.clip] = ClipOutcome("failed", reason)
        else:
            labels[item.clip] = label
    names = sorted(set(labels.values()))
    if len(names) < _TWO:
        alone = ClipOutcome("left_out", f"expected clips of two labels or more, got {len(names)}")
        return ProbeScores(outcomes | dict.fromkeys(labels, alone))
    clips = sorted(labels)
    numbers = _numbers(question, clips, len(names))
    for place, clip in enumerate(clips):
        reference, resynthesis = ({name: float(of[place]) for name, of in numbers[side].items()} for side in numbers)
        label_number = {"label": float(names.index(labels[clip]))}
        outcomes[clip] = ClipOutcome("ok", "", label_number, reference, resynthesis)
    return ProbeScores(outcomes, settings=_settings(len(names)))


def _settings(count: int) -> dict[str, Setting]:
    import sklearn

    return {
        "clusters": count,
        "clustering": f"mini-batch k-means of scikit-learn {sklearn.__version__}, batches of {BATCH}",
        "seeds": f"{SEEDS[0]} to {SEEDS[-1]}",
    }


def _label(probe: Probe, item: Item) -> str | None:
    found = item.label(probe.option("label"))
    return (found[0] if found else None) if isinstance(found, tuple) else found or None


def _dimensions(question: ScoringInput) -> int:
    """Length of the first vector; 0 without any."""
    vectors = (question.reference.get(item.clip) for item in question.items)
    return next((of.size for of in vectors if of is not None and not isinstance(of, str)), 0)


def _fault(question: ScoringInput, clip: str, dimensions: int) -> str:
    for name, side in (("reference", question.reference), ("resynthesis", question.resynthesis)):
        vector = side.get(clip)
        if vector is None or isinstance(vector, str) or vector.shape != (dimensions,):
            got = "no vector" if vector is None or isinstance(vector, str) else f"the shape {vector.shape}"
            return f"{name}: expected a vector of {dimensions} numbers, got {got}"
    return ""


def _numbers(question: ScoringInput, clips: list[str], count: int) -> Mapping[Side, dict[str, Floats]]:
    """Return the numbers of the clusters of each clip by side and field."""
    sides: dict[Side, Floats] = {
        "reference": np.array([question.reference[clip] for clip in clips], np.float64),
        "resynthesis": np.array([question.resynthesis[clip] for clip in clips], np.float64),
    }
    found: dict[Side, dict[str, Floats]] = {"reference": {}, "resynthesis": {}}
    for seed in SEEDS:
        centroids: Floats | None = None
        for name, vectors in sides.items():
            clusters, own = cluster(vectors, count, seed)
            centroids = own if centroids is None else centroids  # of the reference, which comes first
            found[name][f"cluster_{seed}"] = clusters.astype(np.float64)
            found[name][f"nearest_{seed}"] = nearest(vectors, centroids).astype(np.float64)
    return found
