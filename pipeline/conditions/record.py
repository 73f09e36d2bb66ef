"""One condition as runs and submissions record it, and the reading of its name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import StringConstraints

from codec_superb.pipeline.conditions.table import KINDS, Kind
from codec_superb.pipeline.errors import PipelineError
from codec_superb.record import Record

Reference = Literal["clean", "input"]


class Condition(Record):
    """What a run was made under; a clean run has none."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z]+(:[a-z]+)?(:-?[0-9.e+-]+)?$", max_length=60)]
    """Kind and strength: ``loss:10``, ``band:telephone``."""
    reference: Reference = "clean"
    """What metrics compare with: the clean original, or the sound that the codec was given."""
    version: Annotated[str, StringConstraints(min_length=1, max_length=20)]
    """Version of the definition."""

    @property
    def kind(self) -> Kind:
        """The row of the table. Raises PipelineError for a kind that this version does not know."""
        return _parsed(self.name)[0]

    @property
    def strength(self) -> float:
        """Value of the parameter, in the kind's unit; 0 for a kind without one."""
        return _parsed(self.name)[1]

    @property
    def label(self) -> str:
        """Name for people, with the reference where it is not the usual one."""
        return self.name if self.reference == "clean" else f"{self.name} (against the input)"

    def facts(self) -> dict[str, Any]:
        """Return what a page says of it, by the names of the fields of ``web.rows.ConditionInfo``."""
        kind = self.kind
        return {
            "name": self.name, "kind": kind.key, "label": kind.label, "place": kind.place, "axis": kind.axis,
            "strength": self.strength, "usual": self.strength in kind.usual, "grows": kind.grows,
            "definition": kind.definition, "reference": self.reference,
        }  # fmt: skip

    @property
    def suffix(self) -> str:
        """End of the name of a run's folder: file systems have no colon everywhere."""
        return f"@{self.name.replace(':', '_')}" + ("" if self.reference == "clean" else "@input")


def parse_condition(text: str, reference: Reference = "clean") -> Condition:
    """Read ``loss:10``. Raises PipelineError for an unknown kind or a strength out of range.

    Another reference counts only where the condition acts on the sound; elsewhere the input is the clean original.
    """
    kind, strength = _parsed(text)
    name = f"{kind.key}:{strength:g}" if kind.parameter else kind.key
    return Condition(name=name, reference=reference if kind.place == "sound" else "clean", version=kind.version)


def suffix_of(condition: Condition | None) -> str:
    """Return the end of the name of a run's folder; '' for a clean run."""
    return "" if condition is None else condition.suffix


def _parsed(text: str) -> tuple[Kind, float]:
    kind = next((its for key, its in KINDS.items() if text == key or text.startswith(f"{key}:")), None)
    if kind is None:
        raise PipelineError(f"expected a condition, one of {_forms()}; got {text!r}: see `codec-superb conditions`")
    value = text[len(kind.key) + 1 :]
    if not kind.parameter and text == kind.key:
        return kind, 0.0
    try:
        strength = float(value) if kind.parameter else float("nan")
    except ValueError:
        strength = float("nan")
    # NaN fails every comparison
    if not kind.low <= strength <= kind.high or (kind.whole and strength != int(strength)):
        what = f"{kind.key}:X with X from {kind.low:g} to {kind.high:g} {kind.unit}".strip()
        what += ", a whole number" if kind.whole else ""
        raise PipelineError(f"expected {what if kind.parameter else kind.key}, got {text!r}")
    return kind, strength + 0.0  # -0 is 0


def _forms() -> str:
    return ", ".join(f"{key}:X" if kind.parameter else key for key, kind in KINDS.items())
