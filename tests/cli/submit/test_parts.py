"""``codec-superb submit`` of a submission whose rows lie in parts."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.server.ingest import in_parts

from codec_superb.cli.main import call

DIES = """
import os, signal, sys
from codec_superb.cli import uploading
from codec_superb.cli.main import call
put, sent = uploading._Line.put, []
def dies(line, path, file):
    sent.append(path)
    if len(sent) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return put(line, path, file)
uploading._Line.put = dies
call(["submit", sys.argv[1], "--server", sys.argv[2]])
"""
"""A client that is killed before its third part."""


@pytest.mark.slow
def test_a_killed_client_goes_on_where_it_stopped(
    leaderboard: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """What the server has of it is not sent again; then it is one submission, as a file is."""
    server, token = leaderboard
    monkeypatch.setenv("CODEC_SUPERB_TOKEN", token)
    _, parts = in_parts(tmp_path / "run", "parts_16k", rows=3)
    file = tmp_path / "run" / "parts_16k.zip"
    killed = subprocess.run([sys.executable, "-c", DIES, str(file), server], check=False)
    assert killed.returncode == -signal.SIGKILL
    capfd.readouterr()
    assert call(["submit", str(file), "--server", server]) == 0
    told = capfd.readouterr()
    assert f"2 of {len(parts)} parts were sent before" in told.err
    assert [part.name for part in parts.values() if f"{part.name}: sent" in told.err] == [
        f"parts_16k.part-000{number}-of-0004.zip" for number in (3, 4)
    ]
    assert "parts_16k version 1, self-reported" in told.out
    assert call(["submit", str(file), "--server", server]) == 0
    assert "sent before: http" in capfd.readouterr().out
    next(iter(parts.values())).unlink()
    assert call(["submit", str(file), "--server", server]) == 3
    assert "part 1 of 4: expected parts_16k.part-0001-of-0004.zip beside parts_16k.zip, found none" in (
        capfd.readouterr().out
    )
