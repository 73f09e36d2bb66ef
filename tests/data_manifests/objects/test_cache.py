"""The cache of what was read from stores: bounded, shared by processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.profile import amount

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.objects.cache import ObjectCache, bound_of

_FILL = """
import sys
from pathlib import Path
from codec_superb.data_manifests.objects.cache import ObjectCache
cache = ObjectCache(Path(sys.argv[1]), 50_000)
for number in range(60):
    key = str((number * 7 + int(sys.argv[2])) % 100)
    file = cache.open(key)
    if file is not None and file.read() != key.encode() * 1000:
        sys.exit(f"{key} is another's")
    with cache.alone(key):
        cache.put(key, key.encode() * 1000)
"""


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    """The bound holds, what was used stays, what is open is read to its end, and what is larger is not kept."""
    cache = ObjectCache(tmp_path, 10_000)
    for number in range(9):
        cache.put(str(number), bytes([number]) * 1000)
        os.utime(cache._path(str(number)), (number, number))
    assert _read(cache, "0") == b"\x00" * 1000
    second = cache.open("1")
    assert second is not None
    os.utime(cache._path("1"), (1, 1))
    with second:
        cache.put("new", b"n" * 1500)
        assert cache.size() <= 10_000
        assert _read(cache, "0") is not None
        assert _read(cache, "1") is None
        assert second.read() == b"\x01" * 1000
    cache.put("large", b"l" * 10_001)
    assert _read(cache, "large") is None


def _read(cache: ObjectCache, key: str) -> bytes | None:
    file = cache.open(key)
    if file is None:
        return None
    with file:
        return file.read()


def test_processes_share_it(tmp_path: Path) -> None:
    """Processes that fill one cache at once keep to the bound, and none ever reads another's bytes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _FILL, str(tmp_path)]
    running = [subprocess.Popen([*command, str(number)], env=environment) for number in range(amount(2, 6))]
    assert {process.wait() for process in running} == {0}
    cache = ObjectCache(tmp_path, 50_000)
    assert 0 < cache.size() <= 50_000
    assert not list(tmp_path.rglob(".part-*"))


def test_a_damaged_count_is_counted_again(tmp_path: Path) -> None:
    """A count that was lost or damaged costs a look at the folder, and not the bound."""
    cache = ObjectCache(tmp_path, 5000)
    for number in range(8):
        cache.put(str(number), b"x" * 1000)
        (tmp_path / "bytes").write_bytes(b"" if number % 2 else b"?")
    assert cache.size() <= 5000


@pytest.mark.parametrize(
    ("text", "size"), [("", 20 * 10**9), ("500MB", 500 * 10**6), ("1.5 GB", 1_500_000_000), ("7", 7), ("2k", 2000)]
)
def test_a_bound_is_a_size(text: str, size: int) -> None:
    """A bound is written as sizes are."""
    assert bound_of(text) == size


def test_a_wrong_bound_says_what_was_expected() -> None:
    """What is no size is refused with an example."""
    with pytest.raises(DatasetError, match="such as 500MB"):
        bound_of("a lot")
