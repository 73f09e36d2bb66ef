"""The clip list as lines of JSON, ``clips.jsonl``: held in memory, parsed as its clips are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.clip_list import ClipRecord, parse_record

# canonical_json sorts keys and writes ids without ASCII escapes, so an id is found without parsing its line.
_ID = re.compile(rb'"id":"((?:[^"\\]|\\.)*)"')


class ClipLines:
    """A clip list."""

    def __init__(self, content: bytes, place: str) -> None:
        """Find the ids. Raises ManifestError for a line without one."""
        self.place = place
        lines = enumerate(content.split(b"\n"), start=1)
        self._lines = {_id_of(line, f"{place} line {number}"): line for number, line in lines if line}

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._lines)

    def ids(self) -> Sequence[str]:
        """All ids, sorted."""
        return sorted(self._lines)

    def record(self, clip_id: str) -> ClipRecord:
        """Return a clip; KeyError when there is none of that id."""
        return parse_record(self._lines[clip_id], f"{self.place}, clip {clip_id}")

    def category(self, clip_id: str) -> Category:
        """Return the category of a clip; KeyError as :meth:`record`."""
        return self.record(clip_id).category

    def header(self, clip_id: str) -> tuple[int, int] | None:
        """Return rate in Hz and samples per channel, None where one is not stated; KeyError as :meth:`record`."""
        record = self.record(clip_id)
        return (record.sampling_rate, record.frames) if record.sampling_rate and record.frames else None


def _id_of(line: bytes, where: str) -> str:
    found = _ID.search(line)
    # Labels may contain the same key; a match before them in the line is unambiguous, otherwise the line is parsed.
    if found and b'"labels"' not in line[: found.start()] and b"\\" not in found[1]:
        return found[1].decode("utf-8", "replace")
    return parse_record(line, where).id
