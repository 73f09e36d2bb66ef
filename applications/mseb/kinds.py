"""Kinds of tasks: retrieval, reranking, reasoning, classification, transcription, segmentation; others of sets."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from codec_superb.applications.mseb.kind import Kind, Metrics
from codec_superb.applications.mseb.set_kinds import SET_KINDS
from codec_superb.applications.probe import MOST_ERRORS, USUAL_ERRORS, Field, ProbeMetric

_HERE = "codec_superb.applications.mseb"
_FIGURES = f"{_HERE}.figures"
_MEAN = "codec_superb.applications.metric_functions:mean"
_SCORERS = f"{_HERE}.scorers"
_ENCODERS = ("asr+text", "joint")
"""Models whose answers are compared with vectors of texts."""
TERMS = 3
"""Terms of an utterance, which are kept as detections."""
_TOLERANCES = ("50", "100", "200")
"""Milliseconds."""


class _Row(NamedTuple):
    """One metric of a kind."""

    suffix: str
    words: str
    """After the task's name, in a label."""
    definition: str
    target: str
    field: str = ""
    higher_is_better: bool = True
    maximum: float = 1.0


def _metrics(rows: Sequence[_Row]) -> Metrics:
    """Make metrics of rows; those whose suffix ends in ``_pct`` are in percent."""

    def make(key: str, label: str) -> tuple[ProbeMetric, ...]:
        return tuple(_metric(row, key, label) for row in rows)

    return make


def _metric(row: _Row, key: str, label: str) -> ProbeMetric:
    percent = row.suffix.endswith("_pct")
    return ProbeMetric(
        f"{key}_{row.suffix}",
        f"{label}: {row.words}",
        "%" if percent else "",
        row.higher_is_better,
        0.0,
        100.0 * row.maximum if percent else row.maximum,
        2 if percent else 3,
        row.definition,
        row.target if ":" in row.target else f"{_FIGURES}:{row.target}",
        row.field,
        bounds=(0.0, 100.0 * MOST_ERRORS) if row.maximum == inf else None,  # rates of errors
        usual=USUAL_ERRORS if row.maximum == inf else inf,
    )


_FLAG = (0.0, 1.0)
_RANK = Field("rank", 0, whole=True)
_TOP = Field("top", 1, whole=True, names=True)
"""Row of a collection that came first, from 1."""
_NO_ANSWER = Field("no_answer", *_FLAG, whole=True)
_ORACLE_RANK = Field("oracle_rank", -1, whole=True)
_ORACLE_PRECISION = Field("oracle_precision", -1.0, 1.0)
_WORDS = Field("words", 0, whole=True)
_WORD_ERRORS = Field("word_errors", 0, whole=True)
_SILENCE = _Row(
    "no_answer", "nothing heard", "Share of clips in which a recogniser heard nothing.", _MEAN, "no_answer", False
)

_RETRIEVAL = (
    _Row("mrr", "MRR", "Mean of 1 over the right text's rank, 0 beyond the tenth.", "mean_reciprocal_rank", "rank"),
    _Row("em", "exact match", "Share of clips whose right text comes first.", "exact_match", "rank"),
    _Row("recall10", "recall at ten", "Share of clips whose right text is among the first ten.", "recall", "rank"),
    _Row("ndcg10", "NDCG at ten", "Mean of 1 over the logarithm of the rank, 0 beyond the tenth.", "gain", "rank"),
    _SILENCE,
    _Row(
        "oracle_mrr", "MRR of the oracle", "As MRR, with the true transcript in place of the sound.",
        "mean_reciprocal_rank", "oracle_rank",
    ),
)  # fmt: skip

_RERANKING = (
    _Row("map", "MAP", "Mean average precision of the candidates without a wrong word.", _MEAN, "precision"),
    _Row("mrr", "MRR", "Mean of 1 over the rank of the very text, 0 beyond the tenth.", "mean_reciprocal_rank", "rank"),
    _Row(
        "wer_pct", "word error rate of the first", "Errors of the candidate that comes first, over all words spoken.",
        "word_error_rate", higher_is_better=False, maximum=inf,
    ),
    _Row(
        "cer_pct", "candidate error rate", "Share of clips whose first candidate has a wrong word.",
        "error_share", "word_errors", higher_is_better=False,
    ),
    _SILENCE,
    _Row(
        "oracle_map", "MAP of the oracle", "As MAP, with the true transcript in place of the sound.",
        "known_mean", "oracle_precision",
    ),
)  # fmt: skip

_TERM_RERANKING = (
    _Row("ndcg3", "NDCG at three", "Gain of the salient terms among the first three.", _MEAN, "gain"),
    _Row("map", "MAP", "Mean average precision of the salient terms among all offered.", _MEAN, "precision"),
    _SILENCE,
    _Row(
        "oracle_map", "MAP of the oracle", "As MAP, with the true transcript in place of the sound.",
        "known_mean", "oracle_precision",
    ),
)  # fmt: skip

_GENERATED = (
    _Row(
        "gmean_f1", "geometric mean F1", "F1 of questions with and without an answer, geometric mean by their numbers.",
        "geometric_mean_f1", "f1",
    ),
    _Row("f1", "F1", "Mean F1 of the words of the answer.", _MEAN, "f1"),
    _Row("invalid", "invalid answers", "Share of answers that do not have the form of one.", _MEAN, "invalid", False),
    _SILENCE,
)  # fmt: skip
_CHOSEN = (
    *_GENERATED,
    _Row(
        "oracle_gmean_f1", "geometric mean F1 of the oracle",
        "As the geometric mean F1, with the true transcript in place of the sound.", "geometric_mean_f1", "oracle_f1",
    ),
)  # fmt: skip

_CLASSIFICATION = (
    _Row("accuracy_pct", "accuracy", "Share of clips whose class comes first.", "accuracy", "rank"),
    _Row("balanced_accuracy_pct", "balanced accuracy", "Mean recall of the classes that occur.", "balanced_accuracy"),
    _Row("weighted_f1", "weighted F1", "F1 of each class, mean weighted by its clips.", "weighted_f1"),
    _Row(
        "weighted_precision", "weighted precision", "Precision of each class, mean weighted by its clips.",
        "weighted_precision",
    ),
    _Row("top5_pct", "top five", "Share of clips whose class is among the first five.", "top_accuracy", "rank"),
    _SILENCE,
    _Row(
        "oracle_accuracy_pct", "accuracy of the oracle", "As the accuracy, with the true transcript for the sound.",
        "accuracy", "oracle_rank",
    ),
)  # fmt: skip

_SEVERAL = (
    _Row(
        "map_pct", "mean average precision", "Average precision of each class, mean over those that have clips.",
        "codec_superb.applications.average_precision:mean_average_precision",
    ),
    _Row(
        "map_compat_pct", "mean average precision as published", "As before, where a class without clips counts 0.",
        "map_over_all_classes",
    ),
    _Row("micro_f1", "micro F1", "F1 of all decisions, where scores are probabilities.", "micro_f1"),
    _Row(
        "hamming", "Hamming loss", "Share of wrong decisions, where scores are probabilities.",
        "hamming_loss", higher_is_better=False,
    ),
    _Row("subset_pct", "subset accuracy", "Share of clips without a wrong decision, likewise.", "subset_accuracy"),
)  # fmt: skip

_TRANSCRIPTION = (
    _Row(
        "wer_pct", "word error rate", "Wrong, missing and added words over all words, after Whisper's normalisers.",
        "word_error_rate", higher_is_better=False, maximum=inf,
    ),
    _Row("ser_pct", "sentence error rate", "Share of clips with a wrong word.", "error_share", "word_errors", False),
    _Row(
        "cer_pct", "character error rate", "Wrong, missing and added characters over all, without spaces.",
        "character_error_rate", higher_is_better=False, maximum=inf,
    ),
    _SILENCE,
)  # fmt: skip

_SEGMENTATION = (
    _Row("ndcg", "NDCG", "Discounted share of the salient terms that stand at their own place.", _MEAN, "gain"),
    *(
        _Row(
            f"strict_{t}", f"terms and times within {t} ms", "Share of the true terms found with both their times.",
            "share_of_terms", f"both_{t}",
        )
        for t in _TOLERANCES
    ),
    _Row("term", "terms", "Share of the true terms found, whenever.", "share_of_terms", "term_100"),
    _Row(
        "time", "times within 100 ms", "Share of the true terms of whose times there is some term.",
        "share_of_terms", "times_100",
    ),
    _Row(
        "map", "average precision", "Average precision of the terms found, by confidence, within 100 ms.",
        "detection_precision",
    ),
    _Row(
        "wer_pct", "word error rate of the terms", "Wrong words of the terms found, over those of the true terms.",
        "word_error_rate", higher_is_better=False, maximum=inf,
    ),
    _SILENCE,
)  # fmt: skip

_REASONING_SIDED = (Field("f1", *_FLAG), Field("invalid", *_FLAG, whole=True), _NO_ANSWER)
_ANSWERABLE = Field("answerable", *_FLAG, whole=True)
_HEADS = "2"
"""Version of what heads are trained for: those of 1 were others on another processor."""

KINDS: dict[str, Kind] = {
    "retrieval": Kind(
        "retrieval", f"{_SCORERS}.retrieval:score", _ENCODERS, (_ORACLE_RANK,), (_RANK, _TOP, _NO_ANSWER),
        _metrics(_RETRIEVAL), "mrr", limits="retrieval",
    ),
    "reranking": Kind(
        "reranking", f"{_SCORERS}.reranking:score", _ENCODERS, (_WORDS, _ORACLE_PRECISION),
        (Field("precision", *_FLAG), _RANK, _WORD_ERRORS, _NO_ANSWER), _metrics(_RERANKING), "map",
        limits="reranking",
    ),
    "term reranking": Kind(
        "reranking", f"{_SCORERS}.reranking:score_terms", _ENCODERS, (_ORACLE_PRECISION,),
        (Field("gain", *_FLAG), Field("precision", *_FLAG), _NO_ANSWER), _metrics(_TERM_RERANKING), "ndcg3",
    ),
    "reasoning": Kind(
        "reasoning", f"{_SCORERS}.reasoning:score", _ENCODERS, (_ANSWERABLE, Field("oracle_f1", -1.0, 1.0)),
        _REASONING_SIDED, _metrics(_CHOSEN), "gmean_f1",
    ),
    "generative reasoning": Kind(
        "reasoning", f"{_SCORERS}.reasoning:score_generated", ("asr+reader",), (_ANSWERABLE,),
        _REASONING_SIDED, _metrics(_GENERATED), "gmean_f1", version="2",  # 1 took every answer for an invalid one
    ),
    "classification": Kind(
        "classification", f"{_SCORERS}.classification:score", (*_ENCODERS, "vectors"),
        (Field("label", 1, whole=True), _ORACLE_RANK),
        (Field("predicted", 1, whole=True, names=True), _RANK, _NO_ANSWER),
        _metrics(_CLASSIFICATION), "accuracy_pct", limits="classification", joint=True, version=_HEADS,
    ),
    "classification, several labels": Kind(
        "classification", f"{_SCORERS}.classification:score_several", (*_ENCODERS, "vectors"),
        (Field("labels", 0, whole=True), Field("classes", 1, whole=True)),
        (Field("given", -1, whole=True), Field("hits", -1, whole=True), _NO_ANSWER),
        _metrics(_SEVERAL), "map_pct", pairs="ranks", categories=("audio", "music"), limits="several_labels",
        version=_HEADS,
    ),
    "transcription": Kind(
        "transcription", f"{_SCORERS}.transcription:score", ("asr",), (_WORDS, Field("characters", 0, whole=True)),
        (_WORD_ERRORS, Field("character_errors", 0, whole=True), _NO_ANSWER), _metrics(_TRANSCRIPTION), "wer_pct",
        limits="transcription",
    ),
    "segmentation": Kind(
        "segmentation", f"{_SCORERS}.segmentation:score", ("words",), (Field("terms", 1, whole=True), _WORDS),
        (
            Field("gain", *_FLAG), _WORD_ERRORS,
            *(Field(f"{name}_{t}", 0, TERMS, whole=True) for t in _TOLERANCES for name in ("both", "times", "term")),
            *(Field(f"confidence_{place}", -1.0) for place in range(1, TERMS + 1)),
            *(Field(f"right_{place}", *_FLAG, whole=True) for place in range(1, TERMS + 1)),
            _NO_ANSWER,
        ),
        _metrics(_SEGMENTATION), "ndcg", limits="segmentation",
    ),
    **SET_KINDS,
}  # fmt: skip
"""By the name that a task gives."""
