"""Predictions on references: made once for a dataset and a model, kept for every codec, run folder and command.

``<home>/predictions/<manifest hash>/<model digest>.jsonl``, both shortened to 16 characters; a line a clip. One process
at a time works on such a file; a second one waits, and then finds everything there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codec_superb.applications.interface import Item
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.probing.predictions import needs_prediction
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.workers.progress import Progress

SHORT = 16
"""Characters of a hash that a name holds: enough for any number of datasets and models on one machine."""


def file_of(manifest_hash: str, digest: str) -> Path:
    """Where the predictions of a model on the references of a dataset lie, whether there are any or not."""
    return codec_superb_home() / "predictions" / manifest_hash[:SHORT] / f"{digest[:SHORT]}.jsonl"


class ReferencePredictions:
    """The opened file of one dataset and model."""

    def __init__(self, journal: Journal[dict[str, Any]], *, overwrite: bool) -> None:
        self._journal = journal
        self._overwrite = overwrite
        self._fresh: set[str] = set()

    def entry(self, item: Item) -> dict[str, Any] | None:
        """Return what is known of a clip; None where nothing is, or where the user wants it done again."""
        entry = self._journal.last(item.clip)
        if entry is None or entry["category"] != item.category:
            return None
        return None if self._overwrite and item.clip not in self._fresh else entry

    def missing(self, item: Item) -> bool:
        """Whether a clip must be predicted; one that failed is tried again, once a call."""
        entry = self.entry(item)
        return entry is None or (needs_prediction(entry) and item.clip not in self._fresh)

    def record(self, item: Item, entry: dict[str, Any]) -> None:
        """Append an answer."""
        self._journal.append({"clip": item.clip, "category": item.category, **entry})
        self._fresh.add(item.clip)


@contextmanager
def open_references(
    manifest_hash: str, digest: str, progress: Progress, *, overwrite: bool = False
) -> Iterator[ReferencePredictions]:
    """Open the file for this process alone; says so where it must wait for another one."""
    path = file_of(manifest_hash, digest)
    with _alone(path.with_name(f".{path.name}.lock"), progress), Journal(path, dict[str, Any]) as journal:
        yield ReferencePredictions(journal, overwrite=overwrite)


@contextmanager
def _alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold a lock file; the system frees it on any death."""
    import fcntl

    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.message("another process predicts on the same references with the same model: waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
