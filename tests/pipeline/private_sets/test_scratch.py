"""The folder of a private run: for one user, and gone afterwards, whatever happens."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from codec_superb.pipeline.private_sets.scratch import remove_leftovers, scratch_folder

WAITS = """
import sys, pathlib
from codec_superb.pipeline.private_sets.scratch import scratch_folder
with scratch_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "sound.flac").write_bytes(b"secret")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_is_private_and_removed(tmp_path: Path) -> None:
    """Mode 0700, temporary files inside; after an error nothing is left."""
    outside = tempfile.gettempdir()

    def fail_inside() -> None:
        with scratch_folder(tmp_path / "private") as folder:
            look(folder)
            raise RuntimeError

    def look(folder: Path) -> None:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        with tempfile.NamedTemporaryFile() as file:
            assert Path(file.name).is_relative_to(folder)

    with pytest.raises(RuntimeError):
        fail_inside()
    assert list((tmp_path / "private").glob("run-*")) == []
    assert tempfile.gettempdir() == outside


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """While it lives its folder stays; after SIGKILL it goes."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert remove_leftovers(tmp_path) == 0
        assert (folder / "sound.flac").exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
    with scratch_folder(tmp_path) as own:
        assert not folder.exists()
        assert remove_leftovers(tmp_path) == 0
        assert own.exists()
    assert remove_leftovers(tmp_path / "never made") == 0
