"""Bits of a model are those of a real code: a range coder with the model's probabilities gives the tokens back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.applications.token_models import clip_of, small_training

from codec_superb.applications.token_models.likelihood import token_bits
from codec_superb.applications.token_models.patterns import PATTERNS, arrange, restore
from codec_superb.applications.token_models.training import TrainedModel, load_trained, train

SIZES = (5, 3)
FRAMES = 24
Integers = NDArray[np.int64]


def related(clips: int, seed: int) -> list[Integers]:
    """Return tokens ``(2, frames)``: mostly the entry after the one before, and a codebook that mostly follows."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random((clips, FRAMES)) < 0.8, 1, rng.integers(0, 5, (clips, FRAMES)))
    first = np.cumsum(steps, axis=1) % 5
    second = np.where(rng.random(first.shape) < 0.8, first % 3, rng.integers(0, 3, first.shape))
    return [np.stack(of) for of in zip(first, second, strict=True)]


def walk(trained: TrainedModel, tokens: Integers, code: Callable[[int, NDArray[np.float64]], int]) -> None:
    """Fill ``tokens`` in the pattern's order with what ``code`` makes of each token and its quantised distribution."""
    pattern = trained.model.pattern
    order = sorted((pattern.stride(2) * frame + pattern.delay * book, book, frame)
                   for book in range(2) for frame in range(FRAMES))  # fmt: skip
    known = np.zeros_like(tokens)
    for _, book, frame in order:
        # what is not known yet is 0 on both sides: nothing looks ahead
        tried = np.repeat(known[None], SIZES[book], axis=0)
        tried[:, book, frame] = range(SIZES[book])
        with torch.inference_mode():
            losses = trained.model.losses([arrange(of, pattern) for of in tried]).double().numpy()
        chances = np.exp([-restore(loss, pattern)[book, frame] for loss in losses])
        assert chances.sum() == pytest.approx(1, abs=1e-5)
        # a grid of 2^-20, in float64: what the coder takes
        chances = np.maximum(np.round(chances * 2**20), 1)
        tokens[book, frame] = known[book, frame] = code(int(tokens[book, frame]), chances / chances.sum())


@pytest.mark.sample(1, among="patterns coded")
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_a_range_coder_takes_the_ideal_bits_and_gives_the_tokens_back(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 1 % and two words of the model's bits, and not below them; a decoder has words and model alone."""
    stream: Any = pytest.importorskip("constriction").stream
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    clips = [clip_of(tokens, number) for number, tokens in enumerate(related(24, 1))]
    training = small_training(clips, SIZES, pattern, steps=60, passes=1000, rate=0.01, dropout=0.0)
    train(training)
    trained = load_trained(training.folder)
    held = related(4, 2)
    encoder = stream.queue.RangeEncoder()

    def put(token: int, chances: NDArray[np.float64]) -> int:
        encoder.encode(token, stream.model.Categorical(chances, perfect=False))
        return token

    for tokens in held:
        walk(trained, tokens.copy(), put)
    ideal = float(sum(token_bits(trained, tokens).sum() for tokens in held))
    assert ideal < 0.8 * len(held) * FRAMES * np.log2(SIZES).sum()
    assert 0.999 * ideal <= encoder.num_bits() <= 1.01 * ideal + 64
    decoder = stream.queue.RangeDecoder(encoder.get_compressed())
    for tokens in held:
        back = np.zeros_like(tokens)
        walk(trained, back, lambda _, chances: int(decoder.decode(stream.model.Categorical(chances, perfect=False))))
        np.testing.assert_array_equal(back, tokens)
