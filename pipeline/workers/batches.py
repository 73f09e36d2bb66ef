"""Clips into batches of like length, and the queue that batches wait in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, Self, TypeVar

T = TypeVar("T")


class Length(NamedTuple, Generic[T]):
    """A sound and how long it is; sounds of one length stand in the order of their places."""

    seconds: float
    place: T


def batches(sounds: Iterable[Length[T]], limit: float) -> Iterator[tuple[T, ...]]:
    """Yield batches of at most ``limit`` seconds, each sound counted as long as the longest; the longest come first.

    A sound that is longer than that is a batch of its own. Sounds of one length stand together, whatever order they
    came in.
    """
    batch: list[T] = []
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


def halves(batch: tuple[T, ...]) -> tuple[tuple[T, ...], ...]:
    """Cut a batch in two, so that the sound that is at fault is found; a single one stays as it is."""
    half = (len(batch) + 1) // 2
    return tuple(filter(None, (batch[:half], batch[half:])))


class BatchQueue(Generic[T]):
    """Tasks to hand out; what a dead worker left may be put back even when the queue was empty in between."""

    def __init__(self, tasks: Iterable[T]) -> None:
        self._tasks = iter(tasks)
        self._again: deque[T] = deque()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        if self._again:
            return self._again.popleft()
        return next(self._tasks)

    def put_back(self, tasks: Iterable[T]) -> None:
        """Hand these out next."""
        self._again.extend(tasks)
