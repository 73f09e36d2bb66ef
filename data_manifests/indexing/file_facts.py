"""Hash audio files and read their headers with several threads, and cache the results.

A published dataset has tens of gigabytes: reading it takes minutes on a fast disk. The SHA-256 of each file is cached
with the file's size and modification time, so that indexing again, or resuming after an interruption, reads only new
and changed files.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.audio.audio_file import read_header
from codec_superb.data_manifests.files import file_sha256, file_stamp, write_atomically
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate, ignore_progress

BATCH = 64
"""Files between two calls of the progress callback: small, so that Ctrl-C takes effect soon."""
SAVE_SECONDS = 30.0
"""Seconds between two writes of the cache: the most work that a killed process loses."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Size, hash and header of one audio file."""

    size: int
    """Bytes."""
    mtime_ns: int
    sha256: str
    """SHA-256 of the file's bytes."""
    sampling_rate: int | None
    """Hz; None when the file cannot be read as audio."""
    frames: int | None
    """Samples per channel; None when the file cannot be read as audio."""

    @property
    def seconds(self) -> float | None:
        """Duration in seconds, None when the file cannot be read as audio."""
        if self.sampling_rate is None or self.frames is None:
            return None
        return self.frames / self.sampling_rate


def read_file_facts(paths: Sequence[Path], cache: Path, progress: OnProgress = ignore_progress) -> Iterator[FileFacts]:
    """Yield the facts of each file in order, from ``cache`` where the file is unchanged.

    ``cache`` is a JSON file that is written periodically and at the end, also when the caller stops early.
    ``progress`` is called after each batch, in the caller's thread. Raises OSError when a file is deleted or cannot be
    read from the disk; a file that is not audio has no rate and no frames.
    """
    known = _load(cache)
    facts: dict[str, FileFacts] = {}
    saved = time.monotonic()
    # More threads than cores: hashing waits for the disk, and hashlib releases the GIL for buffers above 2047 bytes.
    pool = ThreadPoolExecutor(max_workers=min(8, 2 * (os.cpu_count() or 1)))
    try:
        for batch in _batches(paths):
            measured = list(pool.map(lambda path: _measure_one(path, known), batch))
            facts.update(zip(map(str, batch), measured, strict=True))
            yield from measured
            progress(ProgressUpdate("check", len(facts), len(paths), str(batch[-1])))
            if time.monotonic() - saved > SAVE_SECONDS:
                _save(cache, known | facts, known)
                saved = time.monotonic()
    # On Ctrl-C too: what was hashed is not hashed again.
    except BaseException:
        _save(cache, known | facts, known)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    # Without known: entries of files that are gone are dropped.
    _save(cache, facts, known)


def _measure_one(path: Path, known: dict[str, FileFacts]) -> FileFacts:
    stamp = file_stamp(path)
    before = known.get(str(path))
    if before is not None and (before.size, before.mtime_ns) == stamp:
        return before
    rate, frames = read_header(path) or (None, None)
    return FileFacts(*stamp, file_sha256(path), rate, frames)


def _batches(paths: Iterable[Path]) -> Iterator[list[Path]]:
    left = iter(paths)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch


def _load(cache: Path) -> dict[str, FileFacts]:
    try:
        return {path: FileFacts(*facts) for path, facts in json.loads(cache.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError):
        return {}  # an invalid cache only costs time


def _save(cache: Path, facts: dict[str, FileFacts], before: dict[str, FileFacts]) -> None:
    if facts == before:
        return
    cache.parent.mkdir(parents=True, exist_ok=True)
    rows = {
        path: (fact.size, fact.mtime_ns, fact.sha256, fact.sampling_rate, fact.frames) for path, fact in facts.items()
    }
    write_atomically(cache, json.dumps(rows).encode("utf-8"))
