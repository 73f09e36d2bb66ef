"""Trials of speaker verification: a published list, or built from speaker labels, seeded and reproducible.

Built lists take every pair of clips of one speaker and as many pairs of two speakers; beyond the limit, each half is
drawn without replacement. They depend on the labels and the seed alone: not on the order of the clips, nor on the
version of Python (of its generators only ``random.random`` is promised to stay as it is).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import Item
from codec_superb.data_manifests.trials import Trial

SEED = 0
LIMIT = 50_000
"""Trials of a built list at most, half of them of one speaker; Vox1-O has 37,720."""

Integers = NDArray[np.int64]


def check(items: Iterable[Item], trials: Sequence[tuple[bool, str, str]] = ()) -> str:
    """Return why no trial is possible with these clips, '' where one is; checked before any model is loaded."""
    if trials:
        clips = {item.clip for item in items}
        kinds = {same for same, enrolment, test in trials if enrolment in clips and test in clips}
        if len(kinds) == 2:  # noqa: PLR2004 -- one speaker, two speakers
            return ""
        return (
            "speaker verification needs published trials of one speaker and of two among the clips; of the "
            f"{len(trials)} listed, the clips here have {_what(kinds)}; take more clips (--limit)"
        )
    clips_of = _clips_of(items)
    if len(clips_of) < 2:  # noqa: PLR2004 -- two speakers
        return (
            "speaker verification needs clips of two speakers at least, labelled `speaker`; "
            f"there {'is one' if clips_of else 'is none'} among the clips"
        )
    if all(len(clips) == 1 for clips in clips_of.values()):
        return (
            "speaker verification needs a speaker with two clips at least; "
            f"the {len(clips_of)} speakers have one clip each"
        )
    return ""


def _what(kinds: set[bool]) -> str:
    return "none" if not kinds else f"only trials of {'one speaker' if True in kinds else 'two speakers'}"


def build_trials(items: Iterable[Item], seed: int = SEED, limit: int = LIMIT) -> list[Trial]:
    """Build the trials of labelled clips, sorted by clip ids; the enrolment's id comes before the test's.

    A speaker with one clip takes part in trials of two speakers. Clips without a speaker are left out.
    """
    speakers = sorted(_clips_of(items).items())
    clips = [clip for _, group in speakers for clip in sorted(group)]
    sizes = np.array([len(group) for _, group in speakers], np.int64)
    ends = np.repeat(np.cumsum(sizes), sizes)  # where the clips of one's own speaker end
    positions = np.arange(len(clips), dtype=np.int64)
    # Python keeps the sequence of random() for a seed in every version; that of sample() and shuffle() may change.
    generator = random.Random(seed)  # noqa: S311 -- a draw, no secret
    same = _draw(ends - positions - 1, positions + 1, limit // 2, generator)
    different = _draw(len(clips) - ends, ends, min(len(same), limit - len(same)), generator)
    trials = [
        Trial(kind, *sorted((clips[first], clips[second])))
        for kind, pairs in ((True, same), (False, different))
        for first, second in pairs
    ]
    return sorted(trials, key=lambda trial: trial[1:])


def _clips_of(items: Iterable[Item]) -> Mapping[str, list[str]]:
    clips_of: dict[str, list[str]] = {}
    for item in items:
        if item.speaker:
            clips_of.setdefault(item.speaker, []).append(item.clip)
    return clips_of


def _draw(partners: Integers, first_partner: Integers, limit: int, generator: random.Random) -> list[tuple[int, int]]:
    """Draw pairs of positions, all of them where no more than ``limit`` exist.

    Position p has ``partners[p]`` of them, one after the other from ``first_partner[p]``; so a pair has a number, and
    numbers can be drawn without listing the pairs.
    """
    ends = np.cumsum(partners)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.arange(total) if total <= limit else _distinct(total, limit, generator)
    left = np.searchsorted(ends, numbers, side="right")
    right = first_partner[left] + numbers - (ends - partners)[left]
    return list(zip(left.tolist(), right.tolist(), strict=True))


def _distinct(total: int, wanted: int, generator: random.Random) -> Integers:
    """Draw ``wanted`` of the numbers below ``total``; where that is most of them, those that are not wanted."""
    # The smaller of what is taken and what is left out is drawn.
    count = min(wanted, total - wanted)
    drawn: set[int] = set()
    while len(drawn) < count:
        drawn.add(int(generator.random() * total))
    chosen = np.array(sorted(drawn), np.int64)
    return chosen if count == wanted else np.setdiff1d(np.arange(total), chosen)


def sha256_of_trials(trials: Iterable[tuple[bool, str, str]]) -> str:
    """Return the SHA-256 of a list as a file would hold it: ``1<TAB>enrolment<TAB>test`` a line, in its order."""
    digest = hashlib.sha256()
    for same, enrolment, test in trials:
        digest.update(f"{int(same)}\t{enrolment}\t{test}\n".encode())
    return digest.hexdigest()
