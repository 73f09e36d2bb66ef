"""Whose word the figures of a page are: of what was run again alone, or of all submissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ShownSource = Literal["runs", "verified"]
"""All public submissions, or what the maintainers ran again."""


@dataclass(frozen=True, slots=True)
class Whose:
    """What a page shows, and what it leaves out."""

    source: ShownSource = "runs"
    asked: bool = False
    """Whether the visitor chose it."""
    verified: int = 0
    """Codecs with figures of this page that were run again."""
    everyone: int = 0
    """All codecs with figures of this page."""
    left_out: int = 0
    """Codecs that are not shown, since nobody ran their figures again."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What the addresses of the page's charts have of it: they count what is there by themselves else."""
        return [("source", self.source)]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What a form of the page sends of it."""
        return self.pairs if self.asked else []
