"""Entropies of tokens and the entropy coder, against answers that are known from outside."""

from __future__ import annotations

import itertools
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.profile import examples

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item
from codec_superb.applications.tokens.coder import coded, decode, encode
from codec_superb.applications.tokens.context_model import ContextModel
from codec_superb.applications.tokens.entropy import entropies, first_uses, nominal_bits
from codec_superb.applications.tokens.rate import coded_by_folds, folds_of, rates

Numbers = NDArray[np.int64]
CHAIN = np.array([[0.7, 0.2, 0.1, 0.0], [0.0, 0.6, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25], [0.9, 0.0, 0.0, 0.1]])


def uniform(clips: int, frames: int, sizes: tuple[int, ...], seed: int = 0) -> dict[str, Numbers]:
    """Draw independent tokens, each entry as likely as any other."""
    rng = np.random.default_rng(seed)
    return {f"c{n:03}": np.stack([rng.integers(0, size, frames) for size in sizes]) for n in range(clips)}


def markov(clips: int, frames: int) -> tuple[dict[str, Numbers], float]:
    """Draw Markov chains; return them and -log2 of their probabilities by the chain itself, a token."""
    rng = np.random.default_rng(1)
    found, bits = {}, 0.0
    for clip in range(clips):
        state, chain = 0, []
        for _ in range(frames):
            state = int(rng.choice(4, p=CHAIN[state]))
            chain.append(state)
        bits -= sum(log2(CHAIN[one, two]) for one, two in itertools.pairwise([0, *chain]))
        found[f"c{clip:03}"] = np.array([chain])
    return found, bits / (clips * frames)


def each_alone(tokens: dict[str, Numbers]) -> dict[str, int]:
    """Give each clip a cluster of its own."""
    return folds_of([Item(clip, "speech") for clip in tokens], tokens)


def test_uniform_tokens_take_log2_of_the_entries() -> None:
    """Codebooks of several sizes, one of a single entry: entropy and coder are at log2 K, never a percent above."""
    sizes = (16, 5, 1, 3)
    tokens = uniform(30, 400, sizes)
    found = rates(tokens, sizes, each_alone(tokens))
    total = sum(of["bits:coded:all"][0] for of in found.values())
    assert total == pytest.approx(30 * nominal_bits(sizes, 400))
    assert sum(of["bits:coded:all"][1] for of in found.values()) == pytest.approx(total, rel=0.01)
    for book, size in enumerate(sizes, start=1):
        for kind in ("unigram", "after", "beside"):
            bits = sum(of[f"bits:{kind}:{book}"][1] for of in found.values()) / 12_000
            bias = found["c000"][f"bias:{kind}:{book}"][1]
            assert bits + bias == pytest.approx(log2(size), abs=0.002), (kind, book)
    assert sum(of["use:all"][1] for of in found.values()) == sum(sizes)
    assert sum(of["use:all"][0] for of in found.values()) == pytest.approx(sum(sizes))


def test_constant_tokens_take_nothing() -> None:
    """Every entropy is 0, and the coder writes less than three bytes a clip, with the bit that says so."""
    tokens = {name: np.full_like(found, 3) for name, found in uniform(10, 300, (16, 7)).items()}
    found = rates(tokens, (16, 7), each_alone(tokens))
    for of in found.values():
        assert [of[f"bits:{kind}:all"][1] for kind in ("unigram", "after", "beside")] == [0.0, 0.0, 0.0]
        assert of["bits:coded:all"][1] <= 24
    assert sum(of["use:1"][1] for of in found.values()) == 1


def test_a_markov_chain_is_coded_at_its_entropy_rate() -> None:
    """The context model is within 2 % of what the chain itself would take, and never below; so is what is written."""
    tokens, true = markov(60, 500)
    written = dict(coded_by_folds(tokens, (4,), each_alone(tokens)))
    ideal = sum(of.ideal.sum() for of in written.values()) / 30_000
    assert true <= ideal <= 1.02 * true
    assert sum(of.bits for of in written.values()) <= 1.01 * sum(of.ideal.sum() for of in written.values()) + 32 * 60
    # given the frame before, the plug-in estimate is the entropy rate
    after = sum(entropies(tokens, "after", 0).bits.values()) / 30_000
    assert after == pytest.approx(true, rel=0.01)
    assert sum(entropies(tokens, "unigram", 0).bits.values()) / 30_000 > 1.2 * true


def test_what_another_codebook_tells_is_used() -> None:
    """A second codebook that repeats the first costs next to nothing."""
    tokens = {name: np.concatenate([found, found]) for name, found in uniform(20, 300, (64,)).items()}
    written = dict(coded_by_folds(tokens, (64, 64), each_alone(tokens)))
    first, second = np.sum([of.ideal for of in written.values()], axis=0)
    assert first == pytest.approx(20 * 300 * 6, rel=0.02)
    assert second < 0.1 * first
    assert sum(entropies(tokens, "beside", 1).bits.values()) == 0


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=4),
    st.integers(1, 12),
    st.integers(0, 2**32),
)
@examples(40)
def test_any_tokens_come_back(sizes: list[int], frames: int, seed: int) -> None:
    """Whatever the sizes, clips of a frame included, the words decode to the same tokens, by a trained model too."""
    clips = list(uniform(3, frames, tuple(sizes), seed).values())
    model = ContextModel(sizes)
    for tokens in clips:
        found = encode(model.predict(tokens), len(sizes))
        np.testing.assert_array_equal(decode(found.words, frames, model), tokens)
        # one more word: the state of the coder
        assert found.bits <= 1.01 * found.ideal.sum() + 40
        model.train([tokens])


def test_a_model_is_as_it_was_after_a_clip() -> None:
    """What it learns within a clip it forgets: the order in which clips are coded changes nothing."""
    clips = list(uniform(6, 50, (9, 2)).values())
    model = ContextModel((9, 2))
    model.train(clips[:2])
    before = [coded(tokens, model).bits for tokens in clips[2:]]
    assert [coded(tokens, model).bits for tokens in clips[:1:-1]] == before[::-1]


def test_clips_of_a_cluster_are_held_out_together() -> None:
    """A copy of a clip by the same speaker is no help, and one by somebody else is."""
    tokens = uniform(4, 400, (16,))
    tokens["copy"] = tokens["c000"]
    items = [Item(clip, "speech", cluster="one" if clip in {"c000", "copy"} else clip) for clip in tokens]
    together = folds_of(items, tokens)
    assert together["copy"] == together["c000"]
    assert len(set(together.values())) == 4
    apart = {**together, "copy": (together["copy"] + 1) % 4}
    bits = [dict(coded_by_folds(tokens, (16,), folds))["copy"].bits for folds in (together, apart)]
    assert bits[1] < 0.8 * bits[0]


def test_entries_are_counted_where_they_come_first() -> None:
    """By name of the clip, each entry once."""
    tokens = {"b": np.array([[1, 2, 2]]), "a": np.array([[2, 0, 0]])}
    assert first_uses(tokens, 0) == {"a": 2, "b": 1}


def test_tokens_beyond_a_codebook_are_refused() -> None:
    """The clip is named with what was expected."""
    with pytest.raises(ApplicationError, match=r"c000: expected tokens of 1 codebooks of 4 entries, .* 4 to 4"):
        rates({"c000": np.array([[4]])}, (4,), {"c000": 0})
