"""Count substitutions, deletions and insertions between two transcripts by minimum edit distance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Edits(NamedTuple):
    """Counts of errors of a transcript."""

    substitutions: int
    deletions: int
    """Units of the reference that the hypothesis lacks."""
    insertions: int
    """Units of the hypothesis that the reference lacks."""

    @property
    def errors(self) -> int:
        """All together: the edit distance."""
        return self.substitutions + self.deletions + self.insertions


def count_edits(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> Edits:
    """Return the fewest errors that turn ``reference`` into ``hypothesis`` (words, characters, tokens).

    Of several ways with as few errors the one with the fewest substitutions counts, which has the most units right:
    ``a b`` to ``b a`` is one deletion and one insertion, not two substitutions. The error rate does not depend on that.
    """
    codes: dict[Hashable, int] = {}
    left, right = (
        np.array([codes.setdefault(unit, len(codes)) for unit in units], np.int64) for units in (reference, hypothesis)
    )
    # An error costs `price`, a substitution one more: sums compare errors first and substitutions second.
    price = left.size + right.size + 1
    errors, substitutions = divmod(_cost(left, right, price), price)
    # Of what is left, deletions less insertions is the difference of the lengths.
    deletions = (errors - substitutions + left.size - right.size) // 2
    return Edits(substitutions, deletions, errors - substitutions - deletions)


def _cost(reference: NDArray[np.int64], hypothesis: NDArray[np.int64], price: int) -> int:
    """Cost of the cheapest way, by dynamic programming a row of the table at a time."""
    inserted = price * np.arange(hypothesis.size + 1, dtype=np.int64)
    row = inserted
    for unit in reference:
        following = row + price
        matched = row[:-1] + np.where(hypothesis == unit, 0, price + 1)
        np.minimum(following[1:], matched, out=following[1:])
        # An insertion comes from the left in the same row: a running minimum once its own cost is taken off.
        row = np.minimum.accumulate(following - inserted) + inserted
    return int(row[-1])
