"""The columns of ``clips.parquet`` with the results of probes on a clip: names, and conversion in both directions.

A probe P of :mod:`codec_superb.applications.table` has the columns ``P.status`` and ``P.reason`` (string), then its
numbers (double) in the order of that table: ``P.<shared field>``, ``P.reference.<field>``, ``P.resynthesis.<field>``.
A clip without an entry has nulls in all of them; one whose status is not ``ok`` has nulls in the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from codec_superb.applications.probe import SIDES, Field, Probe
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.rows import ProbeValue

_SLACK = 1e-6
"""A cosine of float32 may leave its range by rounding."""


def number_columns(key: str) -> Mapping[str, tuple[str, Field]]:
    """Columns of a probe's numbers, in order: column to the part of ProbeValue and the field that it holds."""
    return _number_columns(PROBES[key])


@cache
def _number_columns(probe: Probe) -> Mapping[str, tuple[str, Field]]:
    key = probe.key
    columns = {f"{key}.{field.name}": ("shared", field) for field in probe.shared}
    for side in SIDES:
        columns |= {f"{key}.{side}.{field.name}": (side, field) for field in probe.sided}
    return columns


def probe_columns(probes: Iterable[str]) -> dict[str, str]:
    """Column to Arrow type for these probes, sorted by key; ClipTableError for one that is not in the table."""
    columns: dict[str, str] = {}
    for key in sorted(probes):
        if key not in PROBES:
            raise ClipTableError(
                f"probe {key[:60]!r}: expected one of {', '.join(sorted(PROBES))}; update this program"
            )
        columns |= {f"{key}.status": "string", f"{key}.reason": "string"}
        columns |= dict.fromkeys(number_columns(key), "double")
    return columns


def probe_keys(columns: Sequence[str]) -> tuple[str, ...]:
    """Probes of a table; whether their columns are whole and in order is checked against the schema."""
    # keys hold no dot, names of metrics neither
    return tuple(dict.fromkeys(name.partition(".")[0] for name in columns if "." in name))


def to_columns(key: str, value: ProbeValue, reason: str) -> dict[str, Any]:
    """Lay a value out as columns, with ``reason`` in place of its own; ClipTableError when it breaks the contract."""
    fault = fault_of(PROBES[key], value)
    if fault:
        raise ClipTableError(fault)
    record: dict[str, Any] = {f"{key}.status": value.status, f"{key}.reason": reason}
    for column, (part, field) in number_columns(key).items():
        record[column] = getattr(value, part).get(field.name)
    return record


def from_columns(key: str, record: dict[str, Any]) -> ProbeValue | None:
    """Take a probe's columns out of ``record``; None where all are null.

    Raises ValidationError for a status that does not exist or a number that is not finite, ClipTableError for numbers
    that are missing, too many or outside the limits of their fields.
    """
    status, reason = record.pop(f"{key}.status"), record.pop(f"{key}.reason")
    numbers = {column: record.pop(column) for column in number_columns(key)}
    if status is None and reason is None and all(number is None for number in numbers.values()):
        return None
    parts: dict[str, dict[str, float]] = {"shared": {}, **{side: {} for side in SIDES}}
    for column, (part, field) in number_columns(key).items():
        if numbers[column] is not None:
            parts[part][field.name] = numbers[column]
    value = ProbeValue(status=status, reason=reason, **parts)
    fault = fault_of(PROBES[key], value)
    if fault:
        raise ClipTableError(fault)
    return value


def fault_of(probe: Probe, value: ProbeValue) -> str:
    """Return how a value breaks the contract of its probe; '' where it does not."""
    parts: dict[str, tuple[Sequence[Field], Mapping[str, float]]] = {
        "shared": (probe.shared, value.shared),
        "reference": (probe.sided, value.reference),
        "resynthesis": (probe.sided, value.resynthesis),
    }
    for part, (fields, numbers) in parts.items():
        expected = {field.name for field in fields} if value.status == "ok" else set()
        if set(numbers) != expected:
            want = f"the numbers {sorted(expected)}" if expected else "no numbers"
            return f"{probe.key}, which is {value.status}: expected {want} in {part}, got {sorted(numbers)}"
        for field in fields if expected else ():
            fault = _number_fault(field, numbers[field.name])
            if fault:
                return f"{probe.key}: {part} {field.name}: {fault}"
    return ""


def _number_fault(field: Field, number: float) -> str:
    slack = 0.0 if field.whole else _SLACK
    if not math.isfinite(number) or not field.minimum - slack <= number <= field.maximum + slack:
        return f"expected {field.minimum:g} to {field.maximum:g}, got {number!r}"
    if field.whole and not float(number).is_integer():
        return f"expected a whole number, got {number!r}"
    return ""
