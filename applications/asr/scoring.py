"""Scores transcripts: words or characters of each clip and the errors on each side; rates come from their sums."""

from __future__ import annotations

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.normalise import Normalised, language_of, normalise, normaliser_name
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.probe import SIDES, Probe


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Compare both transcripts of each clip with its label, after normalising all three for the clip's language.

    A clip without a label, or whose label is empty after normalising, is left out; one without a transcript has
    failed. Raises nothing for a clip.
    """
    outcomes = {item.clip: _outcome(probe, item, question) for item in question.items}
    languages = {language_of(item.language): item.language for item in question.items if item.text is not None}
    return ProbeScores(
        outcomes,
        settings={f"normaliser_{name}": normaliser_name(languages[name]) for name in sorted(languages)},
    )


def _outcome(probe: Probe, item: Item, question: ScoringInput) -> ClipOutcome:
    if item.text is None:
        return ClipOutcome("left_out", "no transcript")
    label = normalise(item.text, item.language)
    if not label.says_something:
        return ClipOutcome("left_out", "the transcript is empty after normalising")
    if item.clip in question.failures:
        return ClipOutcome("failed", question.failures[item.clip])
    heard: dict[str, dict[str, float]] = {}
    for side in SIDES:
        prediction = getattr(question, side).get(item.clip)
        if not isinstance(prediction, str):
            return ClipOutcome("failed", f"expected a transcript of the {side}, got {_kind(prediction)}")
        heard[side] = _errors(label, normalise(prediction, item.language))
    shared = {field.name: float(len(label.units)) if field.name == label.unit else 0.0 for field in probe.shared}
    return ClipOutcome("ok", shared=shared, reference=heard["reference"], resynthesis=heard["resynthesis"])


def _errors(label: Normalised, heard: Normalised) -> dict[str, float]:
    return {name: float(count) for name, count in count_edits(label.units, heard.units)._asdict().items()}


def _kind(prediction: Prediction | None) -> str:
    return "nothing" if prediction is None else type(prediction).__name__
