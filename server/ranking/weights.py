"""Weights that a visitor chooses, and which change of one of them makes another codec the first.

Points are linear in the weights: points_i = sum_a w_a s_ia / sum_a w_a, s_ia being the share of the others that codec i
beats in aspect a. Codec j overtakes the first one, f, where sum_a w_a (s_fa - s_ja) is 0, which one weight reaches by
-D / (s_fa - s_ja), D being that sum now. Everything is computed in fractions: no rounding decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.web.quantity import SCORE_KEY


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that a visitor may weigh."""

    label: str
    category: Category
    quantity: str
    """Key of the quantity that codecs are ranked by."""


ASPECTS: Mapping[str, Aspect] = MappingProxyType({
    **{category: Aspect(f"{category.capitalize()} (overall score)", category, SCORE_KEY) for category in CATEGORIES},
    "intelligibility": Aspect("Intelligibility (word error rate)", "speech", "asr_wer_pct"),
    "speaker": Aspect("Speaker (equal error rate)", "speech", "asv_eer_pct"),
    "emotion": Aspect("Emotion (accuracy)", "speech", "er_accuracy_pct"),
    "quality": Aspect("Naturalness (UTMOS)", "speech", "utmos"),
    "events": Aspect("Sound events (mean precision)", "audio", "aec_map_pct"),
})  # fmt: skip
"""By the name of the parameter, in the order of the form."""
USUAL: Mapping[str, float] = MappingProxyType({name: float(name in CATEGORIES) for name in ASPECTS})
"""The overall scores of the three categories alike; applications count where a visitor gives them weight."""
MOST = 100.0
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """The smallest change of one weight that makes another codec the first."""

    aspect: str
    weight: Fraction
    """Where both are equal; beyond it the other one is the first."""
    codec: int
    """Position of the other one."""

    def rounded(self, now: Fraction) -> float:
        """Round to three decimals, away from ``now``, so that it is never short of the turn."""
        scaled = self.weight * 10**_DIGITS
        # a weight next to 0 stays as it is: nothing lies below 0
        return (math.ceil(scaled) if self.weight > now else math.floor(scaled)) / 10**_DIGITS or float(self.weight)


def fraction(weight: float) -> Fraction:
    """Return the decimal number that a visitor wrote, exactly."""
    return Fraction(repr(weight))


def points(shares: Sequence[Mapping[str, Fraction]], weights: Mapping[str, Fraction]) -> list[Fraction]:
    """Weigh the shares of each codec, by aspect."""
    total = sum(weights.values())
    return [sum((weights[name] * own[name] for name in weights), Fraction()) / total for own in shares]


def turn(shares: Sequence[Mapping[str, Fraction]], weights: Mapping[str, Fraction]) -> Turn | None:
    """Find it; None where several are first already, or where no change of a single weight is enough.

    ``weights`` are those above 0; a weight that would have to fall to 0 or below is none.
    """
    found = points(shares, weights)
    highest = max(found)
    if found.count(highest) > 1:
        return None
    first = found.index(highest)
    total = sum(weights.values())
    turns = []
    for other, own in enumerate(shares):
        behind = (highest - found[other]) * total
        for name, now in weights.items():
            gap = shares[first][name] - own[name]
            if other == first or gap == 0 or now - behind / gap <= 0:
                continue
            turns.append((behind / abs(gap), name, other, now - behind / gap))
    if not turns:
        return None
    _, name, other, weight = min(turns)
    return Turn(name, weight, other)
