"""Sounds into batches of like length, and the queue that batches wait in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

from codec_superb.pipeline.probe_clip import Place, PredictTask


class Length(NamedTuple):
    """A sound and how long it is."""

    seconds: float
    place: Place


def batches(sounds: Iterable[Length], limit: float) -> Iterator[tuple[Place, ...]]:
    """Yield batches of at most ``limit`` seconds, each sound counted as long as the longest; the longest come first.

    A sound that is longer than that is a batch of its own. Sounds of one clip stand together.
    """
    batch: list[Place] = []
    longest = 0.0
    for seconds, place in sorted(sounds, key=lambda sound: (-sound.seconds, sound.place)):
        if batch and (len(batch) + 1) * longest > limit:
            yield tuple(batch)
            batch = []
        if not batch:
            longest = seconds
        batch.append(place)
    if batch:
        yield tuple(batch)


class BatchQueue:
    """Tasks to hand out; what a dead worker left may be put back even when the queue was empty in between."""

    def __init__(self, tasks: Iterable[PredictTask]) -> None:
        self._tasks = iter(tasks)
        self._again: deque[PredictTask] = deque()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> PredictTask:
        if self._again:
            return self._again.popleft()
        return next(self._tasks)

    def put_back(self, task: PredictTask) -> None:
        """Put back what is left of a batch, in two halves, so that the clip that kills a worker is found."""
        half = (len(task.places) + 1) // 2
        for places in (task.places[:half], task.places[half:]):
            if places:
                self._again.append(task._replace(places=places))
