"""Figures of the super tasks from what is kept of clips: pure functions with weights, a bootstrap in one call.

Conventions are those of :mod:`codec_superb.applications.metric_functions`: evidence of one side, weights of shape
``(draws, clips)``, an answer of shape ``(draws,)`` that is NaN where a draw has nothing to divide by. A rank is 0 where
the right candidate is absent. A number below 0 stands for "not known" (no transcript for the oracle, scores that are no
probabilities): such clips take no part in that figure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.average_precision import mean_average_precision
from codec_superb.applications.metric_functions import Evidence, Floats
from codec_superb.applications.mseb.answers import geometric_f1
from codec_superb.applications.mseb.ranking import discounted_gain, is_first, is_found, reciprocal_rank

TOP = 5
_CHUNK = 2**21
"""Draws times detections at once: 16 MiB an array."""


def known_mean(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Weighted mean of a field over the clips where it is known."""
    values = evidence.values[field_name]
    return _mean(values, weights, values >= 0)


def mean_reciprocal_rank(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Mean of 1/rank, 0 beyond the tenth, in [0, 1]. Worked number: ranks 2, 1 and absent have .5."""
    return _of_ranks(evidence, weights, field_name, reciprocal_rank)


def exact_match(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Share of ranks that are 1, in [0, 1]."""
    return _of_ranks(evidence, weights, field_name, is_first)


def recall(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Share of ranks within ten, in [0, 1]."""
    return _of_ranks(evidence, weights, field_name, is_found)


def gain(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Mean of 1/log2(rank + 1), 0 beyond the tenth, in [0, 1]. Worked number: ranks 2, 1 and absent have .54364."""
    return _of_ranks(evidence, weights, field_name, discounted_gain)


def accuracy(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percentage of ranks that are 1."""
    return 100.0 * exact_match(evidence, weights, field_name)


def top_accuracy(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percentage of ranks within five."""
    return 100.0 * _of_ranks(evidence, weights, field_name, lambda ranks: is_found(ranks, TOP))


def word_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """Errors in percent of the words of all clips; a clip without words adds its insertions and no words."""
    return 100.0 * _ratio(weights @ evidence.values["word_errors"], weights @ evidence.values["words"])


def character_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """As the word error rate, over characters."""
    return 100.0 * _ratio(weights @ evidence.values["character_errors"], weights @ evidence.values["characters"])


def error_share(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Percentage of clips with any error: the sentence error rate, and the candidate error rate of reranking."""
    return 100.0 * _mean((evidence.values[field_name] > 0).astype(np.float64), weights)


def share_of_terms(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Hits of a kind over the true terms of all clips, in [0, 1]."""
    return _ratio(weights @ evidence.values[field_name], weights @ evidence.values["terms"])


def geometric_mean_f1(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """F1 of questions with and without an answer, geometric mean weighted by their numbers, in [0, 1]."""
    answerable, f1 = evidence.values["answerable"], evidence.values[field_name]
    known = f1 >= 0
    sides = [_mean(f1, weights, (answerable == wanted) & known) for wanted in (1.0, 0.0)]
    share = _mean(answerable, weights, known)
    with_answer, without = (np.where(np.isnan(side), 0.0, side) for side in sides)
    return geometric_f1(with_answer, without, share)


def balanced_accuracy(evidence: Evidence, weights: Floats) -> Floats:
    """Mean recall in percent over the classes that the draw holds."""
    support, _, hits = _by_class(evidence, weights)
    present = support > 0
    share = np.divide(hits, support, out=np.zeros_like(hits), where=present)
    return 100.0 * _ratio(share.sum(axis=1), present.sum(axis=1).astype(np.float64))


def weighted_f1(evidence: Evidence, weights: Floats) -> Floats:
    """F1 of each class, mean weighted by its clips, in [0, 1]; 0 for a class without right clips."""
    support, predicted, hits = _by_class(evidence, weights)
    below = support + predicted
    return _weighted(np.divide(2.0 * hits, below, out=np.zeros_like(hits), where=below > 0), support)


def weighted_precision(evidence: Evidence, weights: Floats) -> Floats:
    """Precision of each class, mean weighted by its clips, in [0, 1]; 0 for a class that is never predicted.

    The recall weighted so is the accuracy.
    """
    support, predicted, hits = _by_class(evidence, weights)
    return _weighted(np.divide(hits, predicted, out=np.zeros_like(hits), where=predicted > 0), support)


def map_over_all_classes(evidence: Evidence, weights: Floats) -> Floats:
    """Mean average precision in percent where a class without clips counts 0, as the published rows have it."""
    numbers, place = np.unique(evidence.right, return_inverse=True)
    held = np.zeros((len(numbers), weights.shape[1]))
    held[place, evidence.left] = 1.0
    present = (weights @ held.T > 0).sum(axis=1)
    return mean_average_precision(evidence, weights) * _ratio(present, _mean(evidence.values["classes"], weights))


def micro_f1(evidence: Evidence, weights: Floats) -> Floats:
    """F1 of all decisions of all classes, in [0, 1]; only where scores are probabilities."""
    known, hits, given, owned = _decisions(evidence)
    return _ratio(weights @ (2.0 * hits * known), weights @ ((given + owned) * known))


def hamming_loss(evidence: Evidence, weights: Floats) -> Floats:
    """Share of wrong decisions among those of all classes, in [0, 1]; only where scores are probabilities."""
    known, hits, given, owned = _decisions(evidence)
    return _ratio(weights @ ((given + owned - 2.0 * hits) * known), weights @ (evidence.values["classes"] * known))


def subset_accuracy(evidence: Evidence, weights: Floats) -> Floats:
    """Percentage of clips whose classes are all decided rightly; only where scores are probabilities."""
    known, hits, given, owned = _decisions(evidence)
    return 100.0 * _mean(((hits == given) & (hits == owned)).astype(np.float64), weights, known)


def detection_precision(evidence: Evidence, weights: Floats) -> Floats:
    """Average precision over the detections of all clips by their confidence, in [0, 1]; 0 where none is right.

    A clip's detections are the fields ``confidence_1``, ``right_1`` and on; a confidence below 0 is none. A truth that
    nobody detected costs nothing, as in the published rows. Worked number: right, wrong, right have 5/6.
    """
    names = [name for name in evidence.values if name.startswith("confidence_")]
    confidence = np.concatenate([evidence.values[name] for name in names])
    right = np.concatenate([evidence.values[name.replace("confidence", "right")] for name in names])
    clip = np.tile(np.arange(weights.shape[1]), len(names))
    order = np.argsort(-confidence, kind="stable")[: int((confidence >= 0).sum())]
    if not order.size:
        return np.zeros(len(weights))
    last = np.flatnonzero(np.append(np.diff(confidence[order]) != 0, True))  # of the detections that share a confidence
    step = max(1, _CHUNK // order.size)
    parts = [_precision(weights[n : n + step, clip[order]], right[order], last) for n in range(0, len(weights), step)]
    return np.concatenate(parts)


def _precision(held: Floats, right: Floats, last: NDArray[np.int64]) -> Floats:
    hits, all_so_far = (np.cumsum(table, axis=1)[:, last] for table in (held * right, held))
    precision = np.divide(hits, all_so_far, out=np.zeros_like(hits), where=all_so_far > 0)
    gained = np.diff(hits, axis=1, prepend=0.0)
    found = hits[:, -1]
    return np.asarray(np.divide((gained * precision).sum(axis=1), found, out=np.zeros_like(found), where=found > 0))


def _decisions(evidence: Evidence) -> tuple[Floats, Floats, Floats, Floats]:
    hits, given = evidence.values["hits"], evidence.values["given"]
    return (given >= 0).astype(np.float64), hits, given, evidence.values["labels"]


def _by_class(evidence: Evidence, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Clips, predictions and right predictions of each class, each of shape ``(draws, classes)``."""
    label, predicted = evidence.values["label"], evidence.values["predicted"]
    classes = np.unique(np.concatenate([label, predicted]))
    own, given = (np.asarray(values[:, None] == classes, np.float64) for values in (label, predicted))
    return weights @ own, weights @ given, weights @ (own * given)


def _weighted(by_class: Floats, support: Floats) -> Floats:
    return _ratio((by_class * support).sum(axis=1), support.sum(axis=1))


def _of_ranks(evidence: Evidence, weights: Floats, field_name: str, figure: Callable[[Floats], Floats]) -> Floats:
    ranks = evidence.values[field_name]
    return _mean(figure(ranks), weights, ranks >= 0)


def _mean(values: Floats, weights: Floats, known: NDArray[np.bool_] | Floats | None = None) -> Floats:
    """Weighted mean of values, of those that are known."""
    kept = np.ones_like(values) if known is None else np.asarray(known, np.float64)
    return _ratio(weights @ (values * kept), weights @ kept)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    ratio: Floats = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)
    return ratio
