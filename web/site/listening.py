"""Content of a blind listening test, before and after the key is revealed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.metrics.table import Category


@dataclass(frozen=True, slots=True)
class BlindClip:
    """One clip with its open reference and its versions without names."""

    number: int
    """Number in the form; independent of the order of versions."""
    dataset: str
    category: Category
    clip: str
    licence: str
    attribution: str
    reference: str
    """Address of the sound."""
    versions: Sequence[str]
    """Addresses of X1, X2 …"""


@dataclass(frozen=True, slots=True)
class BlindTest:
    """A whole test."""

    seed: str
    codecs: Sequence[str]
    """As chosen; not the order of the versions."""
    clips: Sequence[BlindClip]


@dataclass(frozen=True, slots=True)
class RevealedClip:
    """One clip with its key."""

    dataset: str
    clip: str
    versions: Sequence[str]
    """Codecs behind X1, X2 …"""
    chosen: str | None
    """Codec that was preferred; None for no difference or no answer."""
    decided: bool
    """Whether the listener answered."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one codec was preferred."""

    codec: str
    chosen: int


@dataclass(frozen=True, slots=True)
class Revealed:
    """The key of a test and the listener's own choices."""

    clips: Sequence[RevealedClip]
    tally: Sequence[Tally]
    no_difference: int
    answered: int
