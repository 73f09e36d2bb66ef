"""Finds results of applications that say something else of the originals than those that agree: no codec changes them.

A forged value on the originals makes a small loss, clips called unlabelled an easy choice; one that stands alone moves
nobody else's rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.server.board.snapshot import ResultFrame
from codec_superb.server.moderation.measurements import AGREEING, is_near
from codec_superb.server.moderation.token_doubts import is_of_tokens

_Mask = NDArray[np.bool_]
WORDS = (
    "its clips without a label, the words of the labels or the value on the originals are not what others found with "
    "the same model"
)
"""Why such a one has no rank."""


def other_originals(frame: ResultFrame, same: _Mask, key: str) -> _Mask:
    """Find those of ``same``, whom one model answered, that say something else than those that agree.

    Verified ones decide, else :data:`AGREEING` accounts or more, each by its first codec; fewer exclude nobody.
    """
    rows: dict[int, ApplicationAggregate] = {}
    votes: dict[str, ApplicationAggregate] = {}
    verified: dict[str, ApplicationAggregate] = {}
    for position in np.flatnonzero(same).tolist():
        entry = frame.entries[position]
        row = entry.application(key, frame.category, frame.dataset)
        if row is not None:
            rows[position] = row.numbers
            where = verified if entry.source == "verified" and row.run_again else votes
            where.setdefault(entry.sender_of(row), row.numbers)
    enough, heard = (1, verified) if verified else (AGREEING, votes)
    found = np.zeros(len(frame), np.bool_)
    if (labels := _agreed({sender: _labels(numbers) for sender, numbers in heard.items()}, enough)) is not None:
        found[[position for position, numbers in rows.items() if _labels(numbers) != labels]] = True
    told = () if is_of_tokens(key) else heard.values()
    values = [numbers.reference for numbers in told if numbers.reference.value is not None]
    if values:
        middle = sorted(values, key=lambda each: each.value or 0.0)[(len(values) - 1) // 2]
        usual = middle.model_dump()
        if sum(is_near(each.value, usual) for each in values if each.value is not None) >= enough:
            for position, numbers in rows.items():
                own = numbers.reference.value
                found[position] |= own is not None and not is_near(own, usual)
    return found


def _labels(numbers: ApplicationAggregate) -> tuple[Any, ...]:
    return numbers.left_out, numbers.totals.get("words"), numbers.totals.get("characters")


def _agreed(told: Mapping[str, tuple[Any, ...]], enough: int) -> tuple[Any, ...] | None:
    counts = Counter(told.values())
    usual = max(counts, key=lambda each: counts[each], default=())
    return usual if counts[usual] >= enough else None
