"""The texts nearest to one by character distance: lists to rerank where a publisher gives none."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def nearest_texts(truth: str, texts: Sequence[str], count: int) -> list[str]:
    """Return the ``count`` texts nearest to ``truth``, nearest first, without ``truth`` itself.

    Equal distances are ordered by the texts' code points, so that the list is the same on every machine.
    """
    return heapq.nsmallest(count, (text for text in texts if text != truth), lambda text: (edits(truth, text), text))


def edits(first: str, second: str) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and substitutions of characters."""
    row = list(range(len(second) + 1))
    for number, left in enumerate(first, start=1):
        diagonal, row[0] = row[0], number
        for place, right in enumerate(second, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (left != right))
    return row[-1]
