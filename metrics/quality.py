"""Perceived listening quality: PESQ (ITU-T P.862.2, wide-band, 16 kHz), computed by the package ``pesq``.

Conventions: both signals are resampled to 16 kHz with soxr VHQ, from below as well as from above. What the package
refuses (no utterance, less than a quarter of a second) is undefined; it never becomes a score.

Metrics: :func:`pesq`.
"""

from __future__ import annotations

import math

from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.signals import Audio, pair

PESQ_RATE = 16_000
_SHORTEST_S = 0.25


def pesq(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the wide-band MOS-LQO, from 1.04 (bad) to 4.64; higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined where the standard has no answer: a
    silent signal, no utterance found, less than 0.25 s; InvalidAudio for arrays that are not a pair. The level of
    either signal does not matter: the standard aligns it.

    Worked number: speech with itself gives 4.6438885.
    """
    import pesq as package

    first, second = pair(reference, resynthesis, rate)
    for signal, name in ((first, "reference"), (second, "resynthesis")):
        if signal.silent:
            raise Undefined(f"the {name} is silent: no utterance")
    if first.seconds < _SHORTEST_S:
        raise Undefined(f"PESQ needs {_SHORTEST_S} s; the clip has {first.seconds:.3f} s")
    try:
        score = float(package.pesq(PESQ_RATE, first.at(PESQ_RATE), second.at(PESQ_RATE), "wb"))
    except package.NoUtterancesError as error:
        raise Undefined("no utterance was found") from error
    except package.BufferTooShortError as error:
        raise Undefined(f"PESQ needs {_SHORTEST_S} s; the clip has {first.seconds:.3f} s") from error
    if not math.isfinite(score):
        raise Undefined("no utterance was found")
    return score
