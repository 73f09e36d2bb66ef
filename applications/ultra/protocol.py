"""The protocol of UltraEval-Audio's average: its datasets, metrics and models, and which of them are missing.

Nothing here runs a model: it reads measured metrics and returns whether the average can be computed from them, and
whether the models are those of the published table. A figure of another model (a small Whisper, another speaker
encoder) is not comparable with the published one; :func:`protocol_deviations` names it.

The published speaker model, ``wavlm_large_finetune.pth``, is WavLM-Large under an ECAPA-TDNN head: the backend
``wavlm-large-sv``, which gives its results this name for that very file alone. The usual checkpoint of ``wavlm-sv``,
``wavlm-base-plus-sv``, is another model with other similarities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from codec_superb.applications.averages.composite import Composite
from codec_superb.applications.probe import MOST_ERRORS, ProbeMetric
from codec_superb.applications.ultra.average import DatasetMetrics, Floats, Value, average

Values = Mapping[tuple[str, str], Value]
"""Value of a figure by (dataset, figure key), on one side or for draws of both."""


@dataclass(frozen=True, slots=True)
class UltraDataset:
    """One dataset of the protocol."""

    name: str
    """Of its manifest."""
    language: str
    """BCP 47 tag."""
    error_metric: str
    """Key of the figure behind semantics."""
    opinion_metrics: tuple[str, ...]
    """Keys of the figures behind acoustics, all of them needed."""
    backends: Mapping[str, tuple[str, ...]]
    """By probe: names under which results have the published model, whole."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Keys of all figures that the average needs of this dataset."""
        return (self.error_metric, SIMILARITY, *self.opinion_metrics)


SIMILARITY = "sim_pct"
_DNSMOS = ("dnsmos_ovrl", "dnsmos_p808")
_WHISPER = (
    "faster-whisper:large-v3", "faster-whisper:large", "faster-whisper:local:faster-whisper-large-v3",
    "openai-whisper:large-v3", "openai-whisper:large", "openai-whisper:local:large-v3",
    "transformers-asr:openai/whisper-large-v3", "transformers-asr:local:whisper-large-v3",
)  # fmt: skip
_PARAFORMER_FOLDER = "speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-pytorch"
_PARAFORMER = (f"paraformer:{_PARAFORMER_FOLDER}@v2.0.4", f"paraformer:local:{_PARAFORMER_FOLDER}")
_LISTENERS = {"sim": ("wavlm-large-sv:wavlm_large_finetune",), "dnsmos": ("dnsmos",)}
_ENGLISH: Mapping[str, tuple[str, ...]] = {"asr": _WHISPER, **_LISTENERS, "utmos": ("utmos:utmos22_strong",)}
_CHINESE: Mapping[str, tuple[str, ...]] = {"asr": _PARAFORMER, **_LISTENERS}

DATASETS: tuple[UltraDataset, ...] = (
    UltraDataset("librispeech_dev_clean", "en", "asr_wer_pct", ("utmos", *_DNSMOS), _ENGLISH),
    UltraDataset("librispeech_test_clean", "en", "asr_wer_pct", ("utmos", *_DNSMOS), _ENGLISH),
    UltraDataset("aishell1", "zh", "asr_cer_pct", _DNSMOS, _CHINESE),
)
"""UTMOS takes no part on Chinese."""


ULTRA = Composite(
    ProbeMetric(
        "ultra_average", "UltraEval average", "", True, -inf, 100.0, 2,
        "Mean of nine: 100 minus error rate, speaker similarity and acoustics, on each of three datasets.",
        "codec_superb.applications.ultra.protocol:average_of", bounds=(100.0 * (1.0 - MOST_ERRORS), 100.0),
    ),
    "ultra",
    tuple((row.name, key) for row in DATASETS for key in row.needed),
    "codec_superb.applications.ultra.protocol:protocol_deviations",
)  # fmt: skip
"""The average as a row of the table of composites."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the average can be computed, and its inputs."""

    figures: tuple[DatasetMetrics, ...]
    """In the order of :data:`DATASETS`, for ``average.average``; empty where something is missing."""
    missing: tuple[tuple[str, str], ...]
    """(dataset, figure key) of what was not measured, in the protocol's order."""

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def explained(self) -> str:
        """Return a sentence for people: what is missing of which dataset; '' where nothing is."""
        by_dataset: dict[str, list[str]] = {}
        for dataset, figure in self.missing:
            by_dataset.setdefault(dataset, []).append(figure)
        lacks = "; ".join(f"{', '.join(figures)} on {dataset}" for dataset, figures in by_dataset.items())
        return f"The average of UltraEval-Audio needs {lacks}." if lacks else ""


def readiness(values: Values) -> Readiness:
    """Return whether the nine-term average can be computed from ``values``; other figures are ignored."""
    missing = tuple((row.name, key) for row in DATASETS for key in row.needed if (row.name, key) not in values)
    return Readiness(() if missing else tuple(_figures(row, values) for row in DATASETS), missing)


def _figures(row: UltraDataset, values: Values) -> DatasetMetrics:
    opinions = {key: values[row.name, key] for key in row.opinion_metrics}
    return DatasetMetrics(
        error_rate_pct=values[row.name, row.error_metric],
        similarity_pct=values[row.name, SIMILARITY],
        utmos=opinions.get("utmos"),
        dnsmos_ovrl=opinions.get("dnsmos_ovrl"),
        dnsmos_p808=opinions.get("dnsmos_p808"),
    )


def average_of(values: Values) -> Floats:
    """Return the average of all parts, of the shape of each."""
    return average([_figures(row, values) for row in DATASETS])


def protocol_deviations(backends: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """Return a sentence for each backend, by (dataset, probe), that is not the published table's; none if all are."""
    return tuple(
        f"{row.name}: {probe} was answered by {backends[row.name, probe]}, the published table has {published[0]}"
        for row in DATASETS
        for probe, published in row.backends.items()
        if backends.get((row.name, probe), published[0]) not in published
    )
