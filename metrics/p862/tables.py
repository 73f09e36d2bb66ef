"""The numbers of ITU-T P.862 and P.862.2: Bark bands, hearing threshold, filters, calibration.

Source: the tables of Recommendation P.862 (02/2001) with its reference software, and P.862.2 (11/2007). Frequencies
are in Hz, band widths in Bark, powers on the scale of the recommendation (active speech at 10**7).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

OPTIONS: dict[str, Any] = {"error_model": "numpy"}
"""How everything here is compiled: a division by zero gives infinity, so that divisors need no check."""

# 300 ms: windows of 4 ms
SEARCH_WINDOWS = 75
"""Activity windows of silence put before and behind both signals."""
PADDING_MS = 320
"""More silence behind both signals."""
ACTIVE_POWER = 1e7
"""Power to which both signals are brought, measured between 300 and 3500 Hz."""

# fmt: off
_BINS = (
    1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 3, 4, 5, 4, 5, 6, 6, 7,
    8, 9, 9, 12, 12, 15, 16, 18, 21, 25, 20,
)
_CENTRES = (
    0.078672, 0.316341, 0.636559, 0.961246, 1.29045, 1.624217, 1.962597, 2.305636, 2.653383, 3.005889, 3.363201,
    3.725371, 4.092449, 4.464486, 4.841533, 5.223642, 5.610866, 6.003256, 6.400869, 6.803755, 7.211971, 7.625571,
    8.044611, 8.469146, 8.899232, 9.334927, 9.776288, 10.223374, 10.676242, 11.134952, 11.599563, 12.070135,
    12.546731, 13.029408, 13.518232, 14.013264, 14.514566, 15.022202, 15.536238, 16.056736, 16.583761, 17.117382,
    17.657663, 18.204674, 18.758478, 19.319147, 19.886751, 20.461355, 21.043034,
)
_WIDTHS = (
    0.157344, 0.317994, 0.322441, 0.326934, 0.331474, 0.336061, 0.340697, 0.345381, 0.350114, 0.354897, 0.359729,
    0.364611, 0.369544, 0.374529, 0.379565, 0.384653, 0.389794, 0.394989, 0.400236, 0.405538, 0.410894, 0.416306,
    0.421773, 0.427297, 0.432877, 0.438514, 0.444209, 0.449962, 0.455774, 0.461645, 0.467577, 0.473569, 0.479621,
    0.485736, 0.491912, 0.498151, 0.504454, 0.510819, 0.51725, 0.523745, 0.530308, 0.536934, 0.543629, 0.55039,
    0.55722, 0.564119, 0.571085, 0.578125, 0.585232,
)
_CORRECTIONS = (
    100.0, 99.999992, 100.0, 100.000008, 100.000008, 100.000015, 99.999992, 99.999969, 50.000027, 100.0, 99.999969,
    100.000015, 99.999947, 100.000061, 53.047077, 110.000046, 117.991989, 65.0, 68.760147, 69.999931, 71.428818,
    75.000038, 76.843384, 80.968781, 88.646126, 63.864388, 68.15535, 72.547775, 75.584831, 58.379192, 80.950836,
    64.135651, 54.384785, 73.821884, 64.437073, 59.176456, 65.521278, 61.399822, 58.144047, 57.004543, 64.126297,
    54.311001, 61.114979, 55.077751, 56.849335, 55.628868, 53.137054, 54.985844, 79.546974,
)
_THRESHOLDS = (
    51286152.0, 2454709.5, 70794.59375, 4897.788574, 1174.897705, 389.045166, 104.71286, 45.70882, 17.782795,
    9.772372, 4.897789, 3.090296, 1.905461, 1.258925, 0.977237, 0.724436, 0.562341, 0.457088, 0.389045, 0.331131,
    0.295121, 0.269153, 0.25704, 0.251189, 0.251189, 0.251189, 0.251189, 0.263027, 0.288403, 0.30903, 0.338844,
    0.371535, 0.398107, 0.436516, 0.467735, 0.489779, 0.501187, 0.501187, 0.512861, 0.524807, 0.524807, 0.524807,
    0.512861, 0.47863, 0.42658, 0.371535, 0.363078, 0.416869, 0.537032,
)
# fmt: on
_NARROW_BANDS = 42
_NARROW_LAST_BINS, _NARROW_LAST_CORRECTION = 11, 59.248363
"""The uppermost band at 8 kHz ends at 4 kHz and so holds one bin less than at 16 kHz."""

# (b0, b1, b2, a1, a2) of second-order sections: the weighting of both signals before time alignment, 8 and 12 of them
_ALIGNMENT_8K = (
    (0.885535424, -0.885535424, 0.0, -0.771070709, 0.0),
    (0.895092588, 1.292907193, 0.449260174, 1.268869037, 0.442025372),
    (4.04952794, -7.865190042, 3.815662102, -1.746859852, 0.786305963),
    (0.500002353, -0.500002353, 0.0, 0.0, 0.0),
    (0.565002834, -0.241585934, -0.306009671, 0.259688659, 0.249979657),
    (2.115237288, 0.919935084, 1.141240051, -1.587313419, 0.665935315),
    (0.912224584, -0.224397719, -0.641121413, -0.246029464, -0.55672059),
    (0.444617727, -0.307589321, 0.141638062, -0.996391149, 0.502251622),
)
_ALIGNMENT_16K = (
    (0.325631521, -0.08678286, -0.238848661, -1.07941649, 0.434583902),
    (0.403961804, -0.556985881, 0.153024077, -0.415115835, 0.696590244),
    (4.736162769, 3.287251046, 1.753289019, -1.859599046, 0.876284034),
    (0.365373469, 0.0, 0.0, -0.634626531, 0.0),
    (0.884811506, 0.0, 0.0, -0.256725271, 0.141536777),
    (0.723593055, -1.447186099, 0.723593044, -1.129587469, 0.657232737),
    (1.644910855, -1.817280902, 1.249658063, -1.778403899, 0.801724355),
    (0.633692689, -0.284644314, -0.319789663, 0.0, 0.0),
    (1.032763031, 0.268428979, 0.602913323, 0.0, 0.0),
    (1.001616361, -0.823749013, 0.439731942, -0.885778255, 0.0),
    (0.752472096, -0.37538899, 0.188977609, -0.077258216, 0.247230734),
    (1.023700575, 0.001661628, 0.52128424, -0.183867259, 0.354324187),
)
_LISTENING = (2.740826, -5.4816519, 2.740826, -1.9444777, 0.94597794)
"""P.862.2's filter at 16 kHz: a second-order Butterworth high-pass at 100 Hz with 9 dB of gain."""
CORRECTION_DB = -12.0
"""What Corrigendum 2 changes of it: 9 dB becomes -3 dB. P.862 uses its receive filter relative to that filter's 12 dB
at 1 kHz; the wide-band filter was published with its gain unreduced, 12 dB too loud for the loudness model."""

# corners of the intermediate reference system's receive curve; gains are straight lines in dB over Hz between them
_RECEIVE_HZ = (0, 50, 100, 125, 160, 200, 250, 300, 350, 400, 500, 600, 3000, 3250, 3500, 4000, 8000)
_RECEIVE_DB = (-200, -40, -20, -12, -6, 0, 4, 6, 8, 10, 11, 12, 12, 12, 4, -200, -200)

# Zwicker's law: loudness grows with the 0.23rd power of a sound's power, above the threshold of hearing
_ZWICKER_POWER = 0.23
_POWER_CALIBRATION = {8000: 2.764344e-5, 16000: 6.910853e-6}
_LOUDNESS_CALIBRATION = 1.866055e-1


class FrequencyResponse(NamedTuple):
    """A gain over frequency, linear in dB between points."""

    hertz: tuple[float, ...]
    decibel: tuple[float, ...]
    at_1_khz: float
    """Gains are relative to this one."""


RECEIVER = FrequencyResponse(_RECEIVE_HZ, _RECEIVE_DB, 12)
"""The telephone receiver of narrow-band listening (intermediate reference system), relative to 1 kHz."""
SPEECH_BAND = FrequencyResponse((0, 300, 350, 3250, 3500, 8000), (-500, -500, 0, 0, -500, -500), 0)
"""The band in which levels are compared."""


class RateTables(NamedTuple):
    """Everything that depends on the sampling rate; arrays hold one number for each Bark band."""

    hertz: int
    window: int
    """Samples of one activity window, 4 ms."""
    align: int
    """Transform length of the fine time alignment."""
    frame: int
    """Samples of one frame of the perceptual model, 32 ms; frames overlap by half."""
    lead: int
    """Samples of silence before the signal, and behind it."""
    padding: int
    """Further samples of silence behind it."""
    bins: NDArray[np.int64]
    """Spectral bins of each band."""
    power_scale: NDArray[np.float64]
    """From summed bins to power."""
    threshold: NDArray[np.float64]
    """Power at the absolute threshold of hearing."""
    hearing: NDArray[np.float64]
    """The same to the precision of float32."""
    width: NDArray[np.float32]
    """Bark."""
    exponent: NDArray[np.float64]
    """Zwicker's power, larger below 4 Bark."""
    loudness: NDArray[np.float64]
    """Loudness at the threshold of that power law."""
    alignment: NDArray[np.float32]
    """Second-order sections ``(b0, b1, b2, a1, a2)`` that both signals pass before time alignment."""


def _exponents(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    # below 4 Bark the exponent grows, by a factor of (6 / (bark + 2)) ** 0.15 and at most 2 ** 0.15
    centre = centres.astype(np.float32)
    raised = np.where(centre < 4, np.float32(6) / (centre + np.float32(2)), np.float32(1))  # noqa: PLR2004 - Bark
    raised = np.minimum(raised, np.float32(2)).astype(np.float64)
    return np.asarray(_ZWICKER_POWER * (raised ** float(np.float32(0.15))).astype(np.float32).astype(np.float64))


@lru_cache(maxsize=2)
def rate_tables(hertz: int) -> RateTables:
    """Tables for 8000 or 16000 Hz."""
    narrow = hertz == 8000  # noqa: PLR2004 - Hz
    bands = _NARROW_BANDS if narrow else len(_BINS)
    bins, corrections = np.array(_BINS[:bands]), np.array(_CORRECTIONS[:bands])
    if narrow:
        bins[-1], corrections[-1] = _NARROW_LAST_BINS, _NARROW_LAST_CORRECTION
    threshold = np.array(_THRESHOLDS[:bands])
    rounded = threshold.astype(np.float32).astype(np.float64)
    exponent = _exponents(np.array(_CENTRES[:bands]))
    window = hertz * 4 // 1000
    return RateTables(
        hertz=hertz,
        window=window,
        align=16 * window,
        frame=8 * window,
        lead=SEARCH_WINDOWS * window,
        padding=PADDING_MS * hertz // 1000,
        bins=bins,
        power_scale=corrections * float(np.float32(_POWER_CALIBRATION[hertz])),
        threshold=threshold,
        hearing=rounded,
        width=np.array(_WIDTHS[:bands], np.float32),
        exponent=exponent,
        loudness=(2 * rounded) ** exponent,
        alignment=np.array(_ALIGNMENT_8K if narrow else _ALIGNMENT_16K, np.float32),
    )


@lru_cache(maxsize=2)
def listening_filter(*, corrected: bool) -> NDArray[np.float32]:
    """Return the wide-band filter's section ``(b0, b1, b2, a1, a2)`` at 16 kHz, with or without Corrigendum 2."""
    section = np.array([_LISTENING], np.float32)
    if corrected:
        gain = int(10 ** (CORRECTION_DB / 20) * 1e6) / 1e6  # as published: 0.251188
        section[:, :3] = (gain * section[:, :3].astype(np.float64)).astype(np.float32)
    return section


LOUDNESS_CALIBRATION = np.float32(_LOUDNESS_CALIBRATION)
