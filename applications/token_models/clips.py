"""Clips of tokens, and their division by clusters into those that models learn from and those that they never see."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import MissingLabels

HELD_OUT = 0.2
"""Share of the clips that no model sees."""
TELLING = 64
"""Tokens of a clip from which on equal ones are the same sound."""


SPEAKER, RECORDING, CLIP = "speaker", "recording or text", "clip"


@dataclass(frozen=True, slots=True)
class TokenClip:
    """Tokens of one clip."""

    clip: str
    dataset: str
    """Name of its dataset."""
    cluster: str
    """Opaque id of its speaker or recording; '' for a clip on its own."""
    tokens: NDArray[np.int64]
    """``(codebooks, frames)``."""
    seconds: float
    """Of the sound."""
    speaker: str = ""
    """Label of its dataset, '' where there is none; it decides nothing, and says what the division kept apart."""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.tokens.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Return what tells it from all that a model may not have seen: clip, cluster and tokens, hashed."""
        said = [f"clip\x1f{self.dataset}\x1f{self.clip}"]
        said += [f"cluster\x1f{self.dataset}\x1f{self.cluster}"] if self.cluster else []
        shape = "x".join(map(str, self.tokens.shape))
        content = hashlib.sha256(self.tokens.astype("<i4").tobytes()).hexdigest()
        said += [f"tokens\x1f{shape}\x1f{content}"] if self._tells else []
        return tuple(hashlib.sha256(each.encode()).hexdigest()[:16] for each in said)

    @property
    def _tells(self) -> bool:
        """Whether equal tokens are no chance: those of short clips may be, and those of silence are."""
        return self.tokens.size >= TELLING and bool((self.tokens != self.tokens[:, :1]).any())


class Divided(NamedTuple):
    """Clips by what they are for, each sorted by dataset and clip."""

    trained: tuple[TokenClip, ...]
    held_out: tuple[TokenClip, ...]

    @property
    def unit(self) -> str:
        """Return what is held out as a whole: ``speaker``, ``recording or text``, ``clip``, or several of them."""
        members: dict[tuple[str, str], set[str]] = {}
        for of in (*self.trained, *self.held_out):
            members.setdefault((of.dataset, of.cluster), set()).add(of.speaker)
        found = {_unit(cluster, speakers) for (_, cluster), speakers in members.items()}
        return ", ".join(each for each in (SPEAKER, RECORDING, CLIP) if each in found)

    @property
    def speakers_in_both(self) -> int:
        """Return how many labelled speakers are in both parts: of the others alone a figure says that they are new."""
        trained, held_out = ({(of.dataset, of.speaker) for of in part if of.speaker} for part in self)
        return len(trained & held_out)


def divide(clips: Iterable[TokenClip], share: float = HELD_OUT) -> Divided:
    """Hold out whole clusters until they have ``share`` of the clips: the same whatever the order and the codec.

    Clusters come in the order of a hash of dataset and name. Raises MissingLabels where all clips are one cluster.
    """
    groups: dict[tuple[str, str], list[TokenClip]] = {}
    for of in sorted(clips, key=lambda of: (of.dataset, of.clip)):
        groups.setdefault((of.dataset, of.cluster or f"clip {of.clip}"), []).append(of)
    if len(groups) < 2:  # noqa: PLR2004 -- one to learn from and one to ask about
        raise MissingLabels(
            f"token models: expected clips of two speakers or recordings at least, got {len(groups)}; nothing could be "
            "held out"
        )
    # clips, and no frames: codecs of any frame rate are divided alike
    total = sum(map(len, groups.values()))
    held, count = set[tuple[str, str]](), 0
    for group in sorted(groups, key=lambda name: hashlib.sha256("\x1f".join(name).encode()).digest()):
        if count >= share * total or len(held) == len(groups) - 1:
            break
        held.add(group)
        count += len(groups[group])
    return Divided(
        tuple(of for name, members in sorted(groups.items()) if name not in held for of in members),
        tuple(of for name, members in sorted(groups.items()) if name in held for of in members),
    )


def _unit(cluster: str, speakers: set[str]) -> str:
    if not cluster:
        return CLIP
    return SPEAKER if len(speakers) == 1 and "" not in speakers else RECORDING


def part_of(clips: Sequence[TokenClip], share: float, seed: int) -> tuple[TokenClip, ...]:
    """Return clips with about ``share`` of the seconds; a smaller share is part of a larger one of the same seed."""
    if share >= 1:
        return tuple(clips)
    order = np.random.default_rng([seed, len(clips)]).permutation(len(clips))
    wanted, found, seconds = share * sum(of.seconds for of in clips), list[int](), 0.0
    for at in order:
        if found and seconds + clips[at].seconds / 2 > wanted:
            break
        found.append(int(at))
        seconds += clips[at].seconds
    return tuple(clips[at] for at in sorted(found))


def sha256_of_clips(clips: Iterable[TokenClip]) -> str:
    """Return the identity of clips with their tokens."""
    digest = hashlib.sha256()
    for of in clips:
        digest.update(f"{of.dataset}\x1f{of.clip}\x1f{of.cluster}\x1f{of.tokens.shape}\n".encode())
        digest.update(of.tokens.astype("<i4").tobytes())
    return digest.hexdigest()


def seen(known: Mapping[str, int] | frozenset[str], clip: TokenClip) -> bool:
    """Whether a model whose training had the names ``known`` may have seen a clip, its speaker or its tokens."""
    return any(name in known for name in clip.names)
