"""Files are replaced whole or not at all, and what a killed process left is found again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codec_superb.data_manifests.files import PARTIAL, remove_partial, replacing, write_atomically
from codec_superb.pipeline.output_file import write_output


def _break_off(target: Path, *, sync: bool) -> None:
    with replacing(target, sync=sync) as temporary:
        temporary.write_bytes(b"half")
        raise ZeroDivisionError


@pytest.mark.parametrize("sync", [True, False])
def test_a_replacement_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, sync: bool) -> None:
    """An error half way keeps what was there."""
    target = tmp_path / "a.json"
    write_atomically(target, b"old", sync=sync)
    with pytest.raises(ZeroDivisionError):
        _break_off(target, sync=sync)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert target.read_bytes() == b"old"


def test_a_pipe_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    """As ``-o /dev/null`` by root, which made a file of the device; what can only be renamed into place is refused."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output(pipe, b"page")
    assert os.read(reader, 10) == b"page"
    os.close(reader)
    with pytest.raises(OSError, match="no regular file"), replacing(pipe):
        pass
    assert pipe.is_fifo()


def test_a_new_file_has_the_rights_that_the_user_gives_new_files(tmp_path: Path) -> None:
    """A shared folder stays shared: the file is as readable as one that was simply written."""
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_temporary_name_keeps_the_suffix_and_is_never_shared(tmp_path: Path) -> None:
    """Writers choose a format by the suffix, and two of them at once do not meet."""
    with replacing(tmp_path / "a.flac") as one, replacing(tmp_path / "a.flac") as two:
        assert one.suffix == two.suffix == ".flac"
        assert one != two
        for path in (one, two):
            path.write_bytes(os.fsencode(path.name))
    assert [path.name for path in tmp_path.iterdir()] == ["a.flac"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """Half-written files go, finished ones stay."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / f"{PARTIAL}1234-99").write_bytes(b"half")
    (tmp_path / "deep" / "a.flac").write_bytes(b"whole")
    remove_partial(tmp_path)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.flac"]
