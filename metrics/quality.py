"""Perceived listening quality: PESQ (ITU-T P.862.2, wide-band, 16 kHz), computed by the package ``pesq``.

Conventions: both signals are resampled to 16 kHz with soxr VHQ, from below as well as from above. What the package
refuses (no utterance, less than a quarter of a second) is undefined; it never becomes a score. So is a clip with more
utterances than the reference implementation has room for: it would write beyond its tables.

Metrics: :func:`pesq` by the package, :func:`pesq_fast` with the same numbers by :mod:`codec_superb.metrics.p862`, and
:func:`pesq_c2` with the filter of Corrigendum 2. The latter two are tried once in each process, before they are used.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import Undefined, UnusableBackend
from codec_superb.metrics.signals import Audio, Signal, pair

PESQ_RATE = 16_000
_LONGEST_FAULT = 300
"""Characters of an error of numba, which may fill a page, that are shown."""
_SHORTEST_S = 0.25
# MAXNUTTERANCES of the reference software, whose arrays have fixed length
_MOST_UTTERANCES = 50
_FRAME = PESQ_RATE // 250
"""Samples of the 4 ms frames in which the standard looks for utterances."""
_SHORTEST_UTTERANCE = 50
"""Frames; shorter sounds are no utterance, shorter pauses do not part two."""
_PARTING_LEVELS_DB = (-20.0, -30.0, -40.0, -50.0, -60.0)
"""Levels below the loudest frame at which sound and pause are told apart: the standard's own level lies between."""


def pesq(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the wide-band MOS-LQO, from 1.04 (bad) to 4.64; higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined where the standard has no answer: a
    silent signal, no utterance found, less than 0.25 s; InvalidAudio for arrays that are not a pair. The level of
    either signal does not matter: the standard aligns it.

    Worked number: speech with itself gives 4.6438885.
    """
    import pesq as package

    first, second = _measurable(reference, resynthesis, rate)
    try:
        score = float(package.pesq(PESQ_RATE, first.at(PESQ_RATE), second.at(PESQ_RATE), "wb"))
    except package.NoUtterancesError as error:
        raise Undefined("no utterance was found") from error
    except ValueError as error:  # the level of a signal without anything in the speech band is NaN
        raise Undefined("one of the signals holds nothing between 300 Hz and 3 kHz") from error
    if not math.isfinite(score):
        raise Undefined("no utterance was found")
    return score


def pesq_fast(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """As :func:`pesq`, bit for bit and with the same refusals, computed by :mod:`codec_superb.metrics.p862`.

    Raises UnusableBackend where :func:`p862_fault` has found one.
    """
    return _by_p862(reference, resynthesis, rate, corrigendum2=False)


def pesq_c2(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the wide-band MOS-LQO with the filter of ITU-T P.862 Corrigendum 2 (2018), from 1.02 to 4.64.

    As :func:`pesq` otherwise, and Undefined in the same cases. Raises UnusableBackend where :func:`p862_fault` has
    found one: the package ``pesq`` does not have this filter.

    Worked number: the noisy pair of the package ``pesq`` has 1.5128042 where the uncorrected filter gives 1.0832337.
    """
    return _by_p862(reference, resynthesis, rate, corrigendum2=True)


@cache
def p862_fault() -> str:
    """Return why :mod:`codec_superb.metrics.p862` cannot be used in this process, '' where it can; found out once.

    It cannot where numba does not compile it, and where a known answer comes out otherwise.
    """
    try:
        from codec_superb.metrics.p862 import readiness

        return readiness.deviation()
    except Exception as error:  # noqa: BLE001 - numba, llvmlite and LLVM raise whatever they like; another PESQ is there
        return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST_FAULT]}"


def _by_p862(reference: Audio, resynthesis: Audio, rate: int, *, corrigendum2: bool) -> float:
    if fault := p862_fault():
        raise UnusableBackend(f"PESQ compiled by numba does not work on this machine ({fault})")
    from codec_superb.metrics import p862

    first, second = _measurable(reference, resynthesis, rate)
    return p862.pesq(first.at(PESQ_RATE), second.at(PESQ_RATE), PESQ_RATE, "wb", corrigendum2=corrigendum2)


def _measurable(reference: Audio, resynthesis: Audio, rate: int) -> tuple[Signal, Signal]:
    """Return the pair, or raise Undefined where it is known beforehand that PESQ has no answer."""
    first, second = pair(reference, resynthesis, rate)
    for signal, name in ((first, "reference"), (second, "resynthesis")):
        if signal.silent:
            raise Undefined(f"the {name} is silent: no utterance")
    # the package raises BufferTooShortError below a quarter of a second
    if first.seconds < _SHORTEST_S:
        raise Undefined(f"PESQ needs {_SHORTEST_S} s; the clip has {first.seconds:.3f} s")
    _check_room(first)
    _check_room(second)
    return first, second


def _check_room(signal: Signal) -> None:
    """Raise Undefined where there may be more utterances than the package's tables hold."""
    # 50 utterances of 200 ms with pauses of 200 ms need 20 s
    if signal.samples.size / signal.rate <= 2 * _SHORTEST_UTTERANCE * _MOST_UTTERANCES * _FRAME / PESQ_RATE:
        return
    found = signal.derived("utterances", lambda own: _most_utterances(own.at(PESQ_RATE)))
    if found >= _MOST_UTTERANCES:
        raise Undefined(
            f"about {found} utterances; PESQ has room for fewer than {_MOST_UTTERANCES}: score shorter clips"
        )


def _most_utterances(samples: NDArray[np.float64]) -> int:
    """Return how many runs of sound there are, at the level at which there are most."""
    frames = samples[: samples.size // _FRAME * _FRAME].reshape(-1, _FRAME)
    power = np.einsum("ij,ij->i", frames, frames)
    return max(_utterances(power > power.max() * 10.0 ** (level / 10.0)) for level in _PARTING_LEVELS_DB)


def _utterances(sounding: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], sounding, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    parted = starts[1:] - ends[:-1] >= _SHORTEST_UTTERANCE
    starts, ends = starts[np.concatenate([[True], parted])], ends[np.concatenate([parted, [True]])]
    return int(np.count_nonzero(ends - starts >= _SHORTEST_UTTERANCE))
