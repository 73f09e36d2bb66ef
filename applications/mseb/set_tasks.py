"""Tasks on sets of vectors: clustering, reconstruction and stability, as probes."""

from __future__ import annotations

from codec_superb.applications.mseb import set_kinds
from codec_superb.applications.probe import Probe
from codec_superb.metrics.table import CATEGORIES, Category

_PAPER = "Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025"
_SCORERS = "codec_superb.applications.mseb.scorers"
_SPEECH: tuple[Category, ...] = ("speech",)


def _clustering(name: str, label: str, categories: tuple[Category, ...], backend: str, title: str) -> Probe:
    key = f"mseb_clustering_{name}"
    return Probe(
        key=key,
        label=title,
        needs=(label,),
        categories=categories,
        shared=set_kinds.CLUSTERING_SHARED,
        sided=set_kinds.CLUSTERING_SIDED,
        pairs="",
        metrics=set_kinds.clustering_metrics(key, title),
        version="1",
        paper=_PAPER,
        backend=backend,
        scorer=f"{_SCORERS}.clustering:score",
        takes=("vectors",),
        options=(("label", label),),
        group="clustering",
        task="Clustering",
        primary=f"{key}_v",
    )


def _reconstruction(name: str, backend: str, title: str) -> Probe:
    key = f"mseb_reconstruction_{name}"
    return Probe(
        key=key,
        label=title,
        needs=(),
        categories=CATEGORIES,
        shared=set_kinds.RECONSTRUCTION_SHARED,
        sided=set_kinds.RECONSTRUCTION_SIDED,
        pairs="frames",
        metrics=set_kinds.reconstruction_metrics(key, title),
        version="1",
        paper=_PAPER,
        backend=backend,
        scorer=f"{_SCORERS}.reconstruction:score",
        takes=("frames",),
        group="reconstruction",
        task="Reconstruction",
        primary=f"{key}_kad",
    )


def _stability(name: str, role: str, backend: str, title: str) -> Probe:
    key = f"mseb_stability_{name}"
    vectors = name == "vectors"
    return Probe(
        key=key,
        label=title,
        needs=(),
        categories=CATEGORIES,
        shared=set_kinds.VECTOR_STABILITY_SHARED if vectors else set_kinds.CODE_STABILITY_SHARED,
        sided=set_kinds.VECTOR_STABILITY_SIDED if vectors else set_kinds.CODE_STABILITY_SIDED,
        pairs="",
        metrics=(set_kinds.vector_stability_metrics if vectors else set_kinds.code_stability_metrics)(key, title),
        version="1",
        paper=_PAPER,
        backend=backend,
        scorer=f"{_SCORERS}.stability:score_{name}",
        takes=(role,),
        group="stability",
        task="Stability",
        primary=f"{key}_{'ced' if vectors else 'ued'}",
    )


SET_TASKS: tuple[Probe, ...] = (
    _clustering("speaker", "speaker", _SPEECH, "resemblyzer", "Speaker clustering"),
    _clustering("gender", "extra:gender", _SPEECH, "resemblyzer", "Gender clustering"),
    _clustering("age", "extra:age", _SPEECH, "resemblyzer", "Age clustering"),
    _clustering("events", "events", ("audio", "music"), "yamnet-vectors", "Sound event clustering"),
    _clustering("birds", "extra:birds", ("audio",), "yamnet-vectors", "Bird clustering"),
    _reconstruction("yamnet", "yamnet-frames", "Reconstruction, YAMNet"),
    _reconstruction("spectrogram", "spectrogram-frames", "Reconstruction, power spectrogram"),
    _stability("vectors", "frames", "yamnet-frames", "Stability of vectors"),
    _stability("codes", "codes", "codec-codes:mimi_8cb", "Stability of units"),
)
