"""Kinds of tasks on sets of vectors: clustering, reconstruction, stability."""

from __future__ import annotations

from math import inf

from codec_superb.applications.mseb.clustering import SEEDS
from codec_superb.applications.mseb.kind import Kind
from codec_superb.applications.probe import Field, ProbeMetric
from codec_superb.metrics.table import CATEGORIES

_HERE = "codec_superb.applications.mseb"
_SETS = f"{_HERE}.set_figures"
_CLUSTERS = f"{_HERE}.cluster_figures"
_SCORERS = f"{_HERE}.scorers"

_SQUARED = (0.0, 2.0**40)
"""Of two frames apart. The largest are powers: those of 1,024 samples within ±1 are 2^18.6 together, so such frames are
2^38.2 apart, squared; frames of models are nearer by far."""
_KERNEL = 200.0
"""100 times the means within either side less twice that across, of similarities between 0 and 1."""
_LONGER = (0.0, 2.0)
"""Both sides last as long: of the longer one, with twice as many frames at most, each is an edit."""


def _clustering_metrics(key: str, label: str) -> tuple[ProbeMetric, ...]:
    """Agreement of clusters with labels."""
    return (
        ProbeMetric(
            f"{key}_v", f"{label}: V-measure", "", True, 0.0, 1.0, 3,
            "Mutual information of labels and clusters over the mean of their entropies, mean over ten seeds.",
            f"{_CLUSTERS}:v",
        ),
        ProbeMetric(
            f"{key}_ami", f"{label}: adjusted mutual information", "", True, -1.0, 1.0, 3,
            "V-measure above what clusters of the same sizes have by chance, 1 at best, mean over ten seeds.",
            f"{_CLUSTERS}:ami",
        ),
        ProbeMetric(
            f"{key}_v_chance", f"{label}: V-measure by chance", "", True, 0.0, 1.0, 3,
            "V-measure expected of random clusters of the same sizes, mean over ten seeds.",
            f"{_CLUSTERS}:v_chance", interval=False,
        ),
        ProbeMetric(
            f"{key}_v_reference", f"{label}: V-measure by the originals' clusters", "", True, 0.0, 1.0, 3,
            "V-measure where each clip goes to the nearest centroid of the originals, mean over ten seeds.",
            f"{_CLUSTERS}:v_reference",
        ),
    )  # fmt: skip


_USUAL = {"mseb_reconstruction_spectrogram": (1e8, 1e6)}
"""Greatest Fréchet and mean squared distances that codecs have: of powers Codec2 at 700 bit/s has 140,000."""
_USUAL_FRAMES = (500.0, 1.0)
"""Of YAMNet's: 50 and 0.06; the distance is at most the energy of both sides, 87 each on ``mini``."""
_OTHERS = 1e6
"""Between these two models lies as much: 140,000 of powers; of log-mel frames GSM has 1,300 and 19."""


def _reconstruction_metrics(key: str, label: str) -> tuple[ProbeMetric, ...]:
    """Distances of the frames of the resyntheses from those of the originals."""
    fad, mse = _USUAL.get(key, _USUAL_FRAMES)
    return (
        ProbeMetric(
            f"{key}_fad", f"{label}: Fréchet distance", "", False, 0.0, inf, 3,
            "Fréchet distance of normal densities fitted to the frames of originals and resyntheses.",
            f"{_SETS}:fad", per="frames", bounds=_SQUARED, usual=fad, others=_OTHERS, alike=True,
        ),
        ProbeMetric(
            f"{key}_kad", f"{label}: kernel distance", "", False, -inf, inf, 3,
            "100 times the unbiased squared discrepancy; bandwidth of the originals, pairs of one moment left out.",
            f"{_SETS}:kad", per="frames", bounds=(-_KERNEL, _KERNEL),
        ),
        ProbeMetric(
            f"{key}_kad_compat", f"{label}: kernel distance as published", "", False, 0.0, inf, 3,
            "As in the toolkit: bandwidth of the resyntheses, all pairs, values below 0 shown as 0.",
            f"{_SETS}:kad_compat", per="frames", bounds=(0.0, _KERNEL),
        ),
        ProbeMetric(
            f"{key}_mse", f"{label}: mean squared difference", "", False, 0.0, inf, 4,
            "Mean squared difference of all frames of a clip from those of its original, mean over clips.",
            f"{_HERE.rpartition('.')[0]}.metric_functions:mean", "squared_difference",
            bounds=_SQUARED, usual=mse, others=_OTHERS, alike=True,
        ),
    )  # fmt: skip


def _vector_stability_metrics(key: str, label: str) -> tuple[ProbeMetric, ...]:
    """Drift of a sequence of vectors."""
    return (
        ProbeMetric(
            f"{key}_ced", f"{label}: continuous edit distance", "", False, 0.0, inf, 3,
            "Cost of editing the vectors of the original into those of the resynthesis, over twice their number.",
            f"{_HERE}.stability:ced", per="vectors", bounds=_LONGER, alike=True,
        ),
    )  # fmt: skip


def _code_stability_metrics(key: str, label: str) -> tuple[ProbeMetric, ...]:
    """Drift of a sequence of units."""
    return (
        ProbeMetric(
            f"{key}_ued", f"{label}: unit edit distance", "", False, 0.0, inf, 3,
            "Edits between the units of the original and of the resynthesis, over the units of the original.",
            f"{_HERE}.stability:ued", per="units", bounds=_LONGER, alike=True,
        ),
    )  # fmt: skip


SET_KINDS: dict[str, Kind] = {
    "clustering": Kind(
        "clustering", f"{_SCORERS}.clustering:score", ("vectors",), (Field("label", 0, whole=True),),
        tuple(Field(f"{kind}_{seed}", 0, whole=True, names=True) for kind in ("cluster", "nearest") for seed in SEEDS),
        _clustering_metrics, "v", limits="clustering", joint=True, of_all=True,
    ),
    "reconstruction": Kind(
        "reconstruction", f"{_SCORERS}.reconstruction:score", ("frames",), (Field("frames", 0, whole=True),),
        (Field("squared_difference", 0, ceiling=0.0),), _reconstruction_metrics, "fad", "frames", CATEGORIES,
        limits="reconstruction",
    ),
    "stability of vectors": Kind(
        "stability", f"{_SCORERS}.stability:score_vectors", ("frames",), (Field("vectors", 1, whole=True),),
        (Field("cost", 0, ceiling=0.0),), _vector_stability_metrics, "ced", categories=CATEGORIES,
        limits="stability_of_vectors",
    ),
    "stability of codes": Kind(
        "stability", f"{_SCORERS}.stability:score_codes", ("codes",), (Field("units", 1, whole=True),),
        (Field("edits", 0, whole=True, ceiling=0.0),), _code_stability_metrics, "ued", categories=CATEGORIES,
        limits="stability_of_codes",
    ),
}  # fmt: skip
"""By the name that a task gives."""
