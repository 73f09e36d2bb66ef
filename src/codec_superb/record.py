"""Base class of all stored records: strict, immutable, and documented in its own JSON Schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _exact(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError("expected an integer, without a point or an exponent")
    return value


WHOLE = BeforeValidator(_exact)
"""Of a literal integer: pydantic takes what is equal to it too, such as 1.0 and true."""


class Record(BaseModel):
    """Refuses a field that it does not know; the text under a field becomes its description in the schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
