"""ABX on phones: by their tokens, which phones are nearer to one of another kind than to one of their own.

After Schatz et al., "Evaluating speech features with the Minimal-Pair ABX task" (Interspeech 2013), in the form for
phones in any context (Hallap et al., arXiv:2210.15775). *Within*: A, B and X are of one speaker. *Across*: A and B are
of one, X of another. A is of X's phone, B of another; an error is d(A, X) > d(B, X), a tie half of one. Errors are
averaged over triples of a cell (phones of A and B, speakers), then over cells: 0 is perfect, one half chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.token_contents.labels import Segment
from codec_superb.applications.token_contents.sequence_distances import Distance, pairwise

Mode = Literal["within", "across"]
MOST = 8
"""Segments of a phone and a speaker that take part: the cost grows with their square."""


class PhoneTokens(NamedTuple):
    """Tokens of one phone."""

    clip: str
    speaker: str
    phone: str
    tokens: NDArray[np.int64]
    """``(codebooks, frames)``, a frame at least."""


class ClipErrors(NamedTuple):
    """What the X of one clip add."""

    cells: float
    """Sum of the weights of their triples; over all clips, the number of cells."""
    errors: float
    """The same of errors."""


def cut(
    clip: str, speaker: str, tokens: NDArray[np.int64], segments: Sequence[Segment], frame_rate: float
) -> Iterator[PhoneTokens]:
    """Yield the tokens of each phone: the frames whose middle lies in it, or the one around its own middle."""
    frames = tokens.shape[1]
    for of in segments:
        start, end = (int(np.ceil(time * frame_rate - 0.5)) for time in (of.start, of.end))
        if end <= start:
            start = int((of.start + of.end) / 2 * frame_rate)
            end = start + 1
        if start < frames and end > 0:
            yield PhoneTokens(clip, speaker, of.phone, tokens[:, max(0, start) : end])


def drawn(segments: Sequence[PhoneTokens], seed: int = 0, most: int = MOST) -> list[PhoneTokens]:
    """Return at most ``most`` of each phone and speaker, drawn by the seed, in their order."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, of in enumerate(segments):
        groups[of.speaker, of.phone].append(at)
    kept = set[int]()
    for name in sorted(groups):
        rng = np.random.default_rng([seed, *"\x1f".join(name).encode()])
        kept |= {groups[name][int(at)] for at in rng.permutation(len(groups[name]))[:most]}
    return [of for at, of in enumerate(segments) if at in kept]


def errors(segments: Sequence[PhoneTokens], mode: Mode, distance: Distance = "dtw") -> dict[str, ClipErrors]:
    """Return what each clip adds to the error rate, the sum of errors over that of cells; {} without a cell."""
    near = pairwise([of.tokens for of in segments], distance)
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, of in enumerate(segments):
        places[of.speaker, of.phone].append(at)
    speakers, phones = (sorted({name[part] for name in places}) for part in (0, 1))
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for own in speakers:
        for other in speakers if mode == "across" else (own,):
            if mode == "across" and other == own:
                continue
            for phone in phones:
                xs, same = places.get((other, phone), []), places.get((own, phone), [])
                for against in phones:
                    far = places.get((own, against), [])
                    if against != phone and far:
                        _cell(segments, near, xs, same, far, found)
    return {clip: ClipErrors(*sums) for clip, sums in found.items()}


def _cell(
    segments: Sequence[PhoneTokens], near: NDArray[np.float64], xs: Sequence[int], same: Sequence[int],
    far: Sequence[int], found: dict[str, list[float]],
) -> None:  # fmt: skip
    """Add one cell, in which all triples weigh the same."""
    parts = [(x, [a for a in same if a != x]) for x in xs]
    triples = sum(len(own) * len(far) for _, own in parts)
    for x, own in parts:
        if own:
            first, second = near[x, own][:, None], near[x, far][None]
            wrong = (first > second).sum() + 0.5 * (first == second).sum()
            sums = found[segments[x].clip]
            sums[0] += len(own) * len(far) / triples
            sums[1] += float(wrong) / triples
