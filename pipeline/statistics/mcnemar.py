"""McNemar's exact test: whether two answers to the same questions differ in how often they are right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Discordant(NamedTuple):
    """Questions on which exactly one of two answers is right."""

    lost: int
    """Right the first time only."""
    gained: int
    """Right the second time only."""

    @property
    def p(self) -> float:
        """Exact two-sided p-value: that fair coins fall so unevenly (McNemar, Psychometrika 1947); 1 without any.

        Clips count as independent: where several are of one speaker or recording it is too small.
        """
        from scipy.special import bdtr

        n = self.lost + self.gained
        return min(1.0, 2.0 * float(bdtr(min(self), n, 0.5))) if n else 1.0


def discordant(first: NDArray[np.float64], second: NDArray[np.float64]) -> Discordant:
    """Count them; both of shape ``(questions,)`` with 1 for right and 0 for wrong, in the same order."""
    return Discordant(int(((first > 0) & (second == 0)).sum()), int(((first == 0) & (second > 0)).sum()))
