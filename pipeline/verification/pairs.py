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
Both = tuple[float | None, float | None]
"""A number submitted and found."""
_OTHER = {"trials": "trial", "ranks": "answer"}
_SAME = {"trials": "trial", "ranks": "probe", "counts": "amount"}
"""What the pairs of a kind are in :data:`OTHER_SOUND` and in :data:`SAME_SOUND`."""
_SHARES = ("coded", "share", "total")


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
                # a figure is divided by what is counted: the same of other sound, but for entropies of its tokens
                fixed = kind == "counts" and side == "reference" and not label.startswith("nmi:")
                quantity = "total" if fixed else _SAME[kind] if same else _OTHER.get(kind) or _counted(probe, label)
                totals = [other[place].reference or 0.0 for place in its] if quantity in _SHARES else None
                limits = SAME_SOUND[quantity] if same or fixed else OTHER_SOUND[quantity]
                _compare_side(name, both, differences, changes, limits, _scales(both, totals, own=kind == "counts"))
    return ComparedPairs(tuple(differences), changes)


def _is_alike(place: Place, side: str, kind: str, changed: Collection[str]) -> bool:
    """Whether what a score depends on is the submitted sound to the last bit; originals always are."""
    if side == "reference" and kind != "counts":  # what a count is a part of depends on the codec too
        return True
    if kind in ("ranks", "counts"):
        return not changed
    return place[1] not in changed and (side == "enrol_clean" or place[0] not in changed)


def _counted(probe: str, name: str) -> str:
    """Return which of :data:`OTHER_SOUND` a count is."""
    if name.startswith("drift:"):
        return "drift"
    return "coded" if probe == "tokens_rate" and name.startswith("bits:") else "share"


def _scales(both: Sequence[Both], totals: Sequence[float] | None, *, own: bool) -> list[float]:
    """Return what differences are shares of: of the total, of the larger number plus one, or of the range here."""
    if totals is not None:
        return [max(abs(total), 1.0) for total in totals]
    if own:
        return [max(abs(one or 0.0), abs(other or 0.0)) + 1 for one, other in both]
    scores = [other for _, other in both if other is not None]
    # a few scores that are nearly alike have no range
    return [max(max(scores) - min(scores), 1.0) if scores else 1.0] * len(both)


def _compare_side(
    name: str, both: Sequence[Both], differences: list[Difference], changes: list[Mapping[str, Change]],
    limits: Tolerance, scales: Sequence[float],
) -> None:  # fmt: skip
    numbers = [
        Change(one, other, scale, limits)
        for (one, other), scale in zip(both, scales, strict=True)
        if one is not None and other is not None
    ]
    if len(numbers) < sum(pair != (None, None) for pair in both):
        differences.append(Difference(quantity=name, submitted="some without a score", found="others"))
    if not numbers:
        return
    far = max(numbers, key=lambda of: abs(of.found - of.submitted) / of.scale)
    allowed = limits.clip * far.scale
    if abs(far.found - far.submitted) > allowed:
        differences.append(Difference(quantity=name, submitted=far.submitted, found=far.found, allowed=allowed))
    else:
        changes += [{name: change} for change in numbers]


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
