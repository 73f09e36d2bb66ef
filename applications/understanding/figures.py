"""Figures of tasks: pure functions of kept numbers, as in :mod:`codec_superb.applications.metric_functions`."""

from __future__ import annotations

import numpy as np

from codec_superb.applications import average_precision
from codec_superb.applications.metric_functions import (
    Evidence,
    Floats,
    character_error_rate,
    percentage,
    word_error_rate,
)

_ORDERS = range(1, 5)


def unread(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percent of answers in which nothing could be read."""
    return 100.0 - percentage(evidence, weights, field_name)


def above_chance(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Accuracy a above chance c, (a − c) / (1 − c) in percent, over the clips with options; NaN where none has two."""
    options = evidence.values["options"]
    choosing = weights * (options > 1)
    total = choosing.sum(axis=1)
    right = choosing @ evidence.values[field_name]
    guessed = choosing @ (1.0 / np.maximum(options, 1.0))
    return 100.0 * _ratio(right - guessed, total - guessed)


def mean_average_precision(evidence: Evidence, weights: Floats) -> Floats:
    """Macro mean average precision of answers that name several labels, in percent, over the task's classes.

    As :func:`codec_superb.applications.average_precision.mean_average_precision`, of scores of 0 and 1. Where the task
    states more classes than clips have, the others count 0 each: XARES-LLM 0.0.12 averages over ``num_classes``.
    """
    found = average_precision.mean_average_precision(evidence, weights)
    classes = float(evidence.values["classes"].max(initial=0.0))
    present = np.unique(evidence.right).size
    return found * min(1.0, present / classes) if classes else found


def bleu(evidence: Evidence, weights: Floats) -> Floats:
    """Corpus BLEU, 0 to 100, with exponential smoothing as sacreBLEU's default (Post, WMT 2018).

    It is 0 where no answer has a run of four tokens, or a token of its right answer, as there.
    """
    values = evidence.values
    length, wanted = weights @ values["length"], weights @ values["reference_length"]
    logs, smooth = np.zeros(length.shape), np.ones(length.shape)
    whole = weights @ values["match1"] > 0
    for n in _ORDERS:
        matched, total = weights @ values[f"match{n}"], weights @ values[f"total{n}"]
        whole &= total > 0
        # sacreBLEU's smooth_method "exp": each order without a match halves the count that stands in for it
        smooth = np.where(matched == 0, 2.0 * smooth, smooth)
        logs += np.log(np.where(matched == 0, 1.0 / smooth, matched) / np.maximum(total, 1.0))
    # the brevity penalty of Papineni et al., 2002
    shorter = np.where(length < wanted, np.exp(1.0 - wanted / np.maximum(length, 1.0)), 1.0)
    score = np.where(whole, 100.0 * shorter * np.exp(logs / len(_ORDERS)), 0.0)
    result: Floats = np.where(weights.sum(axis=1) > 0, score, np.nan)
    return result


def kept(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percent of all instructions that are kept."""
    return 100.0 * _ratio(weights @ evidence.values[field_name], weights @ evidence.values["asked"])


def inverse_word_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """100 less the word error rate in percent, 0 at least: iWER."""
    return np.maximum(0.0, 100.0 - word_error_rate(evidence, weights))


def inverse_character_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """100 less the character error rate in percent, 0 at least: iCER."""
    return np.maximum(0.0, 100.0 - character_error_rate(evidence, weights))


def all_kept(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percent of answers that keep every instruction."""
    whole = evidence.values[field_name] >= evidence.values["asked"]
    return 100.0 * _ratio(weights @ whole.astype(float), weights.sum(axis=1))


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio
