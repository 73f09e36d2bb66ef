"""A pinned file with several addresses comes from the first that gives it as pinned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support.datasets.package_files import IndexServer, closed_port, deb

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.manifest import PinnedFile
from codec_superb.data_manifests.packages.fetch_all import fetch_tree

_CONTENT = deb({"usr/share/a": bytes(range(256)) * 3000}, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a dataset; those beside it, whose files are taken over, are nobody else's."""
    return tmp_path / "datasets" / "a" / "files"


def _pinned(*urls: str) -> PinnedFile:
    sha256 = hashlib.sha256(_CONTENT).hexdigest()
    return PinnedFile(url=urls[0], mirrors=urls[1:], sha256=sha256, size=len(_CONTENT), path="p_1_all.deb")


def _served(index: IndexServer, name: str, content: bytes = _CONTENT) -> str:
    index.files[name] = ("p", content)
    return index.url.replace("/simple/", f"/files/{name}")


def test_the_next_address_is_asked_where_one_fails(index: IndexServer, folder: Path) -> None:
    """No server, no such file, another file of the same length: the third address has it, under another name."""
    wrong = _served(index, "wrong.deb", bytes(len(_CONTENT)))
    right = _served(index, "86ff15e8")
    gone = f"http://127.0.0.1:{closed_port()}/p.deb"
    fetch_tree([_pinned(gone, wrong, right)], folder, lambda _update: None)
    assert (folder / "p_1_all.deb").read_bytes() == _CONTENT
    assert index.downloads("wrong.deb") == [None, None]


def test_what_one_address_sent_before_it_broke_off_is_kept(index: IndexServer, folder: Path) -> None:
    """The second address is asked for the rest only."""
    first, second = _served(index, "first.deb"), _served(index, "second.deb")
    # the first answer breaks off, and every try to resume it brings nothing
    index.break_after["first.deb"] = [500_000, 0]
    fetch_tree([_pinned(first, second)], folder, lambda _update: None)
    assert (folder / "p_1_all.deb").read_bytes() == _CONTENT
    start = index.downloads("second.deb")[0]
    assert start is not None
    assert start != "bytes=0-"


def test_every_reason_is_told(index: IndexServer, folder: Path) -> None:
    """What each address answered, and where to put the file by hand."""
    wrong = _served(index, "wrong.deb", b"x")
    absent = wrong.replace("wrong", "absent")
    with pytest.raises(FetchError, match=r"cannot fetch p_1_all\.deb.*404.*put it by hand into"):
        fetch_tree([_pinned(absent, wrong)], folder, lambda _update: None)
    assert not (folder / "p_1_all.deb").exists()
