"""Finds results of applications that say something else of the originals than those that agree: no codec changes them.

A forged value on the originals makes a small loss, clips called unlabelled an easy choice; one that stands alone moves
nobody else's rank, and keeps nobody off a front.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.results import NEAR_SHARE, ApplicationAggregate, is_near
from codec_superb.applications.table import near_of
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.moderation.measurements import agreed, middle, weight_of
from codec_superb.server.moderation.token_doubts import is_of_tokens
from codec_superb.server.people.access import ANONYMOUS
from codec_superb.web.rows import ApplicationRow, BoardRow

_Mask = NDArray[np.bool_]
WORDS = (
    "its clips without a label, the words of the labels or the value on the originals are not what others found with "
    "the same model"
)
"""Why such a one has no rank."""


class Told(NamedTuple):
    """What a result says of the originals, and who sends it."""

    sender: str
    account: str
    confirmed: bool
    """Run again here."""
    whole: bool
    """No clip of the dataset is lacking, and its bits were counted."""
    numbers: ApplicationAggregate


def are_apart(told: Sequence[Told]) -> list[bool]:
    """Tell which results of one figure, whom one model answered, say something else than those that agree.

    Those that are ``whole`` are compared with one another: a part of the clips has other originals.
    """
    found = [one.whole for one in told]
    places = [place for place, whole in enumerate(found) if whole]
    for place, apart in zip(places, _apart_among([told[place] for place in places]), strict=True):
        found[place] = apart
    return found


def _apart_among(told: Sequence[Told]) -> list[bool]:
    """Compare them with what more than half of all say, a verified result counting as two accounts.

    An account speaks by its first codec, and by what was run again where there is any. One account alone, and a half,
    exclude nobody. Words are those of the clips that did not fail, and which did may differ: they are compared where
    none did.
    """
    confirmed = {one.account for one in told if one.confirmed} - {ANONYMOUS}
    votes: dict[str, Told] = {}
    for one in told:
        if one.confirmed or one.account not in confirmed:
            votes.setdefault(one.sender, one)
    heard = [(one.numbers, weight_of(confirmed=one.confirmed)) for one in votes.values()]
    left_out = agreed([(each.left_out, weight) for each, weight in heard])
    labels = agreed(
        [(_labels(each), weight) for each, weight in heard if each.left_out == left_out and not each.failed]
    )
    original = _original(heard)
    return [
        left_out not in (None, one.numbers.left_out)
        or (not one.numbers.failed and labels not in (None, _labels(one.numbers)))
        or (original is not None and _differs(one.numbers, original))
        for one in told
    ]


def _labels(numbers: ApplicationAggregate) -> tuple[float | None, float | None]:
    return numbers.totals.get("words"), numbers.totals.get("characters")


def _original(heard: Sequence[tuple[ApplicationAggregate, int]]) -> ApplicationAggregate | None:
    """Return the middle one by its value on the originals, where more than half are near it; none of tokens."""
    told = [each for each in heard if each[0].reference.value is not None and not is_of_tokens(each[0].figure)]
    if not told:
        return None
    usual = middle([(each.reference.value or 0.0, weight, each) for each, weight in told])
    near = agreed([(not _differs(each, usual), weight) for each, weight in told])
    return usual if near else None


def _differs(own: ApplicationAggregate, usual: ApplicationAggregate) -> bool:
    if own.reference.value is None:
        return False
    # a clip more or less, on which the model failed, moves the value
    slack = NEAR_SHARE if own.failed or usual.failed else 0.0
    return not is_near(own.reference.value, usual.reference.model_dump(), slack, least=near_of(own.figure))


def other_originals(frame: ResultFrame, same: _Mask, key: str) -> _Mask:
    """Find those of ``same``, whom one model answered, that are apart: whatever a visitor's filters leave."""
    found = np.zeros(len(frame), np.bool_)
    places, told = [], []
    for place in np.flatnonzero(same).tolist():
        entry = frame.entries[place]
        if (row := entry.application(key, frame.category, frame.dataset)) is not None:
            places.append(place)
            told.append(_told(entry, row, whole=True))
    found[places] = are_apart(told)
    return found


def _told(entry: BoardEntry, row: ApplicationRow, *, whole: bool) -> Told:
    confirmed = entry.source == "verified" and row.run_again is True
    return Told(row.sender or entry.sender, entry.submitter, confirmed, whole, row.numbers)


def rows_on(
    entries: Sequence[BoardEntry], dataset: str, wanted: Callable[[ApplicationRow], bool]
) -> Mapping[str, list[ApplicationRow]]:
    """Return the wanted figures of each codec on a dataset, with who sends them and whether they are apart."""
    groups: dict[Hashable, list[tuple[BoardEntry, ApplicationRow]]] = {}
    found: dict[str, list[ApplicationRow]] = {entry.codec: [] for entry in entries}
    for entry in entries:
        for row in filter(wanted, entry.applications.get(dataset, {}).values()):
            groups.setdefault((row.numbers.figure, row.model), []).append((entry, row))
    whole = {entry.codec for entry in entries if entry.counted and entry.is_complete_on(dataset)}
    for group in groups.values():
        told = [_told(entry, row, whole=entry.codec in whole) for entry, row in group]
        for (entry, row), apart in zip(group, are_apart(told), strict=True):
            found[entry.codec].append(replace(row, sender=row.sender or entry.sender, apart=apart))
    return found


def with_apart(rows: Sequence[BoardRow], key: str) -> list[BoardRow]:
    """Mark the figures ``key`` that are apart, among those of one model on one dataset."""
    groups: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        figure = row.applications[key]
        groups.setdefault((figure.numbers.dataset, figure.model), []).append(place)
    found = list(rows)
    for places in groups.values():
        told = [_told_by(rows[place], rows[place].applications[key]) for place in places]
        for place, apart in zip(places, are_apart(told), strict=True):
            found[place] = told_apart(rows[place], key) if apart else rows[place]
    return found


def _told_by(row: BoardRow, figure: ApplicationRow) -> Told:
    whole = row.result.summary.complete and not row.result.uncounted
    confirmed = row.source == "verified" and figure.run_again is not False
    return Told(row.result.sender, row.submitter, confirmed, whole, figure.numbers)


def told_apart(row: BoardRow, key: str) -> BoardRow:
    """Return a row whose figure ``key`` is marked as apart."""
    return replace(row, applications={**row.applications, key: replace(row.applications[key], apart=True)})
