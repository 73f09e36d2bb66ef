"""Spoken queries of a report that one can read and hear, with what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeardQuery:
    """What became of one spoken query through one codec, or as it was spoken."""

    codec: str
    """'' for the original sound."""
    heard: str
    """Transcript by the recogniser."""
    found: str
    """Title or text of the document that was ranked first; '' where the task tells only the rank."""
    rank: int
    """Of the right document, from 1; 0 where it is not among the first ten."""
    sound: bytes
    """Ogg Opus; empty where the licence does not allow to pass it on."""


@dataclass(frozen=True, slots=True)
class RetrievalExample:
    """A spoken query that one can read and hear, with what was found for it."""

    clip: str
    dataset: str
    task: str
    text: str
    """What was said."""
    wanted: str
    """Title or text of the right document."""
    attribution: str
    licence: str
    versions: Sequence[HeardQuery]
    """The original sound first, then codecs."""
