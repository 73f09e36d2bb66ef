"""Plan the batches of a codec from the headers of the clips' files, before any is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codec_superb.data_manifests import Clip
from codec_superb.pipeline.workers.batches import Length, batches

SECONDS_ON_CUDA = 60.0
"""Default batch size on CUDA in seconds of sound; on a CPU clips are coded one by one, measured in ``perf/``."""


def plan_batches(clips: Iterable[Clip], seconds: float) -> Iterator[tuple[str, ...]]:
    """Yield the clip ids of each batch: of one sampling rate and similar length, the longest first.

    A batch holds at most ``seconds`` of sound, each clip counted with the length of the longest, but at least one clip.
    Clips without a length in their header come last, each in a batch of its own. The order of ``clips`` does not
    matter.
    """
    by_rate: dict[int, list[Length[str]]] = {}
    unknown = []
    for clip in clips:
        if header := _header(clip):
            rate, samples = header
            by_rate.setdefault(rate, []).append(Length(samples / rate, clip.id))
        else:
            unknown.append(clip.id)
    # one rate a batch: resampling to the codec's rate has one ratio
    for _, sounds in sorted(by_rate.items()):
        yield from batches(sounds, seconds)
    # alone, so that a file without a readable header fails by itself
    yield from ((clip,) for clip in sorted(unknown))


def _header(clip: Clip) -> tuple[int, int] | None:
    """Return rate and samples; None for a file that cannot be read, which is reported in its row later."""
    try:
        return clip.header()
    except OSError:
        return None
