"""An adaptive model of tokens: it predicts each from those before it in time and in its frame, and learns as it goes.

The contexts are nothing, the token before, the one of the codebook before, pairs of them, two tokens back, two
codebooks back, and the first codebook with the token before (:mod:`codec_superb.applications.tokens._context_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.tokens import _context_loops as loops
from codec_superb.applications.tokens.matches import Tokens

SLOTS = 1 << 22
"""Places for nodes of contexts: those that share one predict worse, encoder and decoder alike."""
_FIRST_WEIGHT = 0.3


class Predicted(NamedTuple):
    """A clip's binary decisions in order."""

    digits: NDArray[np.int64]
    books: NDArray[np.int64]
    """Codebook of each, from 0."""
    chances: NDArray[np.float64]
    """Probability that the model gave the digit 1 before it saw it."""

    def bits(self, codebooks: int) -> NDArray[np.float64]:
        """Return the ideal code length of each codebook: -log2 of the probabilities of what came, ``(codebooks,)``."""
        came = np.where(self.digits == 1, self.chances, 1 - self.chances)
        return np.bincount(self.books, -np.log2(came), codebooks).astype(np.float64) + 0.0


class ContextModel:
    """Counts and weights, for codebooks of ``sizes`` entries."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._widths = sum((size - 1).bit_length() for size in sizes)
        weights = np.full((len(sizes), loops.CONTEXTS, loops.LEVELS), _FIRST_WEIGHT)
        self._model = loops.Model(np.array(sizes, np.int64), np.zeros((SLOTS, 2)), weights)

    def train(self, clips: Iterable[Tokens]) -> None:
        """Learn from clips ``(codebooks, frames)``, for good."""
        for tokens in clips:
            self._walk(tokens, self._model)

    def predict(self, tokens: Tokens) -> Predicted:
        """Predict a clip and learn within it; afterwards the model is as it was."""
        model = self._copied()
        found, room = self._walk(tokens, model)
        loops.take_back(model, room)
        return found

    def recover(self, frames: int, read: Callable[[float], int]) -> NDArray[np.int64]:
        """Return the tokens ``(codebooks, frames)`` whose digits ``read`` gives, asked with the probability of a 1.

        The model learns within the clip as :meth:`predict` does, and is as it was afterwards.
        """
        model, room = self._copied(), self._room(frames)
        tokens = np.zeros((len(model.sizes), frames), np.int64)
        chance = loops.advance(tokens, model, room, -1)
        while chance >= 0:
            chance = loops.advance(tokens, model, room, read(chance))
        loops.take_back(model, room)
        return tokens

    def _walk(self, tokens: Tokens, model: loops.Model) -> tuple[Predicted, loops.Room]:
        room, most = self._room(tokens.shape[1]), tokens.shape[1] * self._widths
        digits, books, chances = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
        count = loops.walk(np.ascontiguousarray(tokens, np.int64), model, room, digits, books, chances)
        return Predicted(digits[:count], books[:count], chances[:count]), room

    def _copied(self) -> loops.Model:
        """Return the model with weights of its own; what is counted in a clip is taken back."""
        return self._model._replace(weights=self._model.weights.copy())

    def _room(self, frames: int) -> loops.Room:
        state = np.zeros(5, np.int64)
        state[loops.NODE] = 1
        undo = np.empty(frames * self._widths * loops.CONTEXTS, np.int64)
        return loops.Room(np.zeros((3, loops.CONTEXTS), np.int64), np.zeros(loops.CONTEXTS + 1), state, undo)
