"""Codebook patterns as data: at which step of a sequence a language model meets each token; pure, with inverses.

Names after Copet et al., "Simple and Controllable Music Generation" (arXiv:2306.05284). Token ``k`` of frame ``t``
is at step ``stride * t + delay * k``. Tokens of one step are predicted from those of earlier steps alone, or one after
the other by a model across depth (Lee et al., RQ-Transformer, arXiv:2203.01941). Either way the likelihoods of all
tokens multiply to that of the clip.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import UnknownApplication
from codec_superb.record import WHOLE, Record

EMPTY = -1
"""In a grid: no token of this codebook at this step."""
Integers = NDArray[np.int64]
N = TypeVar("N", bound=np.generic)


class Pattern(Record):
    """One pattern."""

    pattern: str
    """Name."""
    interleaved: bool
    """Whether each frame takes as many steps as there are codebooks; otherwise one."""
    delay: Annotated[Literal[0, 1], WHOLE]
    """Steps by which a codebook comes later than the one before."""
    depth: bool
    """Whether tokens of a step are predicted one after the other, each knowing those before."""

    def stride(self, codebooks: int) -> int:
        """Return the steps from a frame to the next."""
        return codebooks if self.interleaved else 1


PATTERNS = {
    of.pattern: of
    for of in (
        Pattern(pattern="flat", interleaved=True, delay=1, depth=False),
        Pattern(pattern="delay", interleaved=False, delay=1, depth=False),
        Pattern(pattern="parallel", interleaved=False, delay=0, depth=True),
        # AudioCodecBench's: codebooks of a frame are taken as independent of each other given the frames before
        Pattern(pattern="independent", interleaved=False, delay=0, depth=False),
    )
}


def pattern_named(name: str) -> Pattern:
    """Return a pattern. Raises UnknownApplication, which names those there are."""
    if name not in PATTERNS:
        raise UnknownApplication(name, PATTERNS, "pattern of codebooks")
    return PATTERNS[name]


def arrange(tokens: NDArray[np.integer[Any]], pattern: Pattern) -> Integers:
    """Return the grid ``(steps, codebooks)`` of tokens ``(codebooks, frames)``, :data:`EMPTY` where there is none."""
    codebooks, frames = tokens.shape
    found = np.full((steps_of(codebooks, frames, pattern), codebooks), EMPTY, np.int64)
    found[_steps(codebooks, frames, pattern), np.arange(codebooks)[:, None]] = tokens
    return found


def restore(grid: NDArray[N], pattern: Pattern) -> NDArray[N]:
    """Return the tokens ``(codebooks, frames)`` of a grid: the inverse of :func:`arrange`.

    A grid of numbers of any kind, such as likelihoods, comes back in its own kind.
    """
    steps, codebooks = grid.shape
    frames = (steps - 1 - pattern.delay * (codebooks - 1)) // pattern.stride(codebooks) + 1 if steps else 0
    found: NDArray[N] = grid[_steps(codebooks, frames, pattern), np.arange(codebooks)[:, None]]
    return found


def steps_of(codebooks: int, frames: int, pattern: Pattern) -> int:
    """Return the number of steps of a clip; 0 for one without a frame."""
    return pattern.stride(codebooks) * (frames - 1) + pattern.delay * (codebooks - 1) + 1 if frames else 0


def _steps(codebooks: int, frames: int, pattern: Pattern) -> Integers:
    """Return the step of each token, ``(codebooks, frames)``."""
    return pattern.stride(codebooks) * np.arange(frames) + pattern.delay * np.arange(codebooks)[:, None]
