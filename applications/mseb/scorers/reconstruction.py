"""Reconstruction: how far the frames of the resyntheses lie from those of the originals, as sets and frame by frame.

The reference side is 0 by definition. What is kept of a clip are frames of the same moments on both sides; the
distances are those of :mod:`codec_superb.applications.mseb.set_figures`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import (
    ClipOutcome,
    Prediction,
    ProbeScores,
    ScoredFrames,
    ScoringInput,
    Setting,
)
from codec_superb.applications.mseb.distances import mean_squared_difference
from codec_superb.applications.mseb.frame_sample import SEED, chosen_clips, most_frames, positions
from codec_superb.applications.probe import Probe

LARGEST = 2.0**39
"""Largest number of a frame: with half floats and a common scale no larger one is kept."""
Frames = NDArray[np.float32]


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Keep a seeded sample of the frames of each clip, and the mean squared difference over all of its frames.

    A clip whose sides have other shapes, or numbers beyond :data:`LARGEST`, is ``failed``.
    """
    outcomes: dict[str, ClipOutcome] = {}
    taking: dict[str, tuple[Frames, Frames]] = {}
    for item in question.items:
        found = _sides(probe, question, item.clip)
        if isinstance(found, str):
            outcomes[item.clip] = ClipOutcome("failed", found)
        else:
            taking[item.clip] = found
    most = most_frames(max((reference.shape[1] for reference, _ in taking.values()), default=1))
    # by the clips that were asked, so that codecs keep the same frames whichever clips they fail on
    each = max(1, most // max(1, len(question.items)))
    chosen = chosen_clips((item.clip for item in question.items), most)
    frames = [_sample(clip, sides, each) for clip, sides in taking.items() if clip in chosen]
    kept = {of.clip: len(of.reference) for of in frames}
    for clip, (reference, resynthesis) in taking.items():
        difference = mean_squared_difference(reference.astype(np.float64), resynthesis.astype(np.float64))
        outcomes[clip] = ClipOutcome(
            "ok",
            shared={"frames": float(kept.get(clip, 0))},
            reference={"squared_difference": 0.0},
            resynthesis={"squared_difference": difference},
        )
    settings: dict[str, Setting] = {"frames_per_clip": each, "frames_most": most, "frames_seed": SEED}
    return ProbeScores(outcomes, settings=settings, frames=tuple(frames))


def _sides(probe: Probe, question: ScoringInput, clip: str) -> tuple[Frames, Frames] | str:
    """Return the frames of both sides, or why there are none."""
    if clip in question.failures:
        return question.failures[clip]
    sides = (question.reference.get(clip), question.resynthesis.get(clip))
    found: list[Frames] = []
    for name, frames in zip(("reference", "resynthesis"), sides, strict=True):
        if frames is None or isinstance(frames, str) or frames.ndim != 2:  # noqa: PLR2004 -- frames, dimensions
            return f"{name}: expected frames of {probe.key}, got {_described(frames)}"
        if not np.abs(frames).max(initial=0.0) < LARGEST:
            return f"{name}: expected numbers below {LARGEST:g} in the frames, got larger ones"
        found.append(frames)
    reference, resynthesis = found
    if reference.shape != resynthesis.shape:
        return f"expected frames of the shape of the reference, {reference.shape}, got {resynthesis.shape}"
    return reference, resynthesis


def _described(prediction: Prediction | None) -> str:
    if prediction is None:
        return "none"
    return "a text" if isinstance(prediction, str) else f"the shape {prediction.shape}"


def _sample(clip: str, sides: tuple[Frames, Frames], most: int) -> ScoredFrames:
    chosen = positions(clip, len(sides[0]), most)
    reference, resynthesis = (side[chosen] for side in sides)
    return ScoredFrames(clip, len(sides[0]), reference, resynthesis)
