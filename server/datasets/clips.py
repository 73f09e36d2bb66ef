"""Storage format of a dataset's clips: what is known of each, as zlib-compressed JSON."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from codec_superb.pipeline.submission.facts.clips import KnownClip, dump_clips, load_clips


def pack_clips(clips: Mapping[str, KnownClip]) -> bytes:
    """Pack clip ids with their facts; the same bytes for the same clips."""
    return zlib.compress(dump_clips(clips), 9)


def unpack_clips(data: bytes) -> dict[str, KnownClip]:
    """Unpack what :func:`pack_clips` returned; of an earlier form, which had categories alone, no fact is known."""
    return load_clips(zlib.decompress(data))
