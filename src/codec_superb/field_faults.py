"""Writes what pydantic finds wrong with a record as sentences: which field, what was expected, what came."""

from __future__ import annotations

from typing import Any

_REMEDIES = {
    "missing": "is missing: state it",
    "extra_forbidden": "is unknown: take it out, or correct its name",
}
_EXPECTED = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "names with values",
    "model_type": "names with values",
}
"""In words of the file: whoever wrote it does not know Python's types."""
_MOST = 50
"""Faults that are put into words: nobody reads more, and a value of any of them may be the whole file."""
_LONGEST = 60
"""Characters of a value that are shown."""


def sentences(error: Any) -> str:
    """Return a sentence for each of the first faults of a ``pydantic.ValidationError``, joined by semicolons."""
    said = dict.fromkeys(_sentence(fault) for fault in error.errors(include_url=False)[:_MOST])
    more = error.error_count() - _MOST
    return "; ".join([*said, *([f"and {more} more"] if more > 0 else [])])


def faults(error: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the place of each fault, as names of fields and positions, and its sentence."""
    return [(tuple(fault["loc"]), _sentence(fault)) for fault in error.errors(include_url=False)]


def is_validation_error(error: BaseException) -> bool:
    """Whether an exception is pydantic's, which is not imported here."""
    return type(error).__name__ == "ValidationError" and type(error).__module__.startswith("pydantic")


def _sentence(fault: dict[str, Any]) -> str:
    # a union's branches and a validator stand in the place too: only names of fields and positions are shown
    where = ".".join(str(part) for part in fault["loc"] if not str(part).startswith(("function-", "constrained-")))
    kind, message = fault["type"], str(fault["msg"])
    if kind in _REMEDIES:
        return f"{where} {_REMEDIES[kind]}"
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    if kind == "value_error":
        return message
    if kind == "string_pattern_mismatch":
        message = f"text of the form {fault['ctx']['pattern']}"
        if where == "name":
            message = "lower-case letters, digits, _ and . alone, such as my_codec_6k"
    if kind == "too_long":
        message = f"at most {fault['ctx']['max_length']} of them, not {fault['ctx']['actual_length']}"
    message = _EXPECTED.get(kind, message)
    shown = repr(fault["input"])
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    return f"{where}: expected {message}, got {shown}".removeprefix(": ")
