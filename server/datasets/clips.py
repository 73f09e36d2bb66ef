"""Storage format of a dataset's clips: zlib-compressed JSON, clip id to category."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

from codec_superb.metrics.table import Category


def pack_clips(categories: Mapping[str, Category]) -> bytes:
    """Pack clip ids with their categories; the same bytes for the same clips."""
    return zlib.compress(json.dumps(dict(sorted(categories.items())), ensure_ascii=False).encode(), 9)


def unpack_clips(data: bytes) -> dict[str, Category]:
    """Unpack what :func:`pack_clips` returned."""
    found: dict[str, Category] = json.loads(zlib.decompress(data))
    return found
