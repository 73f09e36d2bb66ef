"""Kinds of measures: the numbers kept of a clip, and the figures that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal, NamedTuple

from codec_superb.applications.probe import MOST_ERRORS, USUAL_ERRORS, Field, ProbeMetric

_HERE = "codec_superb.applications.understanding.figures"
_LIMITS = "codec_superb.applications.understanding.limits"
_COMMON = "codec_superb.applications.metric_functions"
_READ = Field("parsed", 0.0, 1.0, whole=True)


class _Row(NamedTuple):
    """One figure of a kind."""

    suffix: str
    words: str
    """After the task's name, in a label."""
    definition: str
    target: str
    field: str = ""
    unit: str = "%"
    higher_is_better: bool = True
    minimum: float = 0.0
    maximum: float = 100.0
    per: str = ""
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """What the measures of one kind have in common."""

    shared: tuple[Field, ...]
    sided: tuple[Field, ...]
    rows: tuple[_Row, ...]
    limits: str
    """``module:function``: what cannot be true together."""
    pairs: Literal["", "ranks"] = ""
    """What it keeps beyond numbers of clips: the ranks of a clip within its classes."""

    def metrics(self, key: str, title: str) -> tuple[ProbeMetric, ...]:
        """Return the figures of a task; the first stands for it."""
        return tuple(
            ProbeMetric(
                f"{key}_{row.suffix}", f"{title}: {row.words}", row.unit, row.higher_is_better, row.minimum,
                row.maximum, 2, row.definition, row.target, row.field, row.per, bounds=row.bounds,
                usual=USUAL_ERRORS if row.bounds == _ERRORS else inf,
            )
            for row in self.rows
        )  # fmt: skip


_UNREAD = _Row(
    "unparsed_pct", "unreadable answers", "Answers in which nothing could be read; they count as wrong.",
    f"{_HERE}:unread", "parsed", higher_is_better=False,
)  # fmt: skip
_ORDER = _Row(
    "order_pct", "judged by place", "Answers of which the judge says another thing when both change places.",
    f"{_HERE}:unread", "steady", higher_is_better=False,
)  # fmt: skip
_WIN = _Row(
    "win_pct", "answers preferred", "Answers that a judge puts above the one of the label, in both places; one "
    "preferred for its place, or in neither, counts a half, one whose judgement cannot be read 0.",
    f"{_COMMON}:percentage", "win",
)  # fmt: skip
_COMPARED = (Field("win", 0.0, 1.0), Field("steady", 0.0, 1.0, whole=True), _READ)
_ERRORS = (0.0, 100.0 * MOST_ERRORS)
_EDITS = ("substitutions", "deletions", "insertions")

KINDS: dict[str, Kind] = {
    "choice": Kind(
        limits=f"{_LIMITS}:choice",
        shared=(Field("options", 0, whole=True),),
        sided=(Field("correct", 0.0, 1.0, whole=True), _READ, Field("same", 0.0, 1.0, whole=True, ceiling=1.0)),
        rows=(
            _Row("accuracy_pct", "accuracy", "Clips that are answered rightly.", f"{_COMMON}:percentage", "correct"),
            _Row(
                "above_chance_pct", "accuracy above chance",
                "(accuracy − chance) / (1 − chance), chance being the mean of 1 over the number of options.",
                f"{_HERE}:above_chance", "correct", minimum=-inf,
                bounds=(-100.0, 100.0),  # no accuracy, and chance of a half: of two options
            ),
            _UNREAD,
            _Row(
                "agreement_pct", "agreement", "Clips on which both sides are answered alike; it needs no label.",
                f"{_COMMON}:percentage", "same",
            ),
        ),
    ),
    "labels": Kind(
        limits=f"{_LIMITS}:labels",
        shared=(Field("labels", 1, whole=True), Field("classes", 0, whole=True)),
        sided=(Field("given", 0, whole=True), Field("hits", 0, whole=True), _READ),
        rows=(
            _Row(
                "map_pct", "mean average precision",
                "Mean over classes of the average precision of answers with and without the class; a class of the "
                "task that no clip has counts 0.", f"{_HERE}:mean_average_precision",
            ),
            _UNREAD,
        ),
        pairs="ranks",
    ),
    "edits": Kind(
        limits=f"{_LIMITS}:edits",
        shared=(Field("words", 0, whole=True), Field("characters", 0, whole=True)),
        sided=tuple(Field(name, 0, whole=True) for name in _EDITS),
        rows=(
            _Row(
                "wer_pct", "word error rate", "Errors over the words of all labels, by the task's normaliser.",
                f"{_COMMON}:word_error_rate", higher_is_better=False, maximum=inf, per="words", bounds=_ERRORS,
            ),
            _Row(
                "cer_pct", "character error rate", "As the word error rate, over characters.",
                f"{_COMMON}:character_error_rate", higher_is_better=False, maximum=inf, per="characters",
                bounds=_ERRORS,
            ),
        ),
    ),
    "bleu": Kind(
        limits=f"{_LIMITS}:bleu",
        shared=(),
        sided=(
            *(Field(f"match{n}", 0, whole=True) for n in range(1, 5)),
            *(Field(f"total{n}", 0, whole=True) for n in range(1, 5)),
            Field("length", 0, whole=True),
            Field("reference_length", 0, whole=True),
        ),
        rows=(_Row("bleu", "BLEU", "Corpus BLEU of all answers, exponential smoothing.", f"{_HERE}:bleu", unit=""),),
    ),
    "instructions": Kind(
        limits=f"{_LIMITS}:instructions",
        shared=(Field("asked", 1, whole=True),),
        sided=(Field("strict", 0, whole=True), Field("loose", 0, whole=True)),
        rows=(
            _Row("prompt_strict_pct", "answers that keep all", "Answers that keep every instruction.",
                 f"{_HERE}:all_kept", "strict"),
            _Row("strict_pct", "instructions kept", "Instructions that are kept, over all.", f"{_HERE}:kept", "strict"),
            _Row("prompt_loose_pct", "answers that keep all, loosely",
                 "As above, for the best of eight forms of the answer.", f"{_HERE}:all_kept", "loose"),
            _Row("loose_pct", "instructions kept, loosely", "As above, for the best of eight forms of the answer.",
                 f"{_HERE}:kept", "loose"),
        ),
    ),
    "value": Kind(
        limits=f"{_LIMITS}:value",
        shared=(),
        sided=(Field("value", 0.0, 1000.0), _READ),
        rows=(
            _Row("mean", "mean", "Mean over clips; an answer without a value counts 0.", f"{_COMMON}:mean", "value",
                 unit="", maximum=1000.0),
            _UNREAD,
        ),
    ),
    "rating": Kind(
        limits=f"{_LIMITS}:value",
        shared=(),
        sided=(Field("rating", 0.0, 10.0), _READ),
        rows=(
            _Row("rating", "rating", "Mean rating by a judge; one that could not be read counts 0.",
                 f"{_COMMON}:mean", "rating", unit="", maximum=10.0),
            _UNREAD,
        ),
    ),
    "pair": Kind(limits=f"{_LIMITS}:compared", shared=(), sided=_COMPARED, rows=(_WIN, _UNREAD, _ORDER)),
    "scores": Kind(
        limits=f"{_LIMITS}:compared",
        shared=(),
        sided=(*_COMPARED, Field("rating", 0.0, 10.0), Field("other", 0.0, 10.0)),
        rows=(
            _WIN,
            _Row("rating", "rating", "Mean score by a judge, over both places; one that could not be read counts 0.",
                 f"{_COMMON}:mean", "rating", unit="", maximum=10.0),
            _Row("other", "rating of the label", "As above, of the answer of the label beside it.",
                 f"{_COMMON}:mean", "other", unit="", maximum=10.0),
            _UNREAD,
            _ORDER,
        ),
    ),
}  # fmt: skip
KINDS["iwer"] = replace(
    KINDS["edits"],
    rows=(
        _Row(
            "iwer_pct",
            "1 − word error rate",
            "100 less the errors over the words of all labels in percent, 0 at least.",
            f"{_HERE}:inverse_word_error_rate",
            per="words",
        ),
    ),
)
KINDS["icer"] = replace(
    KINDS["edits"],
    rows=(
        _Row(
            "icer_pct",
            "1 − character error rate",
            "As above, over characters, of which a space is one.",
            f"{_HERE}:inverse_character_error_rate",
            per="characters",
        ),
    ),
)
KINDS["characters"] = replace(KINDS["edits"], rows=KINDS["edits"].rows[::-1])
"""The same numbers; the character error rate stands for the task."""
