"""Scores of pairs: checks what came in, then measures, one pair or many at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import InvalidAudio, MetricError
from codec_superb.metrics.p862.errors import NoUtterances, TooShort
from codec_superb.metrics.p862.model import Mode, measure
from codec_superb.metrics.p862.tables import rate_tables

RATES: dict[str, tuple[int, ...]] = {"wb": (16000,), "nb": (8000, 16000)}
"""Sampling rates in Hz that each mode takes."""

Audio = NDArray[Any]


def _checked(name: str, signal: Audio) -> Audio:
    values = np.asarray(signal)
    if values.ndim != 1:
        raise InvalidAudio(f"{name}: expected shape (samples,), got {values.shape}; take one channel or their mean")
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    if values.dtype.kind != "f":
        raise InvalidAudio(f"{name}: expected integers or real floats, got {values.dtype}")
    return values


def _greatest(name: str, values: Audio) -> Any:
    greatest = max(values.max(), -values.min())
    if not np.isfinite(greatest):
        raise InvalidAudio(f"{name}: expected finite samples, got NaN or infinity")
    return greatest


def _check_rate(rate: int, mode: str) -> None:
    if mode not in RATES:
        raise InvalidAudio(f"expected mode 'wb' or 'nb', got {mode!r}")
    if rate not in RATES[mode]:
        wanted = " or ".join(str(hertz) for hertz in RATES[mode])
        raise InvalidAudio(f"expected {wanted} Hz in mode {mode!r}, got {rate}; resample before")


def pesq(reference: Audio, resynthesis: Audio, rate: int, mode: Mode = "wb", *, corrigendum2: bool = False) -> float:
    """MOS-LQO of ``resynthesis`` by ITU-T P.862.2 (``wb``) or P.862 with P.862.1 (``nb``).

    Both signals have shape (samples,), integer or float of any scale (they are divided by the greatest sample of the
    two), and may differ in length and delay. ``wb`` takes 16000 Hz, ``nb`` 8000 or 16000 Hz. ``corrigendum2`` uses
    the wide-band filter as corrected in 2018, which gives higher scores; it does nothing to ``nb``.

    The value lies in [1.0, 4.644] (``wb``) or [1.0, 4.549] (``nb``); a signal with itself gives 4.6438885 and
    4.5486383. It is that of the package ``pesq`` 0.0.4, which wraps the standard's own programme.

    Raises TooShort, NoUtterances and SilentResynthesis (all Undefined) where PESQ has no value, InvalidAudio where
    the arguments do not follow this contract.
    """
    _check_rate(rate, mode)
    first, second = _checked("reference", reference), _checked("resynthesis", resynthesis)
    shortest = min(len(first), len(second))
    if shortest < rate // 4:
        raise TooShort(shortest, rate)
    greatest = max(_greatest("reference", first), _greatest("resynthesis", second))
    if not greatest > 0:
        raise NoUtterances
    first, second = ((values / greatest).astype(np.float32, copy=False) for values in (first, second))
    return measure(first, second, rate_tables(rate), mode, corrigendum2=corrigendum2)


def pesq_batch(
    pairs: Iterable[tuple[Audio, Audio]],
    rate: int,
    mode: Mode = "wb",
    *,
    threads: int | None = None,
    corrigendum2: bool = False,
) -> list[float | MetricError]:
    """``pesq`` of many (reference, resynthesis) pairs on ``threads`` threads (all cores where None), in their order.

    A pair without a score has the error that ``pesq`` raises in its place. The values do not depend on ``threads``.
    """

    def one(pair: tuple[Audio, Audio]) -> float | MetricError:
        try:
            return pesq(*pair, rate, mode, corrigendum2=corrigendum2)
        except MetricError as error:
            return error

    _check_rate(rate, mode)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        return list(pool.map(one, pairs))
