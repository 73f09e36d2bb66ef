"""The probe ``tokens_stability``: which tokens of a codec stay when its sound is coded again, shifted or disturbed.

What is kept of a clip are counts: ``match:<disturbance>:<codebook>`` with the tokens compared as total,
``edits:<disturbance>`` of the first codebook with its tokens as total, ``chance:<codebook>`` (the matches of unrelated
sequences, Σ p² of the codebook over all clips) and ``drift:<metric>:<codings>`` with a total of one.
"""

from __future__ import annotations

from codec_superb.applications.interface import ClipOutcome, ProbeScores, ScoredPair, ScoringInput
from codec_superb.applications.probe import Probe
from codec_superb.applications.tokens.answers import answered
from codec_superb.applications.tokens.disturbances import MP3
from codec_superb.applications.tokens.disturbed_codec import Stability, from_text
from codec_superb.applications.tokens.matches import Counts, chances
from codec_superb.applications.tokens.table import CODINGS


def score(probe: Probe, question: ScoringInput) -> ProbeScores:  # noqa: ARG001 -- the table says what takes part
    """Return the counts of each clip; a clip without tokens, or without a resynthesis, has failed."""
    found, outcomes = answered(question, str, from_text)
    by_chance = chances({clip: of.tokens for clip, of in found.items()})
    pairs: list[ScoredPair] = []
    for item in question.items:
        if item.clip in found:
            pairs += counted(item.clip, found[item.clip].counts | by_chance[item.clip])
            outcomes[item.clip] = ClipOutcome("ok", shared=_shared(found[item.clip], by_chance[item.clip]))
    settings: dict[str, str | int | float | bool] = {"codings": ", ".join(map(str, CODINGS)), "mp3": MP3}
    return ProbeScores(outcomes, pairs=tuple(pairs), settings=settings)


def counted(clip: str, counts: Counts) -> list[ScoredPair]:
    """Return counts of a clip as they are kept, by name."""
    return [ScoredPair(clip, name, True, *counts[name]) for name in sorted(counts)]


def _shared(of: Stability, chance: Counts) -> dict[str, float]:
    return {"counts": float(len(of.counts) + len(chance)), "tokens": float(of.tokens.size)}
