"""The packets of a payload of bytes: cut apart, and without those that were lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed


def split_packets(payload: bytes | NDArray[np.integer[Any]], lengths: tuple[int, ...]) -> Iterator[bytes]:
    """Cut a payload into its packets of ``lengths`` bytes.

    Raises CodingFailed for tokens, and where the lengths do not add up to the payload.
    """
    if not isinstance(payload, bytes):
        raise CodingFailed(f"expected a payload of bytes, got {type(payload).__name__}")
    if not lengths or sum(lengths) != len(payload):
        raise CodingFailed(f"expected packets of {sum(lengths)} bytes together, got a payload of {len(payload)}")
    start = 0
    for length in lengths:
        yield payload[start : start + length]
        start += length


def arrived(
    payload: bytes | NDArray[np.integer[Any]], lengths: tuple[int, ...], lost: NDArray[np.bool_]
) -> list[bytes | None]:
    """Cut a payload into its packets, None for a lost one. Raises CodingFailed as :func:`split_packets`."""
    return [None if gone else piece for piece, gone in zip(split_packets(payload, lengths), lost, strict=True)]


def last_arrived(lost: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each place the index of the last one up to it that arrived; of the first that did before that.

    Not all may be lost.
    """
    places = np.where(lost, int(np.argmin(lost)), np.arange(lost.size))
    return np.maximum.accumulate(places)
