"""Audio is checked once and clearly; the arrays of the caller are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.metrics import coded, speech

from codec_superb.metrics.errors import InvalidAudio
from codec_superb.metrics.score import metric_function, prepare
from codec_superb.metrics.signals import Signal, pair
from codec_superb.metrics.table import METRICS

RATE = 16_000


@pytest.mark.parametrize(
    ("audio", "message"),
    [
        (np.zeros(10, np.int16), "float32 or float64.*int16.*full scale"),
        (np.zeros(10, np.float16), "float16"),
        (np.zeros(10, complex), "complex128"),
        (np.zeros((1, 10)), r"shape \(samples,\).*\(1, 10\)"),
        (np.zeros(0), r"samples > 0.*\(0,\)"),
        (np.float64(1.0), r"shape \(\)"),
        (np.array([0.0, np.nan, np.inf]), "2 of 3 samples"),
        (np.array([np.inf, -np.inf, 1.0]), "2 of 3 samples"),
        (["a"], "float32 or float64"),
    ],
)
def test_invalid_audio_is_refused_with_what_came(audio: Any, message: str) -> None:
    """Integers, wrong shapes, emptiness and NaN are refused, and the text says what was expected and what came."""
    with pytest.raises(InvalidAudio, match=message):
        Signal(audio, RATE)


@pytest.mark.parametrize("rate", [0, -16_000, 16_000.5, 1_000_000])
def test_an_impossible_rate_is_refused(rate: float) -> None:
    """The sampling rate is a whole number of Hz in the audible world."""
    with pytest.raises(InvalidAudio, match="sampling rate"):
        Signal(np.zeros(10), rate)


def test_unequal_lengths_are_refused_and_not_repaired() -> None:
    """A pair of unequal lengths is an error that names both lengths."""
    with pytest.raises(InvalidAudio, match="10 and 11 samples"):
        pair(np.zeros(10), np.zeros(11), RATE)


def test_a_prepared_reference_keeps_its_rate() -> None:
    """A reference prepared at one rate is not scored at another."""
    with pytest.raises(InvalidAudio, match="prepared at 16000 Hz and is scored at 8000"):
        pair(prepare(np.zeros(10), RATE), np.zeros(10), 8_000)


@pytest.mark.parametrize("key", METRICS)
def test_every_metric_refuses_what_is_not_a_pair(key: str) -> None:
    """Each metric function validates by itself when called with plain arrays."""
    function = metric_function(key)
    with pytest.raises(InvalidAudio):
        function(np.zeros(10), np.zeros(11), RATE)
    with pytest.raises(InvalidAudio):
        function(np.array([np.nan] * 10), np.zeros(10), RATE)


@pytest.mark.parametrize("key", METRICS)
def test_no_metric_changes_its_input(key: str) -> None:
    """The arrays hold the same bytes before and after, also when they are read-only, strided or single precision."""
    x = speech(seconds=1.5)
    y = coded(x, RATE)
    expected = metric_function(key)(x, y, RATE)
    before = x.tobytes(), y.tobytes()
    x.setflags(write=False)
    wide = np.zeros((x.size, 2))
    wide[:, 1] = y
    assert metric_function(key)(x, wide[:, 1], RATE) == expected
    assert (x.tobytes(), y.tobytes()) == before
    single = metric_function(key)(x.astype(np.float32), y.astype(np.float32)[::-1][::-1], RATE)
    assert single == pytest.approx(expected, abs=2e-3)


def test_a_signal_does_not_follow_later_changes_of_the_array() -> None:
    """A prepared reference is a copy: what the caller does to the array afterwards does not matter."""
    x = speech(seconds=0.2)
    signal = prepare(x, RATE)
    x[:] = 0.0
    assert not signal.silent


def test_derived_values_are_computed_once() -> None:
    """A derived value is made on the first request only."""
    signal, calls = Signal(np.zeros(4), RATE), []
    for _ in range(3):
        signal.derived("x", calls.append)
    assert calls == [signal]


def test_huge_samples_are_legal() -> None:
    """Samples whose sum overflows are finite all the same."""
    assert Signal(np.full(4, 1e308), RATE).samples.size == 4
