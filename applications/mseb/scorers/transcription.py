"""Transcription: errors of a recogniser in words and characters of each clip, on both sides."""

from __future__ import annotations

from codec_superb.applications.asr.normalise import language_of
from codec_superb.applications.interface import ClipOutcome, ProbeScores, ScoringInput
from codec_superb.applications.mseb.scorers.sides import taking_part
from codec_superb.applications.mseb.transcripts import errors_of
from codec_superb.applications.probe import SIDES, Probe


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return the lengths of each label and the errors of both transcripts; an empty one deletes all, and is counted.

    A label that is empty after normalising takes part: whatever is heard there is inserted.
    """
    items, outcomes = taking_part(probe, question, lambda _: "", of_text=True)
    for item in items:
        heard = [str(getattr(question, side)[item.clip]) for side in SIDES]
        found = [errors_of(item.text or "", text, item.language) for text in heard]
        shared = {"words": float(found[0].words), "characters": float(found[0].characters)}
        sided = [
            {
                "word_errors": float(errors.word_errors),
                "character_errors": float(errors.character_errors),
                "no_answer": float(not text.strip()),
            }
            for errors, text in zip(found, heard, strict=True)
        ]
        outcomes[item.clip] = ClipOutcome("ok", "", shared, *sided)
    languages = sorted({language_of(item.language) for item in items})
    words = {f"words_{name}": "Whisper English" if name == "en" else "Whisper basic" for name in languages}
    return ProbeScores(outcomes, settings={**words, "characters": "NFKC, lower case, no spaces, punctuation, symbols"})
