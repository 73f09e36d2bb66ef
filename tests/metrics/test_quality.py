"""PESQ is what the reference package says at 16 kHz, and undefined where that has no answer."""

from __future__ import annotations

import numpy as np
import pesq as package
import pytest
import soxr
from support.metrics import coded, noise, speech

from codec_superb.metrics.errors import Undefined, UnknownBackend
from codec_superb.metrics.quality import pesq, pesq_c2, pesq_fast
from codec_superb.metrics.score import score_pair

RATE = 16_000


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_score_equals_the_package_at_16_khz(rate: int) -> None:
    """The score is the package's wide-band score of the signals resampled with soxr VHQ, upwards as well."""
    x = speech(rate)
    y = coded(x, rate)
    at_16k = [soxr.resample(s, rate, RATE, quality="VHQ") if rate != RATE else s for s in (x, y)]
    assert pesq(x, y, rate) == pytest.approx(package.pesq(RATE, *at_16k, "wb"), abs=1e-4)


def test_identity_gives_the_known_number() -> None:
    """Speech with itself scores 4.6438885."""
    x = speech()
    assert pesq(x, x, RATE) == pytest.approx(4.6438885, abs=1e-6)


def test_common_level_does_not_matter() -> None:
    """The same scale on both signals leaves the score."""
    x = speech()
    y = coded(x, RATE)
    assert pesq(0.01 * x, 0.01 * y, RATE) == pytest.approx(pesq(x, y, RATE), abs=1e-4)


@pytest.mark.parametrize(
    ("reference", "resynthesis", "reason"),
    [
        (np.zeros(RATE), speech(seconds=1.0), "reference is silent"),
        (speech(seconds=1.0), np.zeros(RATE), "resynthesis is silent"),
        (speech(seconds=0.2), speech(seconds=0.2), r"needs 0.25 s.*0.200 s"),
        (np.ones(1), np.ones(1), "needs 0.25 s"),
    ],
)
def test_no_answer_is_undefined(reference: np.ndarray, resynthesis: np.ndarray, reason: str) -> None:
    """Silence and clips below a quarter of a second are undefined with the reason."""
    with pytest.raises(Undefined, match=reason):
        pesq(reference, resynthesis, RATE)


def test_no_utterance_is_undefined() -> None:
    """A signal that vanishes beside the other is undefined: no utterance, or nothing to align; never 1.0."""
    x = speech(seconds=1.0)
    with pytest.raises(Undefined, match="no utterance was found"):
        pesq(1e-60 * x, x, RATE)
    with pytest.raises(Undefined, match="holds nothing"):
        pesq(x, 1e-60 * x, RATE)


def test_more_utterances_than_the_package_holds_are_undefined() -> None:
    """Sixty bursts between pauses, which crash the package, are refused; forty-five are scored."""
    bursts = [np.concatenate([noise(seconds=0.5, seed=seed), np.zeros(RATE // 2)]) for seed in range(60)]
    with pytest.raises(Undefined, match=r"60 utterances.*fewer than 50"):
        pesq(np.concatenate(bursts), np.concatenate(bursts), RATE)
    fewer = np.concatenate(bursts[:45])
    assert pesq(fewer, fewer, RATE) == pytest.approx(4.6438885, abs=1e-6)


@pytest.mark.sample(1)
@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_fast_backend_gives_the_same_bits(rate: int) -> None:
    """The own implementation equals the package exactly, not nearly."""
    x = speech(rate)
    for y in (x, coded(x, rate), coded(x, rate, seed=5), 0.3 * x):
        assert pesq_fast(x, y, rate) == pesq(x, y, rate)


def test_fast_backend_is_chosen_by_name() -> None:
    """score_pair runs the implementation asked for, and refuses one that does not exist by naming those that do."""
    x = speech()
    y = coded(x, RATE)
    values = [score_pair(x, y, RATE, ["pesq"], backends=(("pesq", name),)) for name in ("reference", "fast")]
    assert values[0]["pesq"].value == values[1]["pesq"].value
    assert [found["pesq"].backend for found in values] == ["reference", "fast"]
    with pytest.raises(UnknownBackend, match="reference, fast"):
        score_pair(x, y, RATE, ["pesq"], backends=(("pesq", "faster"),))


def test_fast_backend_is_undefined_where_the_package_is() -> None:
    """Silence and what is too short have no score in either."""
    x = speech()
    for first, second in ((x, np.zeros_like(x)), (np.zeros_like(x), x), (x[:3000], x[:3000])):
        for function in (pesq, pesq_fast, pesq_c2):
            with pytest.raises(Undefined):
                function(first, second, RATE)


def test_corrigendum_2_is_another_metric() -> None:
    """The corrected filter leaves the score of identity and raises that of noisy speech."""
    x = speech()
    y = coded(x, RATE)
    assert pesq_c2(x, x, RATE) == pytest.approx(4.6438885, abs=1e-6)
    assert pesq_c2(x, y, RATE) > pesq(x, y, RATE)
