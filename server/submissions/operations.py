"""Reads what submitters counted of their codecs' operations from the document of a submission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codec_superb.metrics.results import Operations


def stored_operations(datasets: Iterable[Mapping[str, Any]]) -> dict[str, Operations]:
    """Return the operations by dataset; without datasets on which they are not known."""
    found = ((str(part["name"]), part.get("operations")) for part in datasets)
    return {name: Operations.model_validate(counted) for name, counted in found if counted}
