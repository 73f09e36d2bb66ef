"""Group clips of similar length into batches, and the queue of batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, Self, TypeVar

T = TypeVar("T")


class Length(NamedTuple, Generic[T]):
    """A sound and its length; sounds of equal length are ordered by their places."""

    seconds: float
    place: T


def batches(sounds: Iterable[Length[T]], limit: float) -> Iterator[tuple[T, ...]]:
    """Yield batches of at most ``limit`` seconds, each sound counted with the length of the longest; longest first.

    A sound that is longer than ``limit`` forms its own batch. The result does not depend on the order of ``sounds``.
    """
    batch: list[T] = []
    longest = 0.0
    # longest first: what does not fit into memory shows at once, and the last batches are short
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
    """Split a batch in two, to find the sound that is at fault; a single one is returned unchanged."""
    half = (len(batch) + 1) // 2
    return tuple(filter(None, (batch[:half], batch[half:])))


class BatchQueue(Generic[T]):
    """An iterator of tasks; tasks of a dead worker can be requeued even after it was exhausted."""

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
        """Requeue tasks; they are returned next."""
        self._again.extend(tasks)
