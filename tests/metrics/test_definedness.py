"""Where a metric has no meaning by the reference alone."""

from __future__ import annotations

import numpy as np
from support.audio import speech_like

from codec_superb.metrics.score import score_pair, undefined_by_reference
from codec_superb.metrics.table import METRICS

RATE = 16000


def test_speech_defines_everything() -> None:
    """Also what is infinite of a clip against itself."""
    assert undefined_by_reference(speech_like(1.0, RATE), RATE) == frozenset()


def test_silence_and_short_clips() -> None:
    """Silence leaves the distances alone; a clip of 1,024 samples leaves what needs no spectra."""
    silence = undefined_by_reference(np.zeros(RATE, np.float32), RATE)
    assert silence == METRICS.keys() - {"stft", "mel"}
    short = undefined_by_reference(speech_like(1.0, RATE)[:1024], RATE)
    assert {"stft", "mel", "pesq", "stoi"} <= short
    assert not short & {"sdr", "si_sdr"}


def test_the_table_says_whom_the_resynthesis_cannot_change() -> None:
    """Such a metric has a value on speech whatever comes back: noise, silence, the same, or one sample."""
    speech = speech_like(1.0, RATE)
    click = np.zeros_like(speech)
    click[0] = 1
    noise = np.random.default_rng(0).normal(0, 0.1, speech.size).astype(np.float32)
    alone = [key for key, row in METRICS.items() if row.undefined_by == "reference"]
    assert alone == ["stft", "mel", "stoi", "estoi"]
    states = {key: set() for key in METRICS}
    for other in (speech, np.zeros_like(speech), click, noise):
        for key, result in score_pair(speech, other, RATE, tuple(METRICS)).items():
            states[key].add(result.status)
    assert {key for key, found in states.items() if found == {"ok"}} == set(alone)
