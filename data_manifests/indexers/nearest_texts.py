"""The texts nearest to one by character distance: lists to rerank where a publisher gives none."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from codec_superb.data_manifests.collections import CollectionRow

CANDIDATES = 24
"""Texts beside the true one in a list to rerank."""


def candidate_rows(spoken: Sequence[str], texts: Sequence[str], count: int = CANDIDATES) -> Iterator[CollectionRow]:
    """Yield a list for each spoken text, named by it: the text itself, then the ``count`` nearest of ``texts``."""
    for truth in spoken:
        for number, text in enumerate((truth, *nearest_texts(truth, texts, count))):
            yield CollectionRow(str(number), list=truth, text=text)


def nearest_texts(truth: str, texts: Sequence[str], count: int) -> list[str]:
    """Return the ``count`` texts nearest to ``truth``, nearest first, without ``truth`` itself.

    Equal distances are ordered by the texts' code points, so that the list is the same on every machine.
    """
    return heapq.nsmallest(count, (text for text in texts if text != truth), lambda text: (edits(truth, text), text))


def edits(first: str, second: str) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and substitutions of characters.

    Myers, J. ACM 46(3), 1999, in the form of Hyyrö, 2003: bit i of an integer is the step from row i to row i + 1 of
    the table of distances, so that a column costs a few operations whatever its length.
    """
    rows = (1 << len(first)) - 1
    last = 1 << len(first) >> 1
    equal: dict[str, int] = {}
    for row, character in enumerate(first):
        equal[character] = equal.get(character, 0) | 1 << row
    distance, up, down = len(first), rows, 0
    for character in second:
        same = equal.get(character, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        right, left = down | ~(diagonal | up), up & diagonal
        distance += bool(right & last) - bool(left & last) if first else 1
        right, left = right << 1 | 1, left << 1
        up, down = (left | ~(diagonal | right)) & rows, right & diagonal & rows
    return distance
