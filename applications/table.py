"""The table of probes as data: the labels each needs, the values it keeps of a clip, and its metrics.

Imports no model package, so that the service, the pages and the command line can read it at once.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from codec_superb.applications.averages.composite import Composite
from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.errors import UnknownApplication
from codec_superb.applications.frozen.rows import METHODS, frozen_probes
from codec_superb.applications.mseb.tasks import own_tasks
from codec_superb.applications.probe import MOST_ERRORS, USUAL_ERRORS, Field, Probe, ProbeMetric
from codec_superb.applications.token_contents.rows import contents_probes
from codec_superb.applications.token_models.rows import model_probes
from codec_superb.applications.tokens.rows import token_probes
from codec_superb.applications.ultra.protocol import ULTRA
from codec_superb.applications.understanding.own import grouped, own_probes
from codec_superb.metrics.table import CATEGORIES, Category

_SPEECH: tuple[Category, ...] = ("speech",)
_ROOT = "codec_superb.applications"
_FIGURES = f"{_ROOT}.metric_functions"
_VERIFICATION = f"{_ROOT}.verification"
_ERRORS = (0.0, 100.0 * MOST_ERRORS)
_FARTHEST = 2 * (200 * 13) ** 0.5
"""Of two vectors of 13 coefficients: of 201 numbers none is more than √200 standard deviations from their mean
(Samuelson, How Deviant Can You Be?, 1968)."""
_MOS = (Field("mos", 0.0, 6.0),)


def _mean(
    key: str, label: str, field: str, minimum: float, maximum: float, definition: str, unit: str = ""
) -> ProbeMetric:
    target = f"{_FIGURES}:percentage" if unit == "%" else f"{_FIGURES}:mean"
    return ProbeMetric(key, label, unit, True, minimum, maximum, 2, definition, target, field)


_ROWS = (
    Probe(
        key="asr",
        label="Speech recognition",
        needs=("text",),
        categories=_SPEECH,
        shared=(Field("words", 0, whole=True), Field("characters", 0, whole=True)),
        sided=(
            Field("substitutions", 0, whole=True),
            Field("deletions", 0, whole=True),
            Field("insertions", 0, whole=True),
        ),
        pairs="",
        metrics=(
            ProbeMetric(
                "asr_wer_pct", "Speech recognition: word error rate", "%", False, 0.0, inf, 2,
                "Substitutions, deletions and insertions over the words of all transcripts, after normalising both.",
                f"{_FIGURES}:word_error_rate", per="words", bounds=_ERRORS, usual=USUAL_ERRORS,
            ),
            ProbeMetric(
                "asr_cer_pct", "Speech recognition: character error rate", "%", False, 0.0, inf, 2,
                "As the word error rate, over characters: for Chinese, Japanese and Korean.",
                f"{_FIGURES}:character_error_rate", per="characters", bounds=_ERRORS,
                usual=USUAL_ERRORS,
            ),
        ),
        version="1",
        paper=BACKENDS["faster-whisper"].paper,
        backend="faster-whisper:tiny.en",
        scorer=f"{_ROOT}.asr.scoring:score",
    ),
    Probe(
        key="asv",
        label="Speaker verification",
        needs=("speaker",),
        categories=_SPEECH,
        shared=(Field("trials", 0, whole=True),),
        sided=(),
        pairs="trials",
        metrics=(
            ProbeMetric(
                "asv_eer_pct", "Speaker verification: equal error rate", "%", False, 0.0, 100.0, 2,
                "Rate at which misses equal false alarms, interpolated on the ROC; both clips resynthesised.",
                f"{_VERIFICATION}:equal_error_rate", near=2.5,
            ),
            ProbeMetric(
                "asv_mindcf", "Speaker verification: minimum detection cost", "", False, 0.0, 1.0, 3,
                "Least detection cost over all thresholds, normalised: target prior 0.01, miss and false alarm cost 1.",
                f"{_VERIFICATION}:minimum_detection_cost", interval=False, near=0.05,
            ),
        ),
        version="1",
        paper=f"{BACKENDS['speechbrain'].paper}; NIST Speaker Recognition Evaluation plans",
        backend="resemblyzer",
        scorer=f"{_ROOT}.asv.scoring:score",
    ),
    Probe(
        key="sim",
        label="Speaker similarity",
        needs=(),
        categories=_SPEECH,
        shared=(),
        sided=(Field("similarity", -1.0, 1.0, ceiling=1.0),),
        pairs="",
        metrics=(
            replace(
                _mean(
                    "sim_pct", "Speaker similarity", "similarity", -100.0, 100.0,
                    "Cosine between the speaker embeddings of reference and resynthesis, times 100.", "%",
                ),
                alike=True,
            ),
        ),
        version="1",
        paper=BACKENDS["resemblyzer"].paper,
        backend="resemblyzer",
        scorer=f"{_ROOT}.asv.scoring:score_similarity",
    ),
    Probe(
        key="er",
        label="Emotion recognition",
        needs=("emotion",),
        categories=_SPEECH,
        shared=(),
        sided=(Field("correct", 0.0, 1.0, whole=True),),
        pairs="",
        metrics=(
            _mean(
                "er_accuracy_pct", "Emotion recognition: accuracy", "correct", 0.0, 100.0,
                "Clips whose emotion a classifier trained on the references of the other folds names rightly.", "%",
            ),
        ),
        version="2",
        paper=(
            'Yang et al., "SUPERB: Speech Processing Universal PERformance Benchmark", Interspeech 2021; '
            'Busso et al., "IEMOCAP: Interactive Emotional Dyadic Motion Capture Database", 2008'
        ),
        backend="wavlm-emotion",
        scorer=f"{_ROOT}.er.scoring:score",
        joint=True,
    ),
    Probe(
        key="aec",
        label="Audio event classification",
        needs=("events",),
        categories=("audio", "music"),
        shared=(Field("labels", 0, whole=True),),
        sided=(Field("correct", 0.0, 1.0, whole=True),),
        pairs="ranks",
        metrics=(
            ProbeMetric(
                "aec_map_pct", "Audio event classification: mean average precision", "%", True, 0.0, 100.0, 2,
                "Average precision of each class over all clips, averaged over the classes that have clips.",
                "codec_superb.applications.average_precision:mean_average_precision",
            ),
            _mean(
                "aec_accuracy_pct", "Audio event classification: accuracy", "correct", 0.0, 100.0,
                "Clips whose best-scored class is one of their labels.", "%",
            ),
        ),
        version="1",
        paper=BACKENDS["ast"].paper,
        backend="yamnet",
        scorer=f"{_ROOT}.aec.scoring:score",
    ),
    Probe(
        key="dnsmos",
        label="DNSMOS",
        needs=(),
        categories=_SPEECH,
        shared=(),
        sided=(
            Field("overall", 0.0, 6.0), Field("signal", 0.0, 6.0),
            Field("background", 0.0, 6.0), Field("p808", 0.0, 6.0),
        ),
        pairs="",
        metrics=(
            _mean("dnsmos_ovrl", "DNSMOS P.835, overall", "overall", 0.0, 6.0, "Predicted overall quality, 1 to 5."),
            _mean("dnsmos_sig", "DNSMOS P.835, signal", "signal", 0.0, 6.0, "Predicted quality of the speech, 1 to 5."),
            _mean(
                "dnsmos_bak", "DNSMOS P.835, background", "background", 0.0, 6.0,
                "Predicted freedom from noise, 1 to 5.",
            ),
            _mean("dnsmos_p808", "DNSMOS P.808", "p808", 0.0, 6.0, "Predicted listening quality after P.808, 1 to 5."),
        ),
        version="1",
        paper=f"{BACKENDS['dnsmos'].paper}; DNSMOS, ICASSP 2021",
        backend="dnsmos",
        scorer=f"{_ROOT}.quality.scoring:score",
    ),
    Probe(
        key="distillmos",
        label="DistillMOS",
        needs=(),
        categories=_SPEECH,
        shared=(),
        sided=_MOS,
        pairs="",
        metrics=(_mean("distillmos", "DistillMOS", "mos", 0.0, 6.0, "Predicted mean opinion score, 1 to 5."),),
        version="1",
        paper=BACKENDS["distillmos"].paper,
        backend="distillmos",
        scorer=f"{_ROOT}.quality.scoring:score",
    ),
    Probe(
        key="utmos",
        label="UTMOS",
        needs=(),
        categories=_SPEECH,
        shared=(),
        sided=_MOS,
        pairs="",
        metrics=(_mean("utmos", "UTMOS", "mos", 0.0, 6.0, "Predicted naturalness of synthetic speech, 1 to 5."),),
        version="1",
        paper=BACKENDS["utmos"].paper,
        backend="utmos",
        scorer=f"{_ROOT}.quality.scoring:score",
    ),
    Probe(
        key="visqol",
        label="ViSQOL",
        needs=(),
        categories=CATEGORIES,
        shared=(),
        sided=_MOS,
        pairs="",
        metrics=(
            _mean("visqol", "ViSQOL", "mos", 0.0, 6.0, "Predicted similarity to the reference: speech or audio mode."),
        ),
        version="1",
        paper=BACKENDS["visqol"].paper,
        backend="visqol",
        scorer=f"{_ROOT}.quality.scoring:score",
    ),
    Probe(
        key="warpq",
        label="WARP-Q",
        needs=(),
        categories=_SPEECH,
        shared=(),
        sided=(Field("distance", 0.0),),
        pairs="",
        metrics=(
            ProbeMetric(
                "warpq", "WARP-Q", "", False, 0.0, inf, 3,
                "Distance between reference and resynthesis under dynamic time warping of their cepstra.",
                f"{_FIGURES}:mean", "distance", bounds=(0.0, _FARTHEST), usual=10.0, alike=True,
            ),
        ),
        version="1",
        paper=(
            'Jassim, Skoglund, Chinen and Hines, "WARP-Q: Quality Prediction for Generative Neural Speech Codecs", '
            "ICASSP 2021"
        ),
        backend="warpq",
        scorer=f"{_ROOT}.quality.scoring:score",
    ),
)  # fmt: skip

_MSEB = own_tasks()
_TASKS = own_probes()
_FROZEN = frozen_probes()
_TOKENS = token_probes()
_LEARNT = (*model_probes(), *contents_probes())
PROBES: dict[str, Probe] = {row.key: row for row in (*_ROWS, *_MSEB.probes, *_TASKS, *_FROZEN, *_TOKENS, *_LEARNT)}
PROBE_METRICS: dict[str, ProbeMetric] = {metric.key: metric for row in PROBES.values() for metric in row.metrics}
AVERAGES: dict[str, Composite] = {row.figure.key: row for row in (ULTRA, *_MSEB.composites)}
"""Figures over several probes and datasets, computed from the values of single figures and never from clips."""
COMPOSITES: dict[str, ProbeMetric] = {key: row.figure for key, row in AVERAGES.items()}
APPLICATIONS: dict[str, tuple[str, ...]] = {
    "asr": ("asr",),
    "asv": ("asv", "sim"),
    "er": ("er",),
    "aec": ("aec",),
    "quality": ("dnsmos",),
    "ultra": ("asr", "sim", "utmos", "dnsmos"),
    **_MSEB.applications,
    **grouped(_TASKS),
    **{row.key.replace("_", ".", 1): (row.key,) for row in (*_TOKENS, *_LEARNT)},
    "tokens": tuple(row.key for row in _TOKENS),
    **{f"xares.{method}": tuple(row.key for row in _FROZEN if row.group == method) for method in METHODS},
}
"""What ``--application`` takes, and the probes behind it; a probe's own key is taken as well."""
BENCHMARKS = frozenset({"mseb", "understanding", "xares"})
"""Applications whose tasks need different datasets; ``NAME.GROUP`` is one of their groups."""


def is_benchmark(application: str) -> bool:
    """Whether a name stands for tasks of a benchmark, of which a dataset takes those that it has labels for."""
    return application.partition(".")[0] in BENCHMARKS


def put(row: Probe) -> None:
    """Let a row join the tables; those that are not shipped stand behind the others, by key.

    Their order must not depend on which was asked for first: figures are written and compared in it.
    """
    PROBES[row.key] = row
    PROBE_METRICS.update({metric.key: metric for metric in row.metrics})
    for key in sorted(key for key, other in PROBES.items() if other.origin):
        PROBES[key] = PROBES.pop(key)


def probe(key: str) -> Probe:
    """Return the row of ``key``. Raises UnknownApplication, which names near matches."""
    try:
        return PROBES[key]
    except KeyError:
        raise UnknownApplication(key, PROBES, "probe") from None


def probes_of(applications: tuple[str, ...]) -> tuple[str, ...]:
    """Return the probes behind names of applications or probes, each once, in order. Raises UnknownApplication."""
    found: dict[str, None] = {}
    for name in applications:
        if name not in APPLICATIONS and name not in PROBES:
            raise UnknownApplication(name, {*APPLICATIONS, *PROBES})
        found |= dict.fromkeys(APPLICATIONS.get(name, (name,)))
    return tuple(found)


def near_of(figure: str) -> float:
    """By how much any two values of a figure on the originals may differ (:attr:`ProbeMetric.near`)."""
    metric = PROBE_METRICS.get(figure)
    return 0.0 if metric is None else metric.near


def probe_of_metric(key: str) -> Probe:
    """Return the probe that reports the figure ``key``. Raises UnknownApplication."""
    for row in PROBES.values():
        if any(metric.key == key for metric in row.metrics):
            return row
    raise UnknownApplication(key, PROBE_METRICS, "figure")
