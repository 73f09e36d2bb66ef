"""Figures of tasks: pure functions of kept numbers, as in :mod:`codec_superb.applications.metric_functions`."""

from __future__ import annotations

import numpy as np

from codec_superb.applications.metric_functions import Evidence, Floats, percentage

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


def bleu(evidence: Evidence, weights: Floats) -> Floats:
    """Corpus BLEU, 0 to 100, with exponential smoothing as sacreBLEU's default (Post, WMT 2018).

    An order without any run in the answers ends the product there, as there; no answer at all has 0.
    """
    values = evidence.values
    length, wanted = weights @ values["length"], weights @ values["reference_length"]
    logs, orders = np.zeros(length.shape), np.zeros(length.shape)
    smooth = np.ones(length.shape)
    for n in _ORDERS:
        matched, total = weights @ values[f"match{n}"], weights @ values[f"total{n}"]
        none = (matched == 0) & (total > 0)
        smooth = np.where(none, 2.0 * smooth, smooth)
        counted = np.where(none, 1.0 / smooth, matched)
        there = total > 0
        logs += np.where(there, np.log(np.where(there, counted, 1.0) / np.maximum(total, 1e-12)), 0.0)
        orders += there
    shorter = np.where((length > 0) & (length < wanted), np.exp(1.0 - wanted / np.maximum(length, 1e-12)), 1.0)
    anything = weights @ values["match1"] > 0
    score = 100.0 * shorter * np.exp(logs / np.maximum(orders, 1.0))
    result: Floats = np.where(weights.sum(axis=1) > 0, np.where(anything, score, 0.0), np.nan)
    return result


def kept(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percent of all instructions that are kept."""
    return 100.0 * _ratio(weights @ evidence.values[field_name], weights @ evidence.values["asked"])


def all_kept(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percent of answers that keep every instruction."""
    whole = evidence.values[field_name] >= evidence.values["asked"]
    return 100.0 * _ratio(weights @ whole.astype(float), weights.sum(axis=1))


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio
