"""Package files are fetched exactly, whatever happens on the way."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import pytest
from support.datasets.package_files import IndexServer, closed_port, only_this_index

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.home import packages_home
from codec_superb.data_manifests.manifest import PackageFile
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

_NAME = "birds-1.tar.gz"
_CONTENT = bytes(range(256)) * 4000
"""1 MB: several chunks of a download."""


@pytest.fixture
def file(index: IndexServer) -> PackageFile:
    """Serve one file."""
    return index.add("birds", "1", _NAME, _CONTENT)


def _ignore(_received: int) -> None:
    pass


def _fetch(file: PackageFile, received: Callable[[int], None] = _ignore) -> Path:
    return Fetcher(packages_home(), read_pip_settings()).fetch(file, received)


def test_a_file_is_fetched_once(index: IndexServer, file: PackageFile) -> None:
    """The content is that of the manifest; a second call asks nobody."""
    received: list[int] = []
    path = _fetch(file, received.append)
    assert path == packages_home() / _NAME
    assert path.read_bytes() == _CONTENT
    assert received == sorted(received)
    assert received[-1] == len(_CONTENT)
    asked = len(index.requests)
    assert _fetch(file) == path
    assert len(index.requests) == asked


def test_two_processes_of_a_machine_fetch_a_file_once(index: IndexServer, file: PackageFile) -> None:
    """One asks the index, the other waits, and both have the whole file."""
    call = (
        "import sys, pickle; sys.path[:], file = pickle.load(sys.stdin.buffer)\n"
        "from codec_superb.data_manifests.packages import fetch, pip_settings\n"
        "from codec_superb.data_manifests.home import packages_home\n"
        "fetcher = fetch.Fetcher(packages_home(), pip_settings.read_pip_settings()); print(flush=True); "
        "sys.stdin.buffer.read(); print(fetcher.fetch(file, lambda _: None))"
    )
    with ExitStack() as stack:
        both = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", call], stdin=PIPE, stdout=PIPE))
            for _ in range(2)
        ]
        links = [(one.stdin, one.stdout) for one in both if one.stdin is not None and one.stdout is not None]
        for order, answer in links:
            order.write(pickle.dumps((sys.path, file)))
            order.flush()
            answer.readline()  # it has imported
        for order, _ in links:
            order.close()
        for _, answer in links:
            assert Path(answer.read().decode().strip()).read_bytes() == _CONTENT
    assert len(index.downloads(_NAME)) == 1


def test_a_download_that_breaks_off_goes_on_where_it_stopped(index: IndexServer, file: PackageFile) -> None:
    """Twice broken, the file is whole after three requests, none of which began at zero again."""
    index.break_after[_NAME] = [300_000, 300_000]
    assert _fetch(file).read_bytes() == _CONTENT
    starts = index.downloads(_NAME)
    assert starts[0] is None
    assert len(starts) == 3
    assert all(start is not None and start != "bytes=0-" for start in starts[1:])


def test_an_end_is_no_whole_file_where_no_length_is_stated(index: IndexServer, file: PackageFile) -> None:
    """The connection's end is then that of the answer; the size that is known tells more."""
    index.lengths = False
    index.break_after[_NAME] = [300_000]
    assert _fetch(file).read_bytes() == _CONTENT
    assert index.downloads(_NAME) == [None, "bytes=300000-"]


def test_a_server_without_ranges_sends_it_again(index: IndexServer, file: PackageFile) -> None:
    """What such a server sends is not appended to what is there."""
    index.ranges = False
    index.break_after[_NAME] = [300_000]
    assert _fetch(file).read_bytes() == _CONTENT


def test_a_part_that_an_earlier_process_left_is_used(index: IndexServer, file: PackageFile) -> None:
    """A process that was killed has not worked for nothing."""
    packages_home().mkdir(parents=True)
    (packages_home() / f"{_NAME}.part").write_bytes(_CONTENT[:700_000])
    assert _fetch(file).read_bytes() == _CONTENT
    assert index.downloads(_NAME) == ["bytes=700000-"]


@pytest.mark.parametrize("size", [700_000, len(_CONTENT), len(_CONTENT) + 10], ids=["short", "whole", "too long"])
def test_a_part_that_is_corrupt_is_thrown_away(index: IndexServer, file: PackageFile, size: int) -> None:
    """The SHA-256 tells, and the file is fetched from the beginning."""
    packages_home().mkdir(parents=True)
    (packages_home() / f"{_NAME}.part").write_bytes(bytes(size))
    assert _fetch(file).read_bytes() == _CONTENT
    assert index.downloads(_NAME)[-1] is None
    assert not (packages_home() / f"{_NAME}.part").exists()


def test_a_file_that_is_corrupt_is_fetched_again(index: IndexServer, file: PackageFile) -> None:
    """One flipped bit in a file of the right size does not pass."""
    path = _fetch(file)
    path.write_bytes(b"\xff" + _CONTENT[1:])
    assert _fetch(file).read_bytes() == _CONTENT
    assert len(index.downloads(_NAME)) == 2


def test_another_file_of_the_same_name_is_refused(index: IndexServer, file: PackageFile) -> None:
    """The manifest's hash counts, not the index's word; nothing wrong is left behind."""
    index.files[_NAME] = ("birds", bytes(len(_CONTENT)))
    with pytest.raises(FetchError, match=rf"serves it with SHA-256 [0-9a-f]{{64}}, expected {file.sha256}"):
        _fetch(file)
    assert not [path for path in packages_home().iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize(
    ("project", "filename", "complaint"),
    [("bees", "bees-1.tar.gz", "does not have it"), ("birds", "birds-2.tar.gz", "has birds, but not this file")],
)
def test_a_file_that_the_index_does_not_have_is_told(
    index: IndexServer, file: PackageFile, project: str, filename: str, complaint: str
) -> None:
    """A missing project and a missing file are told apart."""
    with pytest.raises(FetchError, match=complaint):
        _fetch(file.model_copy(update={"project": project, "filename": filename}))


def test_a_download_that_never_gets_on_is_given_up(index: IndexServer, file: PackageFile) -> None:
    """A server that breaks off at once again and again is not asked for ever."""
    index.break_after[_NAME] = [0] * 20
    with pytest.raises(FetchError, match="the connection broke off"):
        _fetch(file)
    assert len(index.downloads(_NAME)) <= 2


def test_a_file_put_by_hand_needs_no_network(
    index: IndexServer, file: PackageFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The folder of package files and pip's find-links folders are looked into first."""
    only_this_index(monkeypatch, tmp_path, f"http://127.0.0.1:{closed_port()}/simple/")
    packages_home().mkdir(parents=True)
    (packages_home() / _NAME).write_bytes(_CONTENT)
    assert _fetch(file) == packages_home() / _NAME
    (packages_home() / _NAME).rename(tmp_path / _NAME)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert _fetch(file) == tmp_path / _NAME


def test_a_wrong_file_put_by_hand_is_told_when_there_is_no_other(
    file: PackageFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The person who put it there learns that it is not the right one."""
    only_this_index(monkeypatch, tmp_path, f"http://127.0.0.1:{closed_port()}/simple/")
    packages_home().mkdir(parents=True)
    (packages_home() / _NAME).write_bytes(b"something else")
    with pytest.raises(FetchError, match="the existing file has another SHA-256"):
        _fetch(file)


def test_the_next_index_is_asked_when_one_fails(
    index: IndexServer, file: PackageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with pip, several indexes may be configured, and one that is down is no end."""
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed_port()}/simple/")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
    assert file_sha256(_fetch(file)) == file.sha256


def test_an_index_in_a_folder_is_read(file: PackageFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A ``file:`` index is a tree of pages with links to files beside them."""
    project = tmp_path / "mirror" / "birds"
    project.mkdir(parents=True)
    (project / "index.html").write_text(f'<a href="{_NAME}#sha256={file.sha256}">{_NAME}</a>')
    (project / _NAME).write_bytes(_CONTENT)
    only_this_index(monkeypatch, tmp_path, (tmp_path / "mirror").as_uri())
    assert _fetch(file).read_bytes() == _CONTENT


def test_a_password_in_the_address_is_used_and_not_shown(
    index: IndexServer, file: PackageFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that needs one is served; no message repeats it."""
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("127.0.0.1", "me:secret@127.0.0.1"))
    assert _fetch(file).read_bytes() == _CONTENT
    with pytest.raises(FetchError) as caught:
        _fetch(file.model_copy(update={"filename": "birds-2.tar.gz"}))
    assert "secret" not in str(caught.value)


def test_a_full_disk_is_told(index: IndexServer, file: PackageFile) -> None:
    """A folder that cannot be written is named with the system's reason."""
    packages_home().mkdir(parents=True)
    (packages_home() / f"{_NAME}.part").symlink_to("/dev/full")
    with pytest.raises(FetchError, match=rf"cannot write .*{_NAME}: No space left on device"):
        _fetch(file)


def test_a_download_can_be_stopped(index: IndexServer, file: PackageFile) -> None:
    """Ctrl-C in the main thread sets the event; the thread ends within a chunk."""
    fetcher = Fetcher(packages_home(), read_pip_settings())
    with pytest.raises(FetchError, match="stopped"):
        fetcher.fetch(file, lambda _received: fetcher.stop.set())
