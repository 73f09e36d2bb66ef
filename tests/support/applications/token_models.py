"""Token models that are trained in seconds, on sequences whose entropy is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.token_models.clips import TokenClip
from codec_superb.applications.token_models.configuration import TokenModelConfiguration, configuration_named
from codec_superb.applications.token_models.patterns import pattern_named
from codec_superb.applications.token_models.training import TokenTraining

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 2}  # fmt: skip


def clip_of(tokens: NDArray[np.int64], number: int, cluster: str = "", dataset: str = "made") -> TokenClip:
    """Return a clip of tokens ``(codebooks, frames)`` at 50 frames a second."""
    return TokenClip(f"clip{number}", dataset, cluster, np.asarray(tokens, np.int64), tokens.shape[1] / 50)


def uniform_clips(sizes: tuple[int, ...], clips: int, frames: int, seed: int = 0) -> list[TokenClip]:
    """Return clips of independent uniform tokens: log2 of the size bits each."""
    rng = np.random.default_rng(seed)
    return [
        clip_of(np.stack([rng.integers(0, size, frames) for size in sizes]), number) for number in range(clips)
    ]  # fmt: skip


def small_training(
    clips: list[TokenClip], sizes: tuple[int, ...], pattern: str = "delay", seed: int = 0, **changed: object
) -> TokenTraining:
    """Return the training of a model of 32 hidden numbers."""
    tiny = configuration_named("tiny").model_dump()
    said = {**tiny, "model": "test", "shape": SMALL, "depth": SMALL, "context": 32, "batch": 8, "steps": 20, **changed}
    configuration = TokenModelConfiguration.model_validate(said)
    return TokenTraining("made", "", sizes, tuple(clips), pattern_named(pattern), configuration, seed)
