"""What a submission holds beside the rows of clips: scores of pairs of clips."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.tables.rows import CountsRow, KeptRow, PairRow
from codec_superb.pipeline.verification.compare import Change
from codec_superb.pipeline.verification.statement import Difference, Tolerance
from codec_superb.pipeline.verification.tolerances import OTHER_SOUND, SAME_SOUND

Sound = NDArray[np.float32]
Place = tuple[str, str, bool]
"""Left, right and target of a pair."""
_QUANTITIES = {"trials": ("trial", "trial"), "ranks": ("answer", "probe")}
"""What the pairs of a kind are in :data:`OTHER_SOUND` and in :data:`SAME_SOUND`; others are amounts."""


class ComparedPairs(NamedTuple):
    """The pairs of one dataset."""

    differences: tuple[Difference, ...]
    """Of each probe and number the largest that does not pass."""
    changes: Sequence[Mapping[str, Change]]
    """What counts for the means, as of clips."""


def compare_pairs(
    there: Iterable[KeptRow], here: Iterable[KeptRow], changed: Mapping[str, Collection[str]]
) -> ComparedPairs:
    """Compare the pairs of probes of one dataset, submitted and found; frames are none.

    ``changed``: the clips of a probe whose sound is not the submitted one to the last bit. A trial depends on those of
    its own clips alone; a rank among clips, and a count of tokens, on all of the probe. Of a probe the same pairs must
    be there. A score is compared as a number of a probe is, on the range of the scores that were found here; a rank of
    other sound as an answer, 1 over it; counts by their names, since bits of a clip are thousands and the tokens that a
    disturbance leaves in a codebook are tens.
    """
    submitted, found = _by_probe(there), _by_probe(here)
    differences: list[Difference] = []
    changes: list[Mapping[str, Change]] = []
    for probe in sorted(submitted.keys() | found.keys()):
        one, other = submitted.get(probe, {}), found.get(probe, {})
        if one.keys() != other.keys():
            # of as many others those that both have
            common = len(other) if len(other) != len(one) else len(one.keys() & other.keys())
            differences.append(Difference(quantity=f"{probe}.pairs", submitted=len(one), found=common))
            continue
        kind = PROBES[probe].pairs
        of_others, of_same = _QUANTITIES.get(kind, ("amount", "amount"))
        alike, others = SAME_SOUND[of_same], OTHER_SOUND[of_others]
        # targets raised and the others lowered would leave the mean of all of them as it is
        groups: dict[str, list[Place]] = {}
        for place in sorted(other):
            groups.setdefault(place[1] if kind == "counts" else "targets" if place[2] else "others", []).append(place)
        for side, (label, places) in product(("reference", "resynthesis", "enrol_clean"), groups.items()):
            name = f"{probe}.pairs.{side}, {label}"
            for same in (True, False):
                its = [place for place in places if _is_alike(place, side, kind, changed.get(probe, ())) == same]
                both = [(getattr(one[place], side), getattr(other[place], side)) for place in its]
                if kind == "ranks" and not same:
                    both = [(first and 1.0 / first, second and 1.0 / second) for first, second in both]
                limits = alike if same else others
                _compare_side(name, both, differences, changes, limits, counts=kind == "counts")
    return ComparedPairs(tuple(differences), changes)


def _is_alike(place: Place, side: str, kind: str, changed: Collection[str]) -> bool:
    """Whether what a score depends on is the submitted sound to the last bit; originals always are."""
    if side == "reference" and kind != "counts":  # what a count is a part of depends on the codec too
        return True
    if kind in ("ranks", "counts"):
        return not changed
    return place[1] not in changed and (side == "enrol_clean" or place[0] not in changed)


def _compare_side(
    name: str,
    both: Sequence[tuple[float | None, float | None]],
    differences: list[Difference],
    changes: list[Mapping[str, Change]],
    limits: Tolerance,
    *,
    counts: bool,
) -> None:
    numbers = [(one, other) for one, other in both if one is not None and other is not None]
    if len(numbers) < sum(pair != (None, None) for pair in both):
        differences.append(Difference(quantity=name, submitted="some without a score", found="others"))
    if not numbers:
        return
    scores = [other for _, other in numbers]
    scale = max(max(scores) - min(scores), 1.0)  # a few scores that are nearly alike have no range
    # a count of each clip has its own scale, as other whole numbers of a probe
    scales = [max(map(abs, pair)) + 1 if counts else scale for pair in numbers]
    (one, other), own = max(zip(numbers, scales, strict=True), key=lambda of: abs(of[0][1] - of[0][0]) / of[1])
    if abs(other - one) > limits.clip * own:
        differences.append(Difference(quantity=name, submitted=one, found=other, allowed=limits.clip * own))
    else:
        changes += [{name: Change(*pair, its, limits)} for pair, its in zip(numbers, scales, strict=True)]


def _each_pair(rows: Iterable[KeptRow]) -> Iterator[PairRow]:
    for row in rows:
        if isinstance(row, CountsRow):
            yield from row.pairs()
        elif isinstance(row, PairRow):
            yield row


def _by_probe(rows: Iterable[KeptRow]) -> dict[str, dict[Place, PairRow]]:
    pairs = sorted(_each_pair(rows), key=lambda row: row.probe)
    return {
        probe: {(row.left, row.right, row.target): row for row in its}
        for probe, its in groupby(pairs, key=lambda row: row.probe)
    }
