"""The probe ``tokens_lm``: bits of held-out clips under a model that is trained on the others, and kept.

What is kept of a clip are counts ``bits:lm:<codebook>`` (from 1, or ``all``), log2 of the entries being the total.
Clips of the training are left out: their bits would say nothing. Training goes on where it was killed, and is done
once.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np

from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.interface import ClipOutcome, ProbeScores, ScoredPair, ScoringInput, Setting
from codec_superb.applications.packages import require_packages
from codec_superb.applications.probe import Probe
from codec_superb.applications.token_models.clips import TokenClip, divide
from codec_superb.applications.token_models.configuration import configuration_named
from codec_superb.applications.token_models.patterns import pattern_named
from codec_superb.applications.tokens.answers import answered
from codec_superb.applications.tokens.matches import ALL
from codec_superb.applications.tokens.source import tokens_of
from codec_superb.applications.tokens.stability import counted

if TYPE_CHECKING:
    from codec_superb.applications.token_models.likelihood import ClipLikelihood

LEARNT = "the token model is trained on it"


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Train on some clusters of clips, and return the counts of the others; a clip without tokens has failed.

    Raises MissingPackage with the install command.
    """
    require_packages(probe.key, "xares", "torch", "transformers", "accelerate")
    from codec_superb.applications.token_models.likelihood import score as likelihood
    from codec_superb.applications.token_models.training import TokenTraining, load_trained, train

    found, outcomes = answered(question, np.ndarray, tokens_of)
    clips = [
        TokenClip(of.clip, question.dataset, of.cluster, its, float(its.shape[1]), of.speaker or "")
        for of in question.items
        if (its := found.get(of.clip)) is not None
    ]
    sizes = tuple(question.entries)
    configuration = configuration_named(probe.option("model"))
    pattern = pattern_named(configuration.pattern)
    settings: dict[str, Setting] = {"model": configuration.model, "pattern": pattern.pattern}
    try:
        divided = divide(clips)
    except MissingLabels as error:
        alone = {of.clip: ClipOutcome("left_out", str(error)) for of in clips}
        return ProbeScores(outcomes | alone, settings=settings)
    training = TokenTraining("", "", sizes, divided.trained, pattern, configuration, int(probe.option("seed")))
    train(training)
    trained = load_trained(training.folder)
    pairs: list[ScoredPair] = []
    outcomes |= {of.clip: ClipOutcome("left_out", LEARNT) for of in divided.trained}
    for clip in divided.held_out:
        counts = counts_of(likelihood(trained, clip), sizes)
        pairs += counted(clip.clip, counts)
        outcomes[clip.clip] = ClipOutcome("ok", shared={"counts": len(counts), "tokens": float(clip.tokens.size)})
    settings |= {
        "seed": training.seed, "token_model": training.key, "steps": training.steps,
        "weights_sha256": str(trained.facts["weights_sha256"]), "training_clips": len(divided.trained),
        "training_tokens": training.frames * len(sizes), "end": "not predicted",
        "held_out_by": divided.unit, "speakers_in_both": divided.speakers_in_both,
    }  # fmt: skip
    return ProbeScores(outcomes, pairs=tuple(pairs), settings=settings)


def counts_of(found: ClipLikelihood, sizes: tuple[int, ...]) -> dict[str, tuple[float, float]]:
    """Return bits by codebook and over all, with those of a uniform choice as totals."""
    whole = [found.frames * log2(size) for size in sizes]
    counts = {f"bits:lm:{book}": of for book, of in enumerate(zip(whole, found.bits, strict=True), start=1)}
    return counts | {f"bits:lm:{ALL}": (sum(whole), sum(found.bits))}
