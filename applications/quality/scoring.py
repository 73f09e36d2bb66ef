"""Scores the predictions of the quality models: the values of a clip on both sides.

A prediction is a float32 vector with one value for each sided field of the probe, in the table's order. For a probe
that compares (ViSQOL, WARP-Q) the prediction of the reference side is that of the reference with itself: the ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ProbeScores, ScoringInput, Setting
from codec_superb.applications.probe import Probe

LEFT_OUT: Mapping[str, tuple[str, ...]] = {"utmos": ("cmn", "wuu", "yue", "zh")}
"""By probe: primary BCP 47 tags of languages that its protocol leaves out (UltraEval-Audio has no UTMOS on Chinese)."""


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Keep each clip's predicted values on both sides.

    A clip in a language that the protocol leaves out is ``left_out``; one without both predictions, or with one that
    has another shape, is not finite or lies outside the field's range, is ``failed``, never a number.
    """
    settings: dict[str, Setting] = {}
    if probe.key in LEFT_OUT:
        settings["languages_left_out"] = ", ".join(LEFT_OUT[probe.key])
    return ProbeScores({item.clip: _outcome(probe, question, item) for item in question.items}, settings=settings)


def _outcome(probe: Probe, question: ScoringInput, item: Item) -> ClipOutcome:
    if _language(item) in LEFT_OUT.get(probe.key, ()):
        return ClipOutcome("left_out", f"{probe.label} is not used for the language {item.language}")
    if item.clip in question.failures:
        return ClipOutcome("failed", question.failures[item.clip])
    sides: dict[str, dict[str, float]] = {}
    for side, predictions in (("reference", question.reference), ("resynthesis", question.resynthesis)):
        values = _values(probe, predictions.get(item.clip))
        if isinstance(values, str):
            return ClipOutcome("failed", f"{side}: {values}")
        sides[side] = values
    return ClipOutcome("ok", reference=sides["reference"], resynthesis=sides["resynthesis"])


def _language(item: Item) -> str:
    return (item.language or "").replace("_", "-").split("-")[0].lower()


def _values(probe: Probe, prediction: Prediction | None) -> dict[str, float] | str:
    """Return the values by field, or why the prediction is invalid."""
    fields = probe.sided
    if prediction is None:
        return f"expected a prediction of {probe.key}, got none"
    if isinstance(prediction, str) or prediction.shape != (len(fields),):
        came = "a text" if isinstance(prediction, str) else f"the shape {prediction.shape}"
        return f"expected {len(fields)} values ({', '.join(field.name for field in fields)}), got {came}"
    for field, value in zip(fields, prediction, strict=True):
        if not (np.isfinite(value) and field.minimum <= value <= field.maximum):
            return f"expected {field.name} between {field.minimum:g} and {field.maximum:g}, got {value:g}"
    return {field.name: float(value) for field, value in zip(fields, prediction, strict=True)}
