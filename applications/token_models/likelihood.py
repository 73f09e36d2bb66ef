"""What a trained model makes of clips that it never saw: log-likelihoods by codebook, from which figures follow."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import torch
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.token_models.clips import TokenClip, seen
from codec_superb.applications.token_models.patterns import arrange, restore
from codec_superb.applications.token_models.training import TrainedModel, context_of

WINDOWS = 8
"""Windows that are computed at once."""


@dataclass(frozen=True, slots=True)
class ClipLikelihood:
    """What is kept of a clip: sums from which perplexity, bits a second and their intervals follow."""

    clip: str
    dataset: str
    cluster: str
    seconds: float
    frames: int
    """Tokens of each codebook."""
    bits: tuple[float, ...]
    """By codebook: the sum of -log2 of the likelihoods of its tokens."""


def score(trained: TrainedModel, clip: TokenClip, device: str = "cpu") -> ClipLikelihood:
    """Return the bits of a clip's tokens. Raises ApplicationError for one that the model may have seen.

    A clip of another codec's codebooks, or with entries that they have not, is refused as well.
    """
    if seen(trained.names, clip):
        raise ApplicationError(
            f"{clip.clip}: the token model was trained on this clip, its speaker or the same tokens; its perplexity "
            "would say nothing: score clips that were held out"
        )
    bits = token_bits(trained, clip.tokens, device).sum(axis=1)
    return ClipLikelihood(
        clip.clip, clip.dataset, clip.cluster, clip.seconds, clip.frames, tuple(float(of) for of in bits)
    )


@torch.inference_mode()
def token_bits(trained: TrainedModel, tokens: NDArray[np.int64], device: str = "cpu") -> NDArray[np.float64]:
    """Return -log2 of the likelihood of each token, ``(codebooks, frames)``, each given what comes before it.

    A clip longer than the context is read in windows that overlap by half: of all but the first, the second half
    counts, so that each frame is counted once and knows half a context. Raises ApplicationError for tokens of others.
    """
    model = trained.model.to(device)
    _check(tokens, model.sizes)
    frames = tokens.shape[1]
    context = context_of(trained.configuration, model.pattern, len(model.sizes))
    hop = max(1, context // 2)
    starts = [0, *range(hop, max(frames - context, 0) + hop, hop)] if frames > context else [0]
    found = np.zeros(tokens.shape)
    for at in range(0, len(starts) if frames else 0, WINDOWS):
        group = starts[at : at + WINDOWS]
        grids = [arrange(tokens[:, start : start + context], model.pattern) for start in group]
        losses = model.losses(grids).double().cpu().numpy()
        for start, grid, loss in zip(group, grids, losses, strict=True):
            of_tokens = restore(loss[: len(grid)], model.pattern)
            new = 0 if start == 0 else context - hop
            found[:, start + new : start + context] = of_tokens[:, new:]
    return found / log(2)


def _check(tokens: NDArray[np.int64], sizes: tuple[int, ...]) -> None:
    if tokens.ndim != 2 or len(tokens) != len(sizes):  # noqa: PLR2004 -- codebooks by frames
        raise ApplicationError(f"token model: expected tokens ({len(sizes)}, frames), got {tokens.shape}")
    if tokens.size and (tokens.min() < 0 or (tokens.max(axis=1) >= np.array(sizes)).any()):
        raise ApplicationError(
            f"token model: expected entries below {', '.join(map(str, sizes))}, got {tokens.min()} to {tokens.max()}"
        )
