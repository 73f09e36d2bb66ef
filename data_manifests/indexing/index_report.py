"""The report of indexing a dataset: what was found, compared with the published counts; as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

NAMED = 10
"""How many missing, extra or unreadable clips a report names."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The report of one indexing; of long lists only the first names are kept."""

    name: str
    root: Path | str
    """Folder or URL that the clips' paths are relative to."""
    folder: Path
    """Folder of the clip list."""
    clips: int
    published: int | None
    """Clips of the published dataset after the partition rule; None where no count is certain."""
    published_source: str | None
    missing: int
    """Clips that the publisher lists or counts and that are absent."""
    missing_names: tuple[str, ...]
    extra: int
    """Audio files in the partition's folders that the publisher does not list, or clips above the published count."""
    extra_names: tuple[str, ...]
    unlabelled: int
    """Clips without labels in the publisher's files."""
    unlabelled_names: tuple[str, ...]
    unreadable: int
    """Clips that cannot be read as audio; they stay in the list, and a run counts them as failed."""
    unreadable_names: tuple[str, ...]
    seconds: float
    """Duration of all readable clips together."""
    trials: dict[str, int]
    """Trials by the name of their list."""
    collections: dict[str, int]
    """Rows of each collection."""
    notes: tuple[str, ...]
    manifest_hash: str

    @property
    def complete(self) -> bool:
        """True when nothing is missing, extra or unreadable."""
        return not (self.missing or self.extra or self.unreadable)

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        hours = f"{self.seconds / 3600:.2f} h"
        lines = [f"{self.name}: {self.clips} clips, {hours}, in {self.root}", f"  {self._against_published()}"]
        lines += _counted("missing", self.missing, self.missing_names)
        lines += _counted("extra", self.extra, self.extra_names)
        lines += _counted("without labels", self.unlabelled, self.unlabelled_names)
        lines += _counted("unreadable as audio", self.unreadable, self.unreadable_names)
        if self.collections:
            lines.append("  collections: " + ", ".join(f"{name} {rows}" for name, rows in self.collections.items()))
        lines += [f"  {note}" for note in self.notes]
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data that JSON can hold."""
        return asdict(self) | {"root": str(self.root), "folder": str(self.folder), "complete": self.complete}

    def _against_published(self) -> str:
        if self.published is None:
            return "no published count to compare with"
        return f"published: {self.published} clips ({self.published_source})"


def _counted(what: str, count: int, names: tuple[str, ...]) -> list[str]:
    if not count:
        return []
    if not names:
        return [f"  {what}: {count} (the publisher's files do not name them)"]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return [f"  {what}: {count} ({', '.join(names)}{more})"]


def seconds_of(frames: Mapping[int, int]) -> float:
    """Return the duration of clips, given as samples per channel by rate in Hz, whatever their order."""
    return sum(frames[rate] / rate for rate in sorted(frames) if rate)


def other_rates(published: int, clips: int, first: str, rate: int) -> str:
    """Return the note on clips that are not at the published rate: a resampled copy gives other scores."""
    return f"clips not at the published {published} Hz: {clips}, the first is {first} at {rate} Hz"
