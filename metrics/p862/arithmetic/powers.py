"""Powers of many numbers, to the last bits of float64, in a form that the compiler works on eight at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.vector import bits_of, float_of
from codec_superb.metrics.p862.tables import OPTIONS

# IEEE 754 binary64: 52 bits of mantissa, and an exponent that is stored with 1023 added
_MANTISSA, _ONE_BITS, _EXPONENT_BITS = (1 << 52) - 1, 1023 << 52, 52
_ROOT_OF_2 = math.sqrt(2)
_LOG_TERMS = tuple(2 / (2 * n + 1) / math.log(2) for n in range(10))
"""log2(m) as a series in s = (m - 1) / (m + 1): these times s, s**3, s**5, ..."""
_EXP_TERMS = tuple(math.log(2) ** n / math.factorial(n) for n in range(14))
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9 = _LOG_TERMS
_E0, _E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = _EXP_TERMS


@compiled(**OPTIONS, fastmath={"contract"})
def _log2(value: float) -> float:
    bits = bits_of(value)
    mantissa = float_of((bits & _MANTISSA) | _ONE_BITS)
    # to within a factor of the root of 2 around 1, where |s| is at most 0.172 and ten terms of the series suffice
    upper = mantissa > _ROOT_OF_2
    exponent = np.float64((bits >> _EXPONENT_BITS) - 1023 + (1 if upper else 0))
    mantissa = mantissa * 0.5 if upper else mantissa
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q = s * s
    series = _L5 + q * (_L6 + q * (_L7 + q * (_L8 + q * _L9)))
    logarithm: float = exponent + s * (_L0 + q * (_L1 + q * (_L2 + q * (_L3 + q * (_L4 + q * series)))))
    return logarithm


@compiled(**OPTIONS, fastmath={"contract"})
def _exp2(value: float) -> float:
    nearest = np.floor(value + 0.5)
    whole = np.int64(nearest)
    f = value - nearest
    series = _E7 + f * (_E8 + f * (_E9 + f * (_E10 + f * (_E11 + f * (_E12 + f * _E13)))))
    series = _E0 + f * (_E1 + f * (_E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * (_E6 + f * series))))))
    power: float = series * float_of((whole + 1023) << _EXPONENT_BITS)
    return power


@compiled(**OPTIONS, fastmath={"contract"})
def power_growth(
    values: NDArray[np.float32],
    thresholds: NDArray[np.float64],
    exponents: NDArray[np.float64],
    scales: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    """``scale * ((0.5 + 0.5 * value / threshold) ** exponent - 1)`` where value is above threshold, else 0."""
    for i in range(len(values)):
        value, threshold = np.float64(values[i]), thresholds[i]
        ratio = 0.5 + 0.5 * value / threshold
        grown = np.float32(scales[i] * (_exp2(exponents[i] * _log2(ratio)) - 1.0))
        out[i] = grown if value > threshold else np.float32(0)


@compiled(**OPTIONS, fastmath={"contract"})
def ratio_powers(
    above: NDArray[np.float32], below: NDArray[np.float32], floor: np.float32, exponent: float, out: NDArray[np.float32]
) -> None:
    """``((above + floor) / (below + floor)) ** exponent``; all three positive."""
    for i in range(len(above)):
        ratio = (above[i] + floor) / (below[i] + floor)
        out[i] = np.float32(_exp2(exponent * _log2(np.float64(ratio))))
