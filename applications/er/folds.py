"""Folds for cross-validation: no session, or no speaker, is on both sides of a fold.

A classifier trained on a speaker or a recording session recognises more than the emotion; so whole sessions are held
out where the dataset names them (IEMOCAP's five), else whole speakers, and only else single clips.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.interface import Item

COUNT = 5
SEED = 0
_SESSION = "session"
BY_GROUP: tuple[Literal["session", "speaker"], ...] = ("session", "speaker")
"""What is held out whole, in this order."""


@dataclass(frozen=True, slots=True)
class Folds:
    """Which fold each clip is held out in."""

    by: Literal["session", "speaker", "clip"]
    count: int
    """At most five; as many as there are sessions or speakers where those are fewer."""
    of: Mapping[str, int]
    """By clip id, from 0."""


def make_folds(
    items: Sequence[Item], seed: int = SEED, by: Sequence[Literal["session", "speaker"]] = BY_GROUP
) -> Folds:
    """Assign clips to folds, the same whatever the order of ``items``; ``by`` is what may be held out whole.

    With more sessions (or speakers) than folds, the largest is placed first, each in the fold that is smallest by then.
    Single clips are shuffled by a hash of seed and id and dealt out. Raises ValueError for fewer than two clips.
    """
    if len(items) < 2:  # noqa: PLR2004 -- one to train on and one to ask about
        raise ValueError(f"folds need at least two clips, got {len(items)}")
    groups = {
        "session": {item.clip: dict(item.extra).get(_SESSION, "") for item in items},
        "speaker": {item.clip: item.speaker or "" for item in items},
    }
    for kind in by:
        if _tells_apart(groups[kind]):
            return _by_group(kind, groups[kind])
    clips = (item.clip for item in items)
    shuffled = sorted(clips, key=lambda clip: hashlib.sha256(f"{seed}:{clip}".encode()).digest())
    count = min(COUNT, len(shuffled))
    return Folds("clip", count, {clip: place % count for place, clip in enumerate(shuffled)})


def _tells_apart(groups: Mapping[str, str]) -> bool:
    """Whether every clip has a group, and there are several."""
    names = set(groups.values())
    return "" not in names and len(names) > 1


def _by_group(by: Literal["session", "speaker"], groups: Mapping[str, str]) -> Folds:
    sizes = Counter(groups.values())
    count = min(COUNT, len(sizes))
    filled = [0] * count
    fold_of: dict[str, int] = {}
    # The largest first, each into the emptiest fold: the usual greedy way to even sizes.
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold_of[name] = min(range(count), key=lambda fold: (filled[fold], fold))
        filled[fold_of[name]] += sizes[name]
    return Folds(by, count, {clip: fold_of[name] for clip, name in groups.items()})
