"""WebDataset shards: a ``.tar.gz`` of ``<key>.flac`` (or another suffix) and ``<key>.json`` for each sample.

What cannot be used is counted with its place and costs itself alone: a shard that is cut off gives what stands before
the cut. Nothing is unpacked to disk.
"""

from __future__ import annotations

import gzip
import json
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

SUFFIXES = frozenset({".flac", ".wav", ".mp3", ".ogg", ".opus", ".m4a", ".aac", ".wma"})
FIELDS = ("captions", "caption", "text")
"""Of JSON: tried behind the fields that are named, as XARES-LLM does."""
LARGEST = 1 << 30
"""Bytes of a member; a larger one is no clip."""
_SHOWN = 20
"""Places that a report names."""
_HALVES = re.compile("[\ud800-\udfff]")
_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}|\{([^{}]*,[^{}]*)\}")


class Entry(NamedTuple):
    """A sound with what its JSON says of it."""

    key: str
    place: str
    """Shard and key, for people."""
    suffix: str
    """Of the sound, in lower case, with its dot."""
    audio: bytes
    """The file as it stands in the shard."""
    fields: Mapping[str, Any]
    """The JSON object."""
    start: int = 0
    """First byte of the file in its shard, where that is not compressed."""


class Shard(NamedTuple):
    """A shard that is open."""

    name: str
    file: BinaryIO


@dataclass(slots=True)
class ShardReport:
    """What could not be used."""

    faults: Counter[str] = field(default_factory=Counter)
    """How often, by kind."""
    examples: list[str] = field(default_factory=list)
    """The first places, a sentence each."""

    def note(self, kind: str, place: str, reason: str = "") -> None:
        """Count a fault."""
        self.faults[kind] += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(f"{place}: {kind}{f': {reason}' if reason else ''}")

    def add(self, faults: Mapping[str, int], examples: Sequence[str]) -> None:
        """Add what another report has."""
        self.faults.update(faults)
        self.examples += examples[: max(0, _SHOWN - len(self.examples))]

    def lines(self) -> list[str]:
        """Return how often each fault came, and the first places."""
        return [f"{count} times {kind}" for kind, count in self.faults.most_common()] + self.examples

    def places(self) -> list[str]:
        """Return a name for each fault, of those that nobody noted the same one."""
        named = [example.partition(": ")[0] for example in self.examples]
        return named + ["(further ones)"] * (self.faults.total() - len(named))


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: ``{000..171}`` counts, leading zeros kept, ``{a,b}`` lists."""
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    if match[3] is not None:
        parts = match[3].split(",")
    else:
        parts = [f"{number:0{len(match[1])}d}" for number in range(int(match[1]), int(match[2]) + 1)]
    return [name for part in parts for name in expand(pattern[: match.start()] + part + pattern[match.end() :])]


def shards_below(root: Path, pattern: str) -> tuple[list[Path], list[Path]]:
    """Return the shards of a pattern that lie below ``root``, and those that do not; ``*`` stands for any that do."""
    found, missing = list[Path](), list[Path]()
    for name in expand(pattern):
        files = sorted(root.glob(name)) if "*" in name else [root / name]
        there = [file for file in files if file.is_file()]
        found += there
        missing += [] if there else [root / name]
    return found, missing


def read_entries(file: Path | Shard, report: ShardReport) -> Iterator[Entry]:
    """Yield the samples of a shard whose JSON is an object; all others are counted."""
    held: dict[str, tuple[str, bytes, int]] = {}
    for member, content, start in _members(file, report):
        path = PurePosixPath(member)
        key, suffix = str(path.with_suffix("")), path.suffix.lower()
        if key in held and (held[key][0] == ".json") == (suffix == ".json"):
            report.note("a key that comes twice", f"{file.name} {member}")
            continue
        if key not in held:
            held[key] = suffix, content, start
            continue
        before = held.pop(key)
        sound, text = (suffix, content, start), before[1]
        if before[0] != ".json":
            sound, text = before, content
        place = f"{file.name} {key}"
        fields = _fields(text, place, report)
        if fields is not None:
            yield Entry(key, place, *sound[:2], fields, sound[2])
    for key, (suffix, _, _) in held.items():
        missing = "a text without sound" if suffix == ".json" else "a sound without JSON"
        report.note(missing, f"{file.name} {key}{suffix}")


def texts_of(entry: Entry, names: Sequence[str], report: ShardReport) -> list[str]:
    """Return the texts of the first field of ``names``, and then of :data:`FIELDS`, that says anything; none counts."""
    tried = [*names, *(name for name in FIELDS if name not in names)]
    value: Any = next((entry.fields[name] for name in tried if entry.fields.get(name) not in (None, "", [])), None)
    given = value if isinstance(value, list) else [value]
    # half a surrogate pair can be written in JSON, and nowhere else
    texts = [str(each) for each in given if isinstance(each, str | int | float) and not _HALVES.search(str(each))]
    if not texts:
        report.note("JSON without a text", entry.place, f"none of {', '.join(tried)}")
    return texts


def _members(file: Path | Shard, report: ShardReport) -> Iterator[tuple[str, bytes, int]]:
    """Yield name, content and first byte of each member; what stands behind a cut is lost and counted once."""
    try:
        with _opened(file) as shard:
            for member in shard:
                suffix = PurePosixPath(member.name).suffix.lower()
                if not member.isfile() or suffix not in SUFFIXES | {".json"}:
                    continue
                if member.size > LARGEST:
                    report.note("a member that is too large", f"{file.name} {member.name}")
                    continue
                content = shard.extractfile(member)
                assert content is not None  # it is a file
                yield member.name, content.read(), member.offset_data
    # ValueError: headers of sparse files, which tarfile takes for numbers unseen
    except (tarfile.TarError, EOFError, OSError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        report.note("a shard that is cut off or damaged", file.name, str(error))


def _opened(file: Path | Shard) -> tarfile.TarFile:
    return tarfile.open(file, "r|*") if isinstance(file, Path) else tarfile.open(fileobj=file.file, mode="r|*")


def _fields(text: bytes, place: str, report: ShardReport) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        report.note("JSON that cannot be read", place, str(error))
        return None
    if not isinstance(found, dict):
        report.note("JSON without fields", place, type(found).__name__)
        return None
    return found
