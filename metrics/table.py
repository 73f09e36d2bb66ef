"""The metric table: every metric's key, unit, direction, range, categories, version and paper, as data.

Imports neither scipy nor the metric packages, so that the service and the command line can read it at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Literal, get_args

from codec_superb.metrics.errors import UnknownBackend, UnknownMetric

if TYPE_CHECKING:
    from codec_superb.plugins import Source

Category = Literal["speech", "audio", "music"]
CATEGORIES: tuple[Category, ...] = get_args(Category)


REFERENCE_BACKEND = "reference"
Backends = tuple[tuple[str, str], ...]
"""Metric keys and the implementations chosen for them; a metric that is not named takes its default."""


@dataclass(frozen=True)  # without slots: every task takes some to a worker, and pickle knows a short way for these
class Metric:
    """One row of the table."""

    key: str
    label: str
    unit: str
    """'' for a plain number."""
    higher_is_better: bool
    minimum: float
    maximum: float
    """Range of defined values, ``inf`` where unbounded; a value outside is a fault."""
    worst: float
    """Value that stands at 0 where metrics share a scale, in the overall score and on the radar of a codec's page."""
    best: float
    """Value that stands at 1. Between the two the scale is linear, beyond them flat; a distance without a largest value
    has ``inf`` as its worst, and d stands at ``1 / (1 + exp(-1 / d))``: 1 for none, 0.5 far away."""
    overall: tuple[Category, ...]
    """Categories in whose overall score the metric takes part; () for none."""
    default: bool
    """Computed by default."""
    version: str
    """Version of the definition; a change of numbers changes it."""
    definition: str
    """One sentence for people."""
    paper: str
    target: str
    """``module:function`` taking ``(reference, resynthesis, rate) -> float``; ``:function`` in a plug-in's own file."""
    undefined_by: Literal["reference", "either"] = "either"
    """What decides whether the metric has a meaning on a clip: the reference alone, so that it is undefined for every
    codec or for none, or the resynthesis too (nothing voiced in it, a ratio without end)."""
    bounds: tuple[float, float] | None = None
    """What a file may say where ``minimum`` or ``maximum``, the ends of the scale of intervals, is open: no samples
    within ±1 have more. None for the two themselves."""
    usual: tuple[float, float] = (-inf, inf)
    """Between which the mean over clips lies of whatever codes sound; beyond, somebody looks first."""
    tolerance: float = 1e-3
    """By how much the value of a pair may differ between machines and versions of packages: in its unit, or as a share
    of the value for a distance without a largest one."""
    extra: str | None = None
    """Extra of this package that it needs."""
    categories: tuple[Category, ...] = CATEGORIES
    """Categories on which it is computed by default."""
    backends: tuple[tuple[str, str], ...] = ()
    """Other implementations of the same definition, as name and ``module:function``; ``target`` is ``reference``."""
    default_backend: str = REFERENCE_BACKEND
    """The default implementation."""
    origin: str = ""
    """'' for a row of the table; the distribution or the file that a plug-in comes from, set where it is found."""
    sha256: str = ""
    """Of the file of a plug-in that is one, set where it is found."""

    @property
    def admitted(self) -> tuple[float, float]:
        """Least and largest value that is received."""
        return self.bounds or (self.minimum, self.maximum)

    @property
    def best_end(self) -> float:
        """Where nothing is better: what a copy has; in decibels, which end nowhere, the usual end."""
        if self.key not in _OF_A_COPY and self.best not in {self.minimum, self.maximum}:
            return self.usual[1] if self.higher_is_better else self.usual[0]
        return _OF_A_COPY.get(self.key, self.best)

    def plugged(self, source: Source) -> Metric:
        """Return the row as a plug-in's: its version tells its source, and it has no part in defaults or overall score.

        Raises PluginError for a scale that has no best end.
        """
        if not self.minimum <= self.best <= self.maximum or not isfinite(self.best) or self.best == self.worst:
            from codec_superb.plugins import PluginError

            raise PluginError(
                f"{source.origin}: {self.key}: expected a finite best between minimum {self.minimum:g} and maximum "
                f"{self.maximum:g} that is not the worst, got best {self.best:g} and worst {self.worst:g}"
            )
        return replace(
            self,
            version=source.version(self.version),
            target=source.target(self.target),
            backends=tuple((name, source.target(target)) for name, target in self.backends),
            overall=(),
            default=False,
            origin=source.origin,
            sha256=source.sha256,
        )

    def target_of(self, backend: str) -> str:
        """Return ``module:function`` of an implementation. Raises UnknownBackend, listing those that there are."""
        known = {REFERENCE_BACKEND: self.target, **dict(self.backends)}
        if backend not in known:
            raise UnknownBackend(f"{self.key}: expected a backend of {', '.join(known)}, got {backend!r}")
        return known[backend]


_VOICED: tuple[Category, ...] = ("speech", "music")
_OF_A_COPY = {"pesq": 4.6438, "pesq_c2": 4.6438}
"""Of a signal with itself, below the end of the scale."""
_DECIBELS = (-260.0, 260.0)
"""Beyond, a ratio is the rounding of sums, and undefined (``distortion.py``)."""
_USUAL_DECIBELS = (-80.0, 100.0)
"""White noise has an SI-SDR of -58 dB on ``mini``; the rounding to 16 bits leaves a full sine 98 dB."""
_STFT, _MEL = (0.0, 128.0), (0.0, 2300.0)
"""Logarithms are at most 2 · (8.01 + 7.41) apart: of 1024 and 256, the sums of the windows, and of 1e-5. Magnitudes of
a frame are 42 and 21 in the mean at most (Parseval), of two frames √2 times that; of mel bands, which the area makes
narrow at low rates, at 1 kHz 2100 and 131."""
_USUAL_DISTANCES = (0.0, 31.0)
"""The logarithms alone. On ``mini`` silence has 12.7, white noise 15.7; full-scale noise for silence has 61."""

_ROWS = (
    Metric(
        key="stft",
        label="STFT distance",
        unit="",
        higher_is_better=False,
        minimum=0.0,
        maximum=inf,
        worst=inf,
        best=0.0,
        overall=CATEGORIES,
        default=True,
        version="1",
        definition=(
            "Mean absolute difference of log-power plus mean absolute difference of magnitude between short-time "
            "spectra, summed over windows of 2048 and 512 samples with hops of a quarter."
        ),
        paper='Engel et al., "DDSP: Differentiable Digital Signal Processing", ICLR 2020',
        target="codec_superb.metrics.spectral:stft",
        bounds=_STFT,
        usual=_USUAL_DISTANCES,
        undefined_by="reference",
    ),
    Metric(
        key="mel",
        label="Mel distance",
        unit="",
        higher_is_better=False,
        minimum=0.0,
        maximum=inf,
        worst=inf,
        best=0.0,
        overall=CATEGORIES,
        default=True,
        version="1",
        definition=(
            "The STFT distance taken between mel spectra: 150 bands with the window of 2048 samples, 80 bands with "
            "that of 512, Slaney scale and area normalisation, 0 Hz to half the sampling rate."
        ),
        paper='Kumar et al., "High-Fidelity Audio Compression with Improved RVQGAN", NeurIPS 2023',
        target="codec_superb.metrics.spectral:mel",
        bounds=_MEL,
        usual=_USUAL_DISTANCES,
        undefined_by="reference",
    ),
    Metric(
        key="pesq",
        label="PESQ",
        unit="MOS-LQO",
        higher_is_better=True,
        minimum=-0.5,
        maximum=4.65,
        worst=-0.5,
        best=4.5,
        overall=_VOICED,
        default=True,
        version="1",
        definition="ITU-T P.862.2 wide-band listening quality at 16 kHz; a signal with itself gives 4.6438885.",
        paper=(
            'Rix et al., "Perceptual Evaluation of Speech Quality (PESQ): A New Method for Speech Quality Assessment '
            'of Telephone Networks and Codecs", ICASSP 2001; ITU-T Recommendation P.862.2, 2007'
        ),
        target="codec_superb.metrics.quality:pesq",
        categories=_VOICED,
        backends=(("fast", "codec_superb.metrics.quality:pesq_fast"),),
        default_backend="fast",
    ),
    Metric(
        key="pesq_c2",
        label="PESQ (Corrigendum 2)",
        unit="MOS-LQO",
        higher_is_better=True,
        minimum=-0.5,
        maximum=4.65,
        worst=-0.5,
        best=4.5,
        overall=(),
        default=False,
        version="1",
        definition=(
            "PESQ with the wide-band filter as corrected by Corrigendum 2, 12 dB lower: scores are higher and not "
            "comparable with `pesq`."
        ),
        paper="ITU-T Recommendation P.862 Corrigendum 2, 2018",
        target="codec_superb.metrics.quality:pesq_c2",
        categories=_VOICED,
    ),
    Metric(
        key="stoi",
        label="STOI",
        unit="",
        higher_is_better=True,
        minimum=0.0,
        maximum=1.0,
        worst=0.0,
        best=1.0,
        overall=_VOICED,
        default=True,
        version="1",
        definition=(
            "Correlation of short-time third-octave envelopes at 10 kHz after removing silence, clipped to [0, 1]."
        ),
        paper=(
            'Taal, Hendriks, Heusdens and Jensen, "A Short-Time Objective Intelligibility Measure for Time-Frequency '
            'Weighted Noisy Speech", ICASSP 2010'
        ),
        target="codec_superb.metrics.intelligibility:stoi",
        undefined_by="reference",
        categories=_VOICED,
    ),
    Metric(
        key="f0corr",
        label="F0 correlation",
        unit="",
        higher_is_better=True,
        minimum=-1.0,
        maximum=1.0,
        worst=0.0,
        best=1.0,
        overall=("music",),
        default=True,
        version="3",
        definition=(
            "Pearson correlation of the pitch contours found by WORLD (50 to 1100 Hz) in cents around their median, "
            "voiced frames only, aligned by time warping."
        ),
        paper=(
            'Morise et al., "WORLD: A Vocoder-Based High-Quality Speech Synthesis System for Real-Time Applications", '
            'IEICE Trans. 2016; Salvador and Chan, "FastDTW: Toward Accurate Dynamic Time Warping in Linear Time and '
            'Space", Intelligent Data Analysis 2007'
        ),
        target="codec_superb.metrics.pitch:f0corr",
        tolerance=1e-2,
        categories=_VOICED,
    ),
    Metric(
        key="f0corr_praat",
        label="F0 correlation (Praat)",
        unit="",
        higher_is_better=True,
        minimum=-1.0,
        maximum=1.0,
        worst=0.0,
        best=1.0,
        overall=(),
        default=False,
        version="2",
        definition=(
            "The published variant of the F0 correlation: Praat's autocorrelation pitch every 256 samples, voicing "
            "threshold 0.6, aligned by exact dynamic time warping."
        ),
        paper='Boersma, "Accurate Short-Term Analysis of the Fundamental Frequency", IFA Proceedings 17, 1993',
        target="codec_superb.metrics.pitch:f0corr_praat",
        tolerance=1e-2,
        categories=_VOICED,
    ),
    Metric(
        key="si_sdr",
        label="SI-SDR",
        unit="dB",
        higher_is_better=True,
        minimum=-inf,
        maximum=inf,
        worst=-10.0,
        best=30.0,
        overall=(),
        default=True,
        version="1",
        definition="Energy of the best-scaled reference over the energy of what remains, both without their mean.",
        paper='Le Roux et al., "SDR: Half-Baked or Well Done?", ICASSP 2019',
        target="codec_superb.metrics.distortion:si_sdr",
        bounds=_DECIBELS,
        usual=_USUAL_DECIBELS,
    ),
    Metric(
        key="sdr",
        label="SDR",
        unit="dB",
        higher_is_better=True,
        minimum=-inf,
        maximum=inf,
        worst=-10.0,
        best=30.0,
        overall=(),
        default=True,
        version="1",
        definition="Energy of the reference over the energy of the difference; level counts.",
        paper='Mitsufuji et al., "Music Demixing Challenge 2021", Frontiers in Signal Processing 2022',
        target="codec_superb.metrics.distortion:sdr",
        bounds=_DECIBELS,
        usual=_USUAL_DECIBELS,
    ),
    Metric(
        key="estoi",
        label="ESTOI",
        unit="",
        higher_is_better=True,
        minimum=-1.0,
        maximum=1.0,
        worst=0.0,
        best=1.0,
        overall=(),
        default=True,
        version="1",
        definition="Extended STOI: correlation of spectro-temporally normalised third-octave envelopes.",
        paper=(
            'Jensen and Taal, "An Algorithm for Predicting the Intelligibility of Speech Masked by Modulated Noise '
            'Maskers", IEEE/ACM TASLP 2016'
        ),
        target="codec_superb.metrics.intelligibility:estoi",
        undefined_by="reference",
        categories=_VOICED,
    ),
)

METRICS: dict[str, Metric] = {row.key: row for row in _ROWS}


def metric(key: str) -> Metric:
    """Return the row of ``key``. Raises UnknownMetric, which names near matches."""
    try:
        return METRICS[key]
    except KeyError:
        raise UnknownMetric(key, METRICS) from None


def metrics_for(category: Category) -> tuple[str, ...]:
    """Return the keys computed by default on a clip of ``category``, in the order of the table."""
    return tuple(row.key for row in METRICS.values() if row.default and category in row.categories)


def overall_metrics(category: Category) -> tuple[str, ...]:
    """Return the keys that take part in the overall score of ``category``, in the order of the table."""
    return tuple(row.key for row in METRICS.values() if category in row.overall)


def checked_backends(backends: Backends) -> None:
    """Raise UnknownMetric or UnknownBackend, before any work, for a choice that does not exist."""
    for key, backend in backends:
        metric(key).target_of(backend)


def backends_of(keys: Iterable[str], backends: Backends) -> dict[str, str]:
    """Return which implementation runs of each metric of the table among ``keys`` that has more than one."""
    chosen = dict(backends)
    several = (METRICS[key] for key in keys if key in METRICS and METRICS[key].backends)
    return {row.key: chosen.get(row.key, row.default_backend) for row in several}
