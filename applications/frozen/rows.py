"""The rows of ``xares.linear`` and ``xares.knn``: a method and a label each. Imports no packages, like the table."""

from __future__ import annotations

from codec_superb.applications.probe import Probe
from codec_superb.applications.understanding.kinds import KINDS

METHODS = {"linear": "linear head", "knn": "nearest neighbours"}
LABELS = {
    "emotion": "Emotion", "events": "Sound", "language": "Language", "speaker": "Speaker", "extra:gender": "Gender",
}  # fmt: skip
BACKEND = "faster-whisper-frames"


def frozen_probes() -> tuple[Probe, ...]:
    """Return a row for each method and label."""
    return tuple(_row(method, label) for method in METHODS for label in LABELS)


def _row(method: str, label: str) -> Probe:
    key = f"xares_{method}_{label.removeprefix('extra:')}"
    title = f"{LABELS[label]} by {METHODS[method]}"
    metrics = tuple(metric for metric in KINDS["choice"].metrics(key, title) if not metric.key.endswith("unparsed_pct"))
    return Probe(
        key=key,
        label=title,
        needs=(label,),
        categories=("speech",) if label != "events" else ("speech", "audio", "music"),
        shared=KINDS["choice"].shared,
        sided=KINDS["choice"].sided,
        pairs="",
        metrics=metrics,
        version="2" if method == "linear" else "1",  # of 1 a head was another on another processor
        paper='"X-ARES: A Comprehensive Framework for Assessing Audio Encoder Performance", arXiv:2505.16369',
        backend=BACKEND,
        scorer="codec_superb.applications.frozen.scoring:score",
        takes=("frames", "vectors"),
        group=method,
        task=label.removeprefix("extra:"),
        primary=metrics[0].key,
        limits="codec_superb.applications.understanding.limits:classifier",
        options=(("label", label), ("method", method)),
        joint=True,
    )
