"""Conditions of the payload: rates of loss, lengths of bursts and numbers of inverted bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.metrics.noise.random_numbers import stream
from codec_superb.pipeline.conditions.payload import inverted, inverted_tokens, lost_at

PACKETS = 400_000


def _bursts(lost: np.ndarray) -> np.ndarray:
    """Return the lengths of the runs of lost packets."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    return edges[1::2] - edges[::2]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.2, 0.5])
@pytest.mark.parametrize("packet", [0.01, 0.02, 0.08])
def test_rate_and_bursts_are_those_of_the_chain(share: float, packet: float) -> None:
    """The stated share is lost whatever the packets' length, and bursts are as long as the Gilbert model says.

    Packets ``T`` apart are correlated by ``c = 2 ** (-T / 20 ms)``: a lost one is followed by a lost one with the
    probability ``share + (1 - share) c``, so that bursts have ``1 / ((1 - share) (1 - c))`` packets on average, which
    at 20 ms is ``2 / (1 - share)``.
    """
    lost = lost_at(stream("loss", "clip"), share, np.arange(PACKETS) * packet)
    correlated = 2 ** (-packet / 0.02)
    burst = 1 / ((1 - share) * (1 - correlated))
    # variance of a mean of correlated draws: larger by (1 + c) / (1 - c)
    sigma = np.sqrt(share * (1 - share) / PACKETS * (1 + correlated) / (1 - correlated))
    assert lost.mean() == pytest.approx(share, abs=4 * sigma)
    lengths = _bursts(lost)
    assert lengths.mean() == pytest.approx(burst, abs=4 * lengths.std() / np.sqrt(lengths.size))
    both = np.mean(lost[1:] & lost[:-1])
    assert both == pytest.approx(share * (share + (1 - share) * correlated), abs=8 * sigma)


def test_codecs_of_different_packets_meet_the_same_bad_moments() -> None:
    """A moment that is bad for packets of 10 ms is bad for those of 40 ms that begin at it, however long the clip."""
    short = lost_at(stream("loss", "clip"), 0.1, np.arange(4000) * 0.01)
    long = lost_at(stream("loss", "clip"), 0.1, np.arange(500) * 0.04)
    assert np.array_equal(short[::4][:500], long)
    assert short.any()
    assert not np.array_equal(short, lost_at(stream("loss", "other"), 0.1, np.arange(4000) * 0.01))


@pytest.mark.sample(1)
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5])
def test_as_many_bits_are_inverted_as_the_rate_says(share: float) -> None:
    """Counted over a megabyte, within four standard deviations; twice the same."""
    payload = bytes(range(256)) * 4096
    damaged = inverted(stream("bits", "clip"), payload, share)
    flips = np.unpackbits(np.frombuffer(damaged, np.uint8) ^ np.frombuffer(payload, np.uint8)).sum()
    bits = 8 * len(payload)
    assert flips == pytest.approx(share * bits, abs=4 * np.sqrt(bits * share * (1 - share)))
    assert damaged == inverted(stream("bits", "clip"), payload, share)
    assert len(damaged) == len(payload)


@given(
    sizes=st.lists(st.integers(1, 250_047), min_size=1, max_size=4), share=st.floats(0, 1), frames=st.integers(1, 40)
)
@examples(60)
def test_damaged_tokens_are_tokens_of_their_codebook(sizes: list[int], share: float, frames: int) -> None:
    """Whatever the rate; at 0 none changes, and the given array never does."""
    rng = np.random.default_rng(frames)
    tokens = np.stack([rng.integers(0, size, frames) for size in sizes]).astype(np.int32)
    kept = tokens.copy()
    damaged = inverted_tokens(stream("bits", "clip"), tokens, tuple(sizes), share)
    assert damaged.shape == tokens.shape
    assert damaged.dtype == tokens.dtype
    assert np.array_equal(tokens, kept)
    for row, size in zip(damaged, sizes, strict=True):
        assert 0 <= row.min() <= row.max() < size
    assert np.array_equal(inverted_tokens(stream("bits", "clip"), tokens, tuple(sizes), 0.0), tokens)


def test_all_bits_of_an_index_are_inverted_at_a_rate_of_one() -> None:
    """A codebook of a power of two: its complement; any other: that modulo its size."""
    tokens = np.array([[0, 1, 5], [0, 1, 5]])
    damaged = inverted_tokens(stream("bits", "clip"), tokens, (8, 6), 1.0)
    assert damaged.tolist() == [[7, 6, 2], [7 % 6, 6 % 6, 2]]
