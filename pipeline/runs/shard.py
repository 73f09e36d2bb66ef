"""Shards of a run: ``3/8`` takes the third of eight parts of its clips, which together are all of them, each once.

A shard is a selection like ``--limit``: it is resynthesised, scored and probed by itself, on any machine, in a folder
of its own beside the run that ``merge`` makes (``mini.shard-3-of-8`` beside ``mini``): no two write one file.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from codec_superb.pipeline.errors import PipelineError
from codec_superb.record import Record

if TYPE_CHECKING:  # the service reads records of runs, and is installed without the packages of datasets
    from codec_superb.data_manifests import Dataset

_FOLDER = re.compile(r"(?P<of>.+)\.shard-(?P<index>[1-9]\d{0,6})-of-(?P<count>[1-9]\d{0,6})")
_AT_ONCE = 1 << 16
"""Clips that are dealt out at once: numbers of Python take four times the memory of an array's."""
_GIVEN = re.compile(r"([1-9]\d{0,6})/([1-9]\d{0,6})", re.ASCII)


class Shard(Record):
    """One of the parts that the clips of a run are divided into."""

    index: int = Field(ge=1)
    """Which one, from 1."""
    count: int = Field(ge=1)
    """How many there are."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.index > self.count:
            raise ValueError(f"expected a shard of 1 to {self.count}, got {self.index}")
        return self

    def __str__(self) -> str:
        """Return it as the command line takes it."""
        return f"{self.index}/{self.count}"

    @property
    def suffix(self) -> str:
        """What the name of its run folder ends with."""
        return f".shard-{self.index}-of-{self.count}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``I/N``. Raises PipelineError."""
        found = _GIVEN.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise PipelineError(f"expected a shard as I/N with I from 1 to N, such as 3/8, got {text!r}")
        return cls(index=int(found[1]), count=int(found[2]))


def shard_of_folder(folder: Path) -> tuple[str, Shard] | None:
    """Return the name of the run that a folder is a shard of, and which; None for the folder of a whole run."""
    found = _FOLDER.fullmatch(folder.name)
    if found is None or int(found["index"]) > int(found["count"]):
        return None
    return found["of"], Shard(index=int(found["index"]), count=int(found["count"]))


def clips_of_shard(dataset: Dataset, clips: Sequence[str], shard: Shard) -> list[str]:
    """Return the sorted ids of those of ``clips``, which are sorted, that belong to a shard."""
    return list(compress(clips, _numbers(dataset, clips, shard.count) == shard.index - 1))


def divided_by_length(dataset: Dataset, clips: Sequence[str], count: int) -> list[list[str]]:
    """Return the clips, which are sorted, of each of ``count`` shards, by their length in their files' headers.

    A file whose header says nothing counts as one of median length.
    """
    return _lists(clips, _numbers(dataset, clips, count), count)


def divided(lengths: Mapping[str, int], count: int) -> list[list[str]]:
    """Divide clips, with their lengths, into ``count`` sorted lists whose sums differ by the longest clip at most.

    The longest clip that is left goes to the shard with the least sound (Graham, "Bounds on multiprocessing timing
    anomalies", 1969), then the one with the fewest clips; equals go by their ids, so that the order of ``lengths`` does
    not matter. Lengths are whole numbers: their sums are the same on every machine.
    """
    clips = sorted(lengths)
    return _lists(clips, _shares(np.array([lengths[clip] for clip in clips], np.int64), count), count)


def _numbers(dataset: Dataset, clips: Sequence[str], count: int) -> NDArray[np.int32]:
    """Return the number of the shard, from 0, of each clip: of a million clips 20 MB are held."""
    from codec_superb.data_manifests.dataset import header

    def microseconds(clip: str) -> int:
        try:
            stated = header(dataset, clip)
        except OSError:
            return 0
        return round(stated[1] * 1_000_000 / stated[0]) if stated else 0

    lengths = np.fromiter(map(microseconds, clips), np.int64, len(clips))
    known = np.sort(lengths[lengths > 0])
    lengths[lengths == 0] = known[(len(known) - 1) // 2] if len(known) else 1
    return _shares(lengths, count)


def _shares(lengths: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """Return the number of the shard of each clip, sorted by id, as :func:`divided` deals them out."""
    shares = np.zeros(len(lengths), np.int32)
    heap = [(0, 0, number) for number in range(count)]
    order = np.argsort(-lengths, kind="stable")
    for part in np.array_split(order, len(order) // _AT_ONCE + 1):
        for place, length in zip(part.tolist(), lengths[part].tolist(), strict=True):
            sound, clips, number = heap[0]
            heapq.heapreplace(heap, (sound + length, clips + 1, number))
            shares[place] = number
    return shares


def _lists(clips: Sequence[str], numbers: NDArray[np.int32], count: int) -> list[list[str]]:
    shards: list[list[str]] = [[] for _ in range(count)]
    for clip, number in zip(clips, numbers, strict=True):
        shards[number].append(clip)
    return shards
