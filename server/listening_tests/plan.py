"""The trials of one participant: which there are follows from the test, their order from the participant's seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from codec_superb.server.listening_tests.definition import GOLD, REFERENCE, TRAP, TestSettings
from codec_superb.server.listening_tests.order import shuffled

Role = Literal["training", "gold", "trap", "counted"]
LETTERS = "ABCDEFGHIJKL"  # as many as a trial of MUSHRA has signals at most (BS.1534-3)
JOINT = " · "
"""Between the parts of a trial's key."""
TRAINING = "training: "
"""How the keys of training trials begin."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A sound that a listener hears without its name."""

    label: str
    """``A``, ``B``, … or ``X``."""
    condition: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One question."""

    key: str
    """Says clip and conditions: the same for every participant."""
    role: Role
    clip: str
    """Of the stimuli."""
    slots: tuple[Slot, ...]
    """In the order in which they are shown."""
    open_reference: bool
    """Whether the original is heard beside them by its name."""
    pair: tuple[str, str] = ("", "")
    """Of AB and ABX."""
    answer: int = 0
    """Of a trap."""


def trials_of(settings: TestSettings, seed: int) -> list[Trial]:
    """Return the trials of a participant in their order: training first, then the others and the questions mixed."""
    counted = shuffled([trial for clip in settings.found for trial in _trials(settings, clip)], _bits(seed, "trials"))
    counted = counted[: settings.trials]
    asked = [*counted, *questions_of(settings)]
    mixed = shuffled(asked, _bits(seed, "mixed"))
    first = [replace(trial, key=TRAINING + trial.key, role="training") for trial in counted[: settings.training]]
    return [_shown(settings, trial, seed) for trial in [*first, *mixed]]


def questions_of(settings: TestSettings) -> list[Trial]:
    """Return the gold questions and traps, which every participant gets."""
    return [*_gold(settings), *_traps(settings)]


def _trials(settings: TestSettings, clip: str) -> list[Trial]:
    kind = settings.kind
    if kind == "mushra":
        return [Trial(clip, "counted", clip, _unnamed(settings.conditions), open_reference=True)]
    if kind in {"acr", "dcr"}:
        return [_single(settings, clip, condition, "counted") for condition in settings.conditions]
    numbers: Sequence[int] = range(1, settings.repeats + 1) if kind == "abx" else (1,)
    return [_pair(settings, clip, pair, "counted", number) for pair in settings.compared for number in numbers]


def _gold(settings: TestSettings) -> list[Trial]:
    clips, found = settings.gold_clips, []
    for place in range(settings.gold if clips else 0):
        clip, number = clips[place % len(clips)], place // len(clips) + 1
        if settings.kind in {"acr", "dcr"}:
            asked = _single(settings, clip, GOLD, "gold")
            found.append(replace(asked, key=f"{asked.key}{JOINT}{number}"))
        else:
            found.append(_pair(settings, clip, (REFERENCE, GOLD), "gold", number))
    return found


def _traps(settings: TestSettings) -> list[Trial]:
    return [
        Trial(
            f"{TRAP} {number}", "trap", f"{TRAP} {number}", _unnamed((TRAP,)), open_reference=False, answer=trap.answer
        )
        for number, trap in enumerate(settings.traps, start=1)
    ]


def _single(settings: TestSettings, clip: str, condition: str, role: Role) -> Trial:
    key = f"{clip}{JOINT}{condition}"
    return Trial(key, role, clip, _unnamed((condition,)), open_reference=settings.kind == "dcr")


def _pair(settings: TestSettings, clip: str, pair: tuple[str, str], role: Role, number: int = 1) -> Trial:
    key = JOINT.join((clip, *pair, str(number)))
    shows = settings.kind == "ab" and settings.show_reference
    return Trial(key, role, clip, _unnamed(pair), open_reference=shows, pair=pair)


def _unnamed(conditions: Sequence[str]) -> tuple[Slot, ...]:
    return tuple(Slot("", condition) for condition in conditions)


def _shown(settings: TestSettings, trial: Trial, seed: int) -> Trial:
    """Draw the order of a trial's sounds, and X of ABX."""
    conditions = shuffled([slot.condition for slot in trial.slots], _bits(seed, trial.key))
    slots = [Slot(label, condition) for label, condition in zip(LETTERS, conditions, strict=False)]
    if settings.kind == "abx":
        slots.append(Slot("X", shuffled(conditions, _bits(seed, f"X of {trial.key}"))[0]))
    return replace(trial, slots=tuple(slots))


def _bits(seed: int, name: str) -> bytes:
    return sha256(f"{seed} {name}".encode()).digest()
