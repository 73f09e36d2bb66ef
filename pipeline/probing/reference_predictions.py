"""Cache of predictions on references: computed once per dataset and model, shared by all codecs, runs and commands.

``<home>/predictions/<manifest hash>/<model digest>.jsonl``, both shortened to 16 characters, one line per clip. One
process at a time writes such a file; a second one waits for it and then uses its predictions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from codec_superb.applications.interface import Item
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.probing.predictions import Answer, answer_of, needs_prediction, to_line
from codec_superb.pipeline.runs.journal import Journal, read_journal
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.tables.rows import PredictionLine
from codec_superb.pipeline.workers.progress import Progress

SHORT = 16
"""Hexadecimal digits of a hash in a file name: 64 bits, enough for the datasets and models of one machine."""


def file_of(manifest_hash: str, digest: str, shard: Shard | None = None) -> Path:
    """Path of the predictions of a model on the references of a dataset, or of those of a shard; it need not exist."""
    name = f"{digest[:SHORT]}{shard.suffix if shard else ''}.jsonl"
    return codec_superb_home() / "predictions" / manifest_hash[:SHORT] / name


class ReferencePredictions:
    """The open cache file of one dataset and model."""

    def __init__(
        self, journal: Journal[PredictionLine], known: Mapping[str, PredictionLine], *, overwrite: bool
    ) -> None:
        self._journal = journal
        self._known = known
        self._overwrite = overwrite
        self._fresh: set[str] = set()

    def answer(self, item: Item) -> Answer | None:
        """Return the answer on a clip; None where there is none, or where the user asked to compute it again."""
        line = self._journal.last(item.clip) or self._known.get(item.clip)
        if line is None or line.category != item.category:
            return None
        return None if self._overwrite and item.clip not in self._fresh else answer_of(line)

    def missing(self, item: Item) -> bool:
        """Whether a clip must be predicted; a failed one is retried once per call."""
        answer = self.answer(item)
        return answer is None or (needs_prediction(answer) and item.clip not in self._fresh)

    def record(self, item: Item, answer: Answer) -> None:
        """Append an answer to the journal."""
        self._journal.append(to_line(item.clip, item.category, answer))
        self._fresh.add(item.clip)

    def add(self, line: PredictionLine) -> None:
        """Append what another file has, where this one has no prediction."""
        own = self._journal.last(line.clip)
        if own is None or own.category != line.category or (own.failed is not None and own != line):
            self._journal.append(line)


@contextmanager
def open_references(
    manifest_hash: str, digest: str, progress: Progress, shard: Shard | None = None, *, overwrite: bool = False
) -> Iterator[ReferencePredictions]:
    """Open the file with an exclusive lock; a message is shown while another process holds it.

    A shard has a file of its own, and reads what the file of the whole dataset has.
    """
    path = file_of(manifest_hash, digest, shard)
    lock = path.with_name(f".{path.name}.lock")
    known = {} if shard is None else _lines_of(file_of(manifest_hash, digest))
    with (
        alone(lock, progress, "predicts on the same references with the same model"),
        Journal(path, PredictionLine) as journal,
    ):
        yield ReferencePredictions(journal, known, overwrite=overwrite)


def join_references(manifest_hash: str, digest: str, count: int, progress: Progress) -> None:
    """Add to the file of the whole dataset what the files of ``count`` shards have and it lacks."""
    with open_references(manifest_hash, digest, progress) as whole:
        for index in range(1, count + 1):
            shard = Shard(index=index, count=count)
            for line in _lines_of(file_of(manifest_hash, digest, shard)).values():
                whole.add(line)


def _lines_of(path: Path) -> dict[str, PredictionLine]:
    """Return the newest line of each clip."""
    return {line.clip: line for line in read_journal(path, PredictionLine)}


@contextmanager
def alone(lock: Path, progress: Progress, what: str) -> Iterator[None]:
    """Hold an exclusive flock(2), which the kernel releases however the process ends.

    A message is shown while another process holds it; ``what`` says what that one does.
    """
    import fcntl

    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.message(f"another process {what}: waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        # Closing the file releases flock(2).
        os.close(handle)
