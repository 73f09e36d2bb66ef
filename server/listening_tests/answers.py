"""From the form of a trial to ratings: only what the trial asks for, whole and within its range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from codec_superb.server.errors import BadRequest
from codec_superb.server.listening_tests.definition import Kind
from codec_superb.server.listening_tests.plan import JOINT, Trial

NONE = "none"
"""Choice of AB: no difference."""
_LONGEST = 86_400.0
_DIGITS = 3
RANGES: Mapping[Kind, tuple[int, int]] = {"mushra": (0, 100), "acr": (1, 5), "dcr": (1, 5)}
"""Lowest and highest rating."""


@dataclass(frozen=True, slots=True)
class Given:
    """One rating of an answer."""

    condition: str
    value: float


def ratings_of(kind: Kind, trial: Trial, fields: Mapping[str, str], *, ties: bool) -> list[Given]:
    """Read the answer to a trial. Raises BadRequest for one that is missing or out of range."""
    if kind == "ab":
        return _preference(trial, _choice(fields, ("A", "B", NONE) if ties else ("A", "B")))
    if kind == "abx":
        chosen = _choice(fields, ("A", "B"))
        by_label = {slot.label: slot.condition for slot in trial.slots}
        return [Given(JOINT.join(trial.pair), float(by_label[chosen] == by_label["X"]))]
    low, high = RANGES[kind]
    return [Given(slot.condition, _number(fields, slot.label, low, high)) for slot in trial.slots]


def seconds_of(fields: Mapping[str, str]) -> float:
    """Read how long it took; 0 where the browser does not say."""
    try:
        found = float(fields.get("seconds", "0")[:20])
    except ValueError:
        return 0.0
    # float() reads nan and infinity as well
    return min(found, _LONGEST) if math.isfinite(found) and found > 0 else 0.0


def _preference(trial: Trial, chosen: str) -> list[Given]:
    if chosen == NONE:
        return [Given(slot.condition, 0.5) for slot in trial.slots]
    return [Given(slot.condition, float(slot.label == chosen)) for slot in trial.slots]


def _choice(fields: Mapping[str, str], offered: tuple[str, ...]) -> str:
    given = fields.get("choice", "")
    if given not in offered:
        raise BadRequest(f"expected a choice among {', '.join(offered)}, got {given[:20]!r}; choose one and send again")
    return given


def _number(fields: Mapping[str, str], label: str, low: int, high: int) -> float:
    given = fields.get(f"rating-{label}", "")
    # isdecimal is true for digits of other scripts too
    if not (given.isascii() and given.isdecimal() and len(given) <= _DIGITS and low <= int(given) <= high):
        raise BadRequest(
            f"expected a whole rating of {label} from {low} to {high}, got {given[:20]!r}; rate every sound and send it"
        )
    return float(given)
