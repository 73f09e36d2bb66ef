"""Statistics of tokens against numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from codec_superb.pipeline.resynthesis.token_statistics import TokenCounter


def test_entropy_use_and_rates_of_a_worked_example() -> None:
    """Four equally likely tokens are 2 bits and a perplexity of 4; a constant codebook has no bits, perplexity 1."""
    counter = TokenCounter([8, 8])
    counter.add(np.array([[0, 1, 2, 3], [5, 5, 5, 5]]), bits=24, seconds=1.0)
    counter.add(np.array([[3, 2, 1, 0], [5, 5, 5, 5]]), bits=24, seconds=1.0)
    found = counter.statistics()
    assert (found.clips, found.seconds, found.tokens) == (2, 2.0, 16)
    assert (found.tokens_per_second, found.frame_rate, found.kbps) == (8.0, 4.0, 0.024)
    assert found.entropy_kbps == pytest.approx(0.008)
    first, second = found.codebooks
    assert (first.used, first.share, first.entropy_bits, first.perplexity) == (4, 0.5, 2.0, 4.0)
    assert (second.used, second.share, second.entropy_bits, second.perplexity) == (1, 0.125, 0.0, 1.0)


def test_codebooks_of_several_sizes_count_by_themselves() -> None:
    """A half of two entries and a half of four; an entry beyond its own codebook is refused."""
    counter = TokenCounter([2, 4])
    counter.add(np.array([[1, 1], [2, 3]]), bits=6, seconds=1.0)
    first, second = counter.statistics().codebooks
    assert (first.used, first.share, second.used, second.share) == (1, 0.5, 2, 0.5)
    assert counter.statistics().entropy_kbps == pytest.approx(0.002)
    with pytest.raises(ValueError, match=r"expected tokens \(2, frames\) from 0 to 1 or 3, got \(2, 1\)"):
        counter.add(np.array([[2], [0]]), 1, 1.0)


def test_what_is_not_tokens_of_this_codec_is_refused() -> None:
    """Another number of codebooks, an entry that does not exist, and nothing at all raise ValueError."""
    counter = TokenCounter([8, 8])
    for tokens in (np.zeros((1, 3), int), np.full((2, 3), 8), np.full((2, 3), -1)):
        with pytest.raises(ValueError, match=r"expected tokens \(2, frames\)"):
            counter.add(tokens, 1, 1.0)
    with pytest.raises(ValueError, match="at least one clip"):
        counter.statistics()
