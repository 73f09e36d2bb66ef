"""Files of publishers: known by an MD5, or by no hash, and then resumed only while the server calls them the same."""

from __future__ import annotations

import hashlib
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets.package_files import IndexServer

from codec_superb.data_manifests.errors import FetchError, WriteError
from codec_superb.data_manifests.packages.fetch_all import fetch_all
from codec_superb.data_manifests.packages.index_client import WebFile

_NAME = "birds.zip"
_CONTENT = bytes(range(256)) * 4000
_OTHER = bytes(reversed(_CONTENT))
"""Another state of the file, of the same length."""


@pytest.fixture
def file(index: IndexServer) -> WebFile:
    """Serve a file of which nothing is known but its address."""
    index.files[_NAME] = ("", _CONTENT)
    return WebFile(index.url.replace("/simple/", "/files"), _NAME)


def _fetch(file: WebFile, folder: Path) -> bytes:
    return fetch_all({"": file}, folder, lambda _update: None)[""].read_bytes()


def _broken_off(index: IndexServer, file: WebFile, folder: Path, **validators: str) -> None:
    """Leave a part of the file."""
    index.validators[_NAME] = validators
    index.break_after[_NAME] = [400_000, 0]
    with pytest.raises(FetchError, match="broke off"):
        _fetch(file, folder)
    assert (folder / f"{_NAME}.part").stat().st_size


@pytest.mark.parametrize(
    ("header", "value", "resumed"),
    [
        ("ETag", '"one"', True),
        ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT", True),
        ("ETag", 'W/"one"', False),
        ("Server", "none", False),
    ],
)
def test_without_a_hash_it_is_resumed_where_the_server_names_its_state(
    index: IndexServer, file: WebFile, tmp_path: Path, header: str, value: str, resumed: bool
) -> None:
    """A strong validator, or the time of the last change; otherwise it comes from the beginning."""
    index.validators[_NAME] = {header: value}
    index.break_after[_NAME] = [400_000]
    assert _fetch(file, tmp_path) == _CONTENT
    assert [start is not None for start in index.downloads(_NAME)] == [False, resumed]
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == [_NAME]


def test_a_file_that_changed_between_two_attempts_comes_anew(index: IndexServer, file: WebFile, tmp_path: Path) -> None:
    """Halves of two states are never joined, though their lengths fit."""
    _broken_off(index, file, tmp_path, ETag='"one"')
    index.files[_NAME], index.validators[_NAME] = ("", _OTHER), {"ETag": '"two"'}
    assert _fetch(file, tmp_path) == _OTHER


def test_a_file_that_is_shorter_now_comes_anew(index: IndexServer, file: WebFile, tmp_path: Path) -> None:
    """The server has nothing from where the part ends (416)."""
    _broken_off(index, file, tmp_path, ETag='"one"')
    index.files[_NAME] = ("", _CONTENT[:1000])
    assert _fetch(file, tmp_path) == _CONTENT[:1000]


def test_an_md5_is_held_to(index: IndexServer, file: WebFile, tmp_path: Path) -> None:
    """Also for a file that was put there by hand."""
    known = replace(file, md5=hashlib.md5(_CONTENT).hexdigest())
    (tmp_path / _NAME).write_bytes(_OTHER)
    assert _fetch(known, tmp_path) == _CONTENT
    with pytest.raises(FetchError, match=r"another MD5; .* serves it with MD5 \w{32}, expected 0{32}; put it by hand"):
        _fetch(replace(file, md5="0" * 32), tmp_path)


def test_another_size_is_refused_before_it_comes(index: IndexServer, file: WebFile, tmp_path: Path) -> None:
    """Of fifteen gigabytes of a wrong file not one arrives."""
    with pytest.raises(FetchError, match=rf"serves {len(_CONTENT)} bytes, expected 7"):
        _fetch(replace(file, size=7), tmp_path)
    assert not (tmp_path / f"{_NAME}.part").exists()


def test_a_full_disk_asks_for_room_and_not_for_a_file(index: IndexServer, file: WebFile, tmp_path: Path) -> None:
    """What came is kept: with room again, the rest alone is fetched."""
    index.validators[_NAME] = {"ETag": '"one"'}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    try:
        with pytest.raises(WriteError, match=rf"cannot write {tmp_path / _NAME}: File too large; make room") as caught:
            _fetch(file, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "by hand" not in str(caught.value)
    assert _fetch(file, tmp_path) == _CONTENT
    assert index.downloads(_NAME)[-1] is not None
