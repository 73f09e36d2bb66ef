"""Ranges of ranks from intervals, for thousands of codecs: no clip rows are needed, unlike in ``compare``.

A codec is certainly better than another where its interval lies wholly beyond the other's. Its best rank is one more
than the number that are certainly better; its worst, the number that are not certainly worse (itself among them). This
is wider than a paired comparison on shared clips, which the page ``/compare`` makes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


def rank_ranges(low: Numbers, high: Numbers, *, higher_is_better: bool) -> tuple[Places, Places]:
    """Best and worst rank of each interval, both of shape ``(codecs,)``, 1 being the best; O(n log n).

    No end is NaN, and ``low <= high``. A value without an interval is both ends. Equal values share their ranks.
    """
    if not higher_is_better:
        low, high = -high, -low
    count = len(low)
    # codecs whose whole interval lies above one's own are better for sure
    best = 1 + count - np.searchsorted(np.sort(low), high, side="right")
    # codecs whose whole interval lies below it are worse for sure
    worst = count - np.searchsorted(np.sort(high), low, side="left")
    return best.astype(np.int64), worst.astype(np.int64)
