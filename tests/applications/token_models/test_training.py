"""Token models against sequences whose entropy is known, killed trainings, and clips that they must not have seen."""

from __future__ import annotations

import json
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.applications.token_models import clip_of, small_training, uniform_clips
from support.profile import amount, some

from codec_superb.applications.errors import ApplicationError, MissingLabels, MissingModel
from codec_superb.applications.token_models.clips import TokenClip, divide, part_of
from codec_superb.applications.token_models.likelihood import score, token_bits
from codec_superb.applications.token_models.patterns import PATTERNS
from codec_superb.applications.token_models.training import FINISHED, load_trained, train
from codec_superb.applications.training.loop import STATE, WEIGHTS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home of its own for models."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    return tmp_path


def _held_out_bits(
    clips: list[TokenClip], sizes: tuple[int, ...], pattern: str, tried: list[TokenClip], **changed: object
) -> NDArray[np.float64]:
    """Return bits a token of each codebook, over clips that were held out."""
    training = small_training(clips, sizes, pattern, **changed)
    train(training)
    trained = load_trained(training.folder)
    found = [score(trained, clip) for clip in tried]
    bits: NDArray[np.float64] = np.sum([of.bits for of in found], axis=0) / sum(of.frames for of in found)
    return bits


@pytest.mark.sample(2)
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_uniform_tokens_cost_log2_of_their_number(pattern: str) -> None:
    """Independent tokens of 5 and 12 entries: log2 5 and log2 12 bits, in no pattern less, and 2 % more at most.

    Whatever a model says of them, the expected bits of a uniform token are log2 K at least; the spread of the mean is
    that of its own predictions, which differ little.
    """
    sizes = (5, 12)
    clips = uniform_clips(sizes, 60, 60)
    bits = _held_out_bits(clips[:40], sizes, pattern, clips[40:], steps=40, passes=100)
    for found, size in zip(bits, sizes, strict=True):
        assert log2(size) - 0.005 <= found <= 1.02 * log2(size)


def _chain(steps: int, rng: np.random.Generator, matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    found = np.zeros(steps, np.int64)
    for at in range(1, steps):
        found[at] = rng.choice(len(matrix), p=matrix[found[at - 1]])
    return found


@pytest.mark.sample(1, among="token models are trained")
def test_a_markov_chain_costs_its_entropy_rate() -> None:
    """A chain of eight states whose rate is known: within 2 % of it, and never below what the chain itself says."""
    rng = np.random.default_rng(4)
    matrix = rng.dirichlet(np.full(8, 0.4), 8) * 0.9 + 0.1 / 8
    values, vectors = np.linalg.eig(matrix.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    stationary /= stationary.sum()
    rate = float(-(stationary @ (matrix * np.log2(matrix)).sum(axis=1)))
    tokens = [_chain(128, rng, matrix)[None] for _ in range(160)]
    clips = [clip_of(of, number) for number, of in enumerate(tokens)]
    (found,) = _held_out_bits(
        clips[:110], (8,), "delay", clips[110:], steps=300, passes=1000, context=64, rate=0.01, dropout=0.0
    )
    # the held-out sequences' own bits under the true chain: what no model can be below but by chance
    held = [clip.tokens[0] for clip in clips[110:]]
    truth = sum(-np.log2(matrix[of[:-1], of[1:]]).sum() for of in held) / sum(of.size - 1 for of in held)
    assert abs(truth - rate) < 0.05 * rate
    assert truth * 0.998 <= found <= 1.02 * truth + log2(8) / 128


@pytest.mark.sample(1)
@pytest.mark.parametrize("pattern", ["delay", "flat"])
def test_constant_tokens_cost_nothing(pattern: str) -> None:
    """Always the same token of three codebooks: a hundredth of a bit at most."""
    clips = [clip_of(np.full((3, 40), 2), number) for number in range(12)]
    bits = _held_out_bits(clips[:9], (4, 4, 4), pattern, clips[9:], steps=60, passes=1000, rate=0.02, dropout=0.0)
    assert (bits < 0.01).all()
    assert (bits >= 0).all()


@pytest.mark.sample(1, among="token models are trained")
def test_a_codebook_that_follows_from_another_costs_nothing_where_the_pattern_knows_it() -> None:
    """The second codebook repeats the first: free in flat, delay and parallel, and dear where it is independent."""
    rng = np.random.default_rng(0)
    clips = [clip_of(np.tile(rng.integers(0, 6, 48), (2, 1)), number) for number in range(60)]
    cost = {
        name: _held_out_bits(clips[:45], (6, 6), name, clips[45:], steps=150, passes=1000, rate=0.01, dropout=0.0)[1]
        for name in {"independent", *some(sorted(PATTERNS.keys() - {"independent"}), 1)}
    }
    assert cost.pop("independent") > 0.95 * log2(6)
    assert max(cost.values()) < 0.15


def test_likelihoods_are_of_one_code_whatever_the_length() -> None:
    """Read in windows, each token is counted once; what comes later changes nothing of what came before."""
    clips = uniform_clips((4, 7), 6, 80)
    training = small_training(clips, (4, 7), steps=5)
    train(training)
    trained = load_trained(training.folder)
    for frames in (0, 1, 2, 31, 32, 33, 150):
        tokens = np.random.default_rng(frames).integers(0, 4, (2, frames))
        bits = token_bits(trained, tokens)
        assert bits.shape == tokens.shape
        assert np.isfinite(bits).all()
        assert (bits > 0).all()
        longer = token_bits(trained, np.concatenate([tokens, tokens[:, ::-1]], axis=1))[:, : min(frames, 32)]
        np.testing.assert_allclose(bits[:, :32], longer, rtol=1e-4)
    with pytest.raises(ApplicationError, match="entries below 4, 7"):
        token_bits(trained, np.full((2, 9), 5))
    with pytest.raises(ApplicationError, match=r"expected tokens \(2, frames\)"):
        token_bits(trained, np.zeros((3, 9), np.int64))


def test_a_model_refuses_clips_that_it_may_have_seen() -> None:
    """Mixed up on purpose: a training clip, another of its speaker, the same sound by another name are caught."""
    clips = uniform_clips((9,), 8, 80)
    speaker = [clip_of(of.tokens, number, "anna" if number < 4 else "bert") for number, of in enumerate(clips)]
    trained_on, held_out = divide(speaker, 0.3)
    assert {of.cluster for of in trained_on} | {of.cluster for of in held_out} == {"anna", "bert"}
    assert {of.cluster for of in trained_on} & {of.cluster for of in held_out} == set()
    training = small_training(list(trained_on), (9,), steps=2)
    train(training)
    trained = load_trained(training.folder)
    assert score(trained, held_out[0]).frames == 80
    other = np.random.default_rng(5).integers(0, 9, (1, 80))
    for mixed_up in (
        trained_on[0],
        clip_of(other, 99, trained_on[0].cluster),
        clip_of(trained_on[0].tokens, 98, "", "a copy of the dataset"),
    ):
        with pytest.raises(ApplicationError, match="was trained on this clip"):
            score(trained, mixed_up)


def test_division_holds_out_whole_speakers_whatever_the_order() -> None:
    """The same clips are held out of any order of them, shares nest, and one speaker alone cannot be divided."""
    clips = [clip_of(np.zeros((1, 50), np.int64), number, f"s{number % 7}") for number in range(40)]
    first, turned = divide(clips), divide(reversed(clips))
    assert first == turned
    assert 0.1 < len(first.held_out) / 40 < 0.45
    small, large = part_of(clips, 0.25, 3), part_of(clips, 0.5, 3)
    assert {of.clip for of in small} < {of.clip for of in large}
    assert len(small) == 10
    with pytest.raises(MissingLabels, match="two speakers"):
        divide([of for of in clips if of.cluster == "s1"])


class _Killed(Exception):
    """Stands for a kill between two steps; what a kill leaves is what is on disk."""


def test_a_division_says_what_it_keeps_apart() -> None:
    """Speakers where clusters are theirs; clips, and how many voices both parts have, where a clip stands alone."""
    voices = [replace(of, speaker="abcd"[at % 4]) for at, of in enumerate(uniform_clips((4,), 40, 3))]
    alone = divide(voices)
    assert (alone.unit, alone.speakers_in_both) == ("clip", 4)
    apart = divide([replace(of, cluster=f"id {of.speaker}") for of in voices])
    assert (apart.unit, apart.speakers_in_both) == ("speaker", 0)
    mixed = divide([replace(of, cluster=f"id {at // 4}") for at, of in enumerate(voices)])
    assert mixed.unit == "recording or text"
    assert mixed.speakers_in_both > 0


@pytest.mark.sample(1, among="token models are trained")
def test_a_killed_training_goes_on_to_the_same_weights() -> None:
    """Killed after random steps: weights equal those of an undisturbed training, and no half-trained model is taken."""
    training = small_training(uniform_clips((6, 3), 5, 40), (6, 3), checkpoint_every=7, dropout=0.2, passes=1000)
    train(training)
    wanted = json.loads((training.folder / FINISHED).read_text())["weights_sha256"]
    for at in sorted(int(step) for step in np.random.default_rng(1).integers(1, 20, amount(2, 20))):
        for name in (FINISHED, WEIGHTS, STATE):
            (training.folder / name).unlink(missing_ok=True)

        def kill(step: int, _loss: float, at: int = at) -> None:
            if step == at:
                raise _Killed

        with pytest.raises(_Killed):
            train(training, kill)
        with pytest.raises(MissingModel, match="none that is finished"):
            load_trained(training.folder)
        train(training)
        assert json.loads((training.folder / FINISHED).read_text())["weights_sha256"] == wanted
    (training.folder / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(MissingModel, match="not what training wrote"):
        load_trained(training.folder)


def test_little_sound_is_met_a_limited_number_of_times() -> None:
    """160 frames that are met at most 4 times in windows of 32 by 8: 3 steps; without a frame there is an error."""
    training = small_training(uniform_clips((3,), 4, 40), (3,), passes=4)
    steps: list[int] = []
    train(training, lambda step, _loss: steps.append(step))
    assert steps == [1, 2, 3]
    with pytest.raises(MissingLabels, match="got none"):
        train(small_training([clip_of(np.zeros((1, 0), np.int64), 0)], (3,)))
