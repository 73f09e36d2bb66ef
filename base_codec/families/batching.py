"""Batching and chunking for neural codecs: which clips share a batch, and how a long clip is cut.

Batching never changes a result: clips of equal length share a batch unchanged; clips of different lengths only where
the model is causal, so that the padding of a shorter clip lies after everything that its frames depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from codec_superb.base_codec.fitting import Audio

LONGEST_TO_SHORTEST = 1.5
"""Largest ratio of lengths in one batch: the padding of the shorter clips is wasted computation."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a family codes clips longer than ``limit`` seconds."""

    limit: float
    """Seconds up to which a clip is coded in one piece."""
    chunk: float
    """Seconds of each chunk of a longer one."""
    before: float
    """Seconds of context before a chunk, coded and discarded."""
    after: float
    """Seconds of context after a chunk, coded and discarded; 0 for a causal model."""


@dataclass(frozen=True, slots=True)
class Span:
    """Frames ``start`` to ``end`` are coded, of which ``keep_from`` to ``keep_to`` (of the clip) are kept."""

    start: int
    end: int
    keep_from: int
    keep_to: int


def spans(frames: int, frame_rate: float, chunking: Chunking) -> Iterator[Span]:
    """Cut ``frames`` into spans whose kept parts follow one another without gap or overlap."""
    if frames <= chunking.limit * frame_rate:
        yield Span(0, frames, 0, frames)
        return
    step = max(1, round(chunking.chunk * frame_rate))
    before, after = round(chunking.before * frame_rate), round(chunking.after * frame_rate)
    for start in range(0, frames, step):
        end = min(start + step, frames)
        yield Span(max(0, start - before), min(frames, end + after), start, end)


def groups(frames: Sequence[int], budget: int, mixable: int | None) -> list[list[int]]:
    """Return the indices of the clips of each batch; ``frames`` holds their lengths.

    A batch holds at most ``budget`` frames, but at least one clip. Lengths in a batch differ only where all have
    ``mixable`` frames or more (None: never), and by a factor of :data:`LONGEST_TO_SHORTEST` at most.
    """
    out: list[list[int]] = []
    # by length: what is padded in a group is little
    for index in sorted(range(len(frames)), key=lambda index: frames[index]):
        length = frames[index]
        if out:
            shortest, count = frames[out[-1][0]], len(out[-1])
            is_close = mixable is not None and mixable <= shortest and length <= shortest * LONGEST_TO_SHORTEST
            if (length == shortest or is_close) and length * (count + 1) <= budget:
                out[-1].append(index)
                continue
        out.append([index])
    return out


def cut(clips: Sequence[Audio], start: int, end: int) -> Audio:
    """Return samples ``start`` to ``end`` of each clip as ``(clips, channels, samples)``, zero-padded past its end.

    Only the piece is copied, so a long clip needs no second copy of its whole length.
    """
    piece = np.zeros((len(clips), clips[0].shape[0], end - start), dtype=np.float32)
    for row, clip in zip(piece, clips, strict=True):
        part = clip[:, start:end]
        row[:, : part.shape[1]] = part
    return piece
