"""Content of the page of one clip through several codecs, as typed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codec_superb.metrics.table import Category


@dataclass(frozen=True, slots=True)
class ClipValue:
    """One metric on the clip."""

    status: Literal["ok", "undefined", "failed"]
    value: float | None
    reason: str
    """Why there is no value."""


@dataclass(frozen=True, slots=True)
class ClipColumn:
    """One codec's row of the clip."""

    codec: str
    title: str
    state: str
    """Manifest hash of the dataset; '' where the codec was not run on it."""
    status: Literal["ok", "failed", "absent"]
    error: str
    """Why there is no resynthesis."""
    kbps: float | None
    seconds: float | None
    lag_samples: int | None
    metrics: Mapping[str, ClipValue]
    source: str = ""
    """On whose word it stands: ``verified`` or ``self-reported by ACCOUNT``."""

    @property
    def present(self) -> bool:
        """Whether the codec has a row of the clip."""
        return self.status != "absent"


@dataclass(frozen=True, slots=True)
class ComparedClip:
    """One clip through all chosen codecs."""

    dataset: str
    clip: str
    category: Category
    metrics: Sequence[str]
    """Keys with an entry in some column, in the order of the table."""
    codecs: Sequence[ClipColumn]
    same_state: bool
    """All codecs were run on the same state of the dataset; else the same id may mean another sound."""
