"""The two other averages of UltraEval-Audio: of models that understand sound, and of models that answer in speech.

Both are of listeners and speakers, not of codecs, whose average is :mod:`codec_superb.applications.ultra.average`.
They are plain means of single figures in percent, and reproduce the published rows to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codec_superb.applications.ultra.average import OPINION_SCALE, Floats, Value

ERROR_RATES = 10
"""Error rates in percent: LibriSpeech dev-clean, dev-other, test-clean, test-other, TED-LIUM, Common Voice 15 English
and Chinese, AISHELL-1, FLEURS Chinese, WenetSpeech net."""
TRANSLATIONS = 2
"""BLEU of CoVoST 2: English to Chinese, Chinese to English."""
ANSWERS = 5
"""Percent of right answers: SpeechWebQuestions, SpeechTriviaQA, SpeechCMMLU, SpeechHSK; of SpeechAlpacaEval the rating
times ten."""
OPINIONS = 3
"""UTMOS, DNSMOS P.835 overall, DNSMOS P.808."""


def understanding(error_rates_pct: Sequence[Value], bleu: Sequence[Value], accuracy_pct: Value) -> Floats:
    """Return the mean of thirteen: 100 minus each of ten error rates, two BLEU, the accuracy of emotion (MELD).

    A number or shape ``(draws,)``; NaN where one of them is. An error rate above 100 % is not cut off, so that one bad
    dataset may cost more than it could give. Raises ValueError for another number of figures.

    Worked number: error rates of 10 %, BLEU of 30 and an accuracy of 50 % give (10 × 90 + 60 + 50) / 13 = 77.69.
    """
    _expect("error rates", error_rates_pct, ERROR_RATES)
    _expect("BLEU", bleu, TRANSLATIONS)
    return _mean([*(100.0 - _array(rate) for rate in error_rates_pct), *bleu, accuracy_pct])


def generation(answers_pct: Sequence[Value], opinions: Sequence[Value]) -> Floats:
    """Return the mean of six: five shares of right answers, and 20 times the mean of three opinion scores of 1 to 5.

    A number or shape ``(draws,)``; NaN where one of them is. Raises ValueError for another number of figures.

    Worked number: answers of 40 % and opinions of 4 give (5 × 40 + 80) / 6 = 46.67.
    """
    _expect("answers", answers_pct, ANSWERS)
    _expect("opinion scores", opinions, OPINIONS)
    return _mean([*answers_pct, OPINION_SCALE * _mean(opinions)])


def _expect(what: str, got: Sequence[Value], number: int) -> None:
    if len(got) != number:
        raise ValueError(f"the average is over {number} {what}, got {len(got)}")


def _mean(parts: Sequence[Value]) -> Floats:
    return np.asarray(sum(map(_array, parts), start=np.zeros(())) / len(parts))


def _array(value: Value) -> Floats:
    return np.asarray(value, np.float64)
