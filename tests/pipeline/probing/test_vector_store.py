"""Files of vectors when the machine refuses: told with its cause, and nothing finished is lost."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import numpy as np
import pytest
from support.limits import limit

from codec_superb.pipeline.probing.vector_store import CollectionVectors


def test_a_full_disk_is_an_error_with_its_number_and_loses_no_block(tmp_path: Path) -> None:
    """Neither a signal, as storing into a map would be, nor numpy's count of what it wrote, which names no cause."""
    stored = CollectionVectors(tmp_path, "ab" * 32, "document")
    parts = np.random.default_rng(0).normal(size=(3, 40, 384)).astype(np.float32)
    with limit(resource.RLIMIT_FSIZE, 10_000), pytest.raises(OSError, match=r".") as caught:
        stored.put(0, parts[0])
    assert caught.value.errno == errno.EFBIG
    assert not stored.has(0)
    for number, part in enumerate(parts):
        stored.put(number, part)
    with limit(resource.RLIMIT_FSIZE, parts[0].nbytes * 2), pytest.raises(OSError, match=r".") as caught:
        stored.join(120, 3)
    assert caught.value.errno == errno.EFBIG
    assert all(stored.has(number) for number in range(3))
    np.testing.assert_array_equal(stored.join(120, 3), parts.reshape(120, 384))
    assert not stored.has(0)


def test_what_cannot_be_opened_is_not_taken_for_damaged(tmp_path: Path) -> None:
    """Too many open files, as any error of the machine, are told and cost no vector; a damaged file is made again."""
    stored = CollectionVectors(tmp_path, "cd" * 32, "query")
    stored.put(0, np.ones((2, 3), np.float32))
    whole = np.array(stored.join(2, 1))
    with limit(resource.RLIMIT_NOFILE, 0), pytest.raises(OSError, match="Too many open files"):
        stored.whole()
    np.testing.assert_array_equal(stored.whole(), whole)
    place = tmp_path / f"{'cd' * 8}-query.npy"
    place.write_bytes(b"\x93NUMPY\x01\x00torn")
    assert stored.whole() is None
    assert not place.exists()
