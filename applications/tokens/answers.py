"""Answers of a codec about its tokens: read clip by clip; a clip without one has failed, with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from codec_superb.applications.interface import ClipOutcome, ScoringInput

A = TypeVar("A")
T = TypeVar("T")


def answered(
    question: ScoringInput, kind: type[A], read: Callable[[A], T]
) -> tuple[dict[str, T], dict[str, ClipOutcome]]:
    """Return by clip what ``read`` makes of the answer about the reference, and the outcomes of clips without one.

    An answer is a ``kind``: a text, or an array of tokens.
    """
    found: dict[str, T] = {}
    outcomes: dict[str, ClipOutcome] = {}
    for item in question.items:
        answer = question.reference.get(item.clip)
        if item.clip in question.failures or not isinstance(answer, kind):
            outcomes[item.clip] = ClipOutcome("failed", question.failures.get(item.clip, "no answer"))
        else:
            found[item.clip] = read(answer)
    return found, outcomes
