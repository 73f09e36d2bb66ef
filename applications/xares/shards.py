"""WebDataset shards as XARES-LLM publishes and reads them: a ``.tar.gz`` of ``<key>.flac`` and ``<key>.json``.

What cannot be used is counted with its place and costs itself alone: a shard that is cut off gives what stands before
the cut. Nothing is unpacked to disk.
"""

from __future__ import annotations

import gzip
import json
import re
import tarfile
import tempfile
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from codec_superb.applications.clips import at_rate
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Samples
from codec_superb.base_codec import fitting

SUFFIXES = frozenset({".flac", ".wav", ".mp3", ".ogg", ".opus", ".m4a", ".aac", ".wma"})
FIELDS = ("captions", "caption", "text")
"""Tried behind the fields that a task names."""
LARGEST = 1 << 30
"""Bytes of a member; a larger one is no clip."""
_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}|\{([^{}]*,[^{}]*)\}")
_LEAST_DIFFERENT, _LONG, _LEAST_LETTERS = 4, 10, 0.5


class ShardSample(NamedTuple):
    """A sound and one of its texts."""

    key: str
    place: str
    """Shard and member, for people."""
    audio: bytes
    """The file as it stands in the shard."""
    target: str


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
        if len(self.examples) < 20:  # noqa: PLR2004 -- as many as somebody reads
            self.examples.append(f"{place}: {kind}{f': {reason}' if reason else ''}")


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


def find_shards(root: Path, pattern: str) -> list[Path]:
    """Return the shards of a pattern below ``root``. Raises ApplicationError naming the first one that is missing."""
    found = [root / name for name in expand(pattern)]
    missing = [file for file in found if not file.is_file()]
    if missing:
        raise ApplicationError(
            f"{missing[0]}: expected a shard, found none ({len(missing)} of {len(found)} of {pattern} are missing); "
            "fetch them, or name their folder with --data DIR"
        )
    return found


def read_shard(file: Path, fields: Sequence[str], report: ShardReport, *, training: bool) -> Iterator[ShardSample]:
    """Yield the samples of a shard, a sound with several texts several times; ``fields`` are tried in order.

    Texts that the published recipe takes for corrupt are left out of training, and of nothing else; all is counted.
    """
    held: dict[str, tuple[str, bytes]] = {}
    for member, content in _members(file, report):
        key, suffix = _split(member)
        if key in held and (held[key][0] == ".json") == (suffix == ".json"):
            report.note("a key that comes twice", f"{file.name} {member}")
            continue
        if key not in held:
            held[key] = suffix, content
            continue
        before_suffix, before = held.pop(key)
        audio, text = (content, before) if before_suffix == ".json" else (before, content)
        place = f"{file.name} {key}"
        for target in _targets(text, fields, place, report):
            if training and is_corrupt(target):
                report.note("a text that training leaves out", place, repr(target[:40]))
            else:
                yield ShardSample(key, place, audio, target)
    for key, (suffix, _) in held.items():
        missing = "a text without sound" if suffix == ".json" else "a sound without JSON"
        report.note(missing, f"{file.name} {key}{suffix}")


def decode(sample: ShardSample, rate: int) -> Samples:
    """Return a sound mono at ``rate`` Hz, divided by its peak where that is above 1, as published.

    Raises PredictionFailed for what is no sound, or has no samples.
    """
    from codec_superb.data_manifests.audio.audio_file import read_audio
    from codec_superb.data_manifests.errors import AudioFileError

    try:
        with tempfile.NamedTemporaryFile() as file:  # decoders of compressed sound want a file
            file.write(sample.audio)
            file.flush()
            audio, own = read_audio(Path(file.name))
    except AudioFileError as error:
        raise PredictionFailed(f"{sample.place}: {str(error).replace(file.name, 'its sound')}") from error
    mono = fitting.to_mono(audio)[0]
    if not mono.size:
        raise PredictionFailed(f"{sample.place}: expected a sound, got one of 0 samples")
    peak = float(np.abs(mono).max())
    return at_rate(mono / np.float32(peak) if peak > 1 else mono, own, rate)


def is_corrupt(text: str) -> bool:
    """Whether the published recipe takes a text for broken: half of it no letters, few different signs, accents."""
    signs = [sign for sign in text if not sign.isspace()]
    if not signs:
        return True
    letters = sum(sign.isalnum() for sign in signs) / len(signs)
    few = len(signs) > _LONG and len(set(signs)) < _LEAST_DIFFERENT
    return letters < _LEAST_LETTERS or few or any(unicodedata.combining(sign) for sign in signs)


def _members(file: Path, report: ShardReport) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member; what stands behind a cut is lost and counted once."""
    try:
        with tarfile.open(file, "r|*") as shard:
            for member in shard:
                suffix = PurePosixPath(member.name).suffix.lower()
                if not member.isfile() or suffix not in SUFFIXES | {".json"}:
                    continue
                if member.size > LARGEST:
                    report.note("a member that is too large", f"{file.name} {member.name}")
                    continue
                content = shard.extractfile(member)
                assert content is not None  # it is a file
                yield member.name, content.read()
    except (tarfile.TarError, EOFError, OSError, gzip.BadGzipFile, zlib.error) as error:
        report.note("a shard that is cut off or damaged", file.name, str(error))


def _split(member: str) -> tuple[str, str]:
    path = PurePosixPath(member)
    return str(path.with_suffix("")), path.suffix.lower()


def _targets(text: bytes, fields: Sequence[str], place: str, report: ShardReport) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError as error:
        report.note("JSON that cannot be read", place, str(error))
        return []
    if not isinstance(found, dict):
        report.note("JSON without fields", place, type(found).__name__)
        return []
    names = [*fields, *(name for name in FIELDS if name not in fields)]
    value: Any = next((found[name] for name in names if found.get(name) not in (None, "", [])), None)
    texts = [
        str(each) for each in (value if isinstance(value, list) else [value]) if isinstance(each, str | int | float)
    ]
    if not texts:
        report.note("JSON without a text", place, f"none of {', '.join(names)}")
    return texts
