"""Which clips a codec gets together: planned from the headers of their files, before any is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codec_superb.data_manifests import Clip
from codec_superb.data_manifests.audio.audio_file import read_header
from codec_superb.pipeline.workers.batches import Length, batches

SECONDS_ON_CUDA = 60.0
"""Seconds of sound in a batch where nobody says another number; on a CPU clips go one by one, see ``perf/``."""


def plan_batches(clips: Iterable[Clip], seconds: float) -> Iterator[tuple[str, ...]]:
    """Yield the ids of the clips, those that go together in one tuple: one rate, like length, the longest first.

    A batch holds at most ``seconds`` of sound, each clip counted as long as the longest of it, but at least one clip. A
    clip whose length only decoding tells goes by itself, last. The order of ``clips`` does not matter.
    """
    by_rate: dict[int, list[Length[str]]] = {}
    unknown = []
    for clip in clips:
        if header := _header(clip):
            rate, samples = header
            by_rate.setdefault(rate, []).append(Length(samples / rate, clip.id))
        else:
            unknown.append(clip.id)
    for _, sounds in sorted(by_rate.items()):
        yield from batches(sounds, seconds)
    yield from ((clip,) for clip in sorted(unknown))


def _header(clip: Clip) -> tuple[int, int] | None:
    """Return rate and samples; None for a file that cannot be read, which its own row will say."""
    try:
        return read_header(clip.path)
    except OSError:
        return None
