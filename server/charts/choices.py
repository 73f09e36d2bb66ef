"""Validates the choices of a chart; an error names those that exist."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.server.errors import NotFound

_NAMED = 12


class UnknownChoice(NotFound):
    """A choice that this chart does not have; ``field`` is that of the state."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


def checked_choice(what: str, value: str, known: Sequence[str]) -> str:
    """Return ``value``, which must be among ``known``. Raises NotThere, naming the first of ``known``."""
    if value in known:
        return value
    names = ", ".join(name for name in known[:_NAMED] if name) or "none"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    raise UnknownChoice(what, f"{what}: expected one of {names}{more}, got {value[:200]!r}")
