"""Input of a check besides the file: limits, and the clips of every dataset that the service knows.

On disk: one line of JSON (:class:`CheckTask`), then the packed clips of the datasets one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from codec_superb.pipeline.submission.facts.clips import KnownDataset
from codec_superb.record import Record
from codec_superb.server.datasets.clips import unpack_clips


class PackedState(Record):
    """Where the clips of a dataset's current state lie."""

    manifest_hash: str
    offset: int
    """Bytes after the line."""
    size: int


class CheckTask(Record):
    """The line."""

    file_limit: int
    """Bytes of the submission file."""
    states: dict[str, PackedState]
    public: bool = True
    """Whether the board is for others, who know of a codec only what its card states."""


def write_task(
    file: BinaryIO, file_limit: int, states: Mapping[str, tuple[str, bytes]], *, public: bool = True
) -> None:
    """Write a task; ``states`` maps a dataset's name to manifest hash and packed clips."""
    packed: dict[str, PackedState] = {}
    offset = 0
    for name, (manifest_hash, clips) in states.items():
        packed[name] = PackedState(manifest_hash=manifest_hash, offset=offset, size=len(clips))
        offset += len(clips)
    task = CheckTask(file_limit=file_limit, states=packed, public=public)
    file.write(task.model_dump_json().encode() + b"\n")
    for _, clips in states.values():
        file.write(clips)
    file.flush()


class OpenedTask:
    """A task as the checking process reads it; clips are unpacked only of datasets that are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        self._file = file
        self.task = CheckTask.model_validate_json(file.readline())
        self._behind = file.tell()
        self._opened: dict[str, KnownDataset] = {}

    def known(self, name: str) -> KnownDataset | None:
        """Answer what the service knows about a dataset."""
        state = self.task.states.get(name)
        if state is None:
            return None
        if name not in self._opened:
            self._file.seek(self._behind + state.offset)
            self._opened[name] = KnownDataset(state.manifest_hash, unpack_clips(self._file.read(state.size)))
        return self._opened[name]
