"""Base class of all stored records: strict, immutable, and documented in its own JSON Schema."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Refuses a field that it does not know; the text under a field becomes its description in the schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
