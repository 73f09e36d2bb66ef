"""A full disk ends a stage with a clear error; what was finished is kept, and the run goes on once there is room."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.drive import command, main
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, speech_folder
from support.timing import PATIENCE_S

from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.tables.rows import ResynthesisRow

PLAIN = f"{HERE}:Plain"
Runner = Callable[..., subprocess.CompletedProcess[str]]


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command with this process's import path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(list(words), capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)


@pytest.fixture
def order(tmp_path: Path) -> dict[str, Any]:
    """Give the order to resynthesise twelve clips, of which the later ones are longer."""
    clips = speech_folder(tmp_path / "clips", 10)
    speech_folder(tmp_path / "clips" / "long", 2, seconds=3)
    asked = {"stage": "resynth", "codecs": [PLAIN], "datasets": [str(clips)], "out": str(tmp_path / "runs")}
    return asked | {"workers": 1}


def _finished(run: Path) -> set[str]:
    """Give the clips in the journal that have a resynthesis."""
    with Journal(run / "journal" / "resynth.jsonl", ResynthesisRow) as journal:
        names = [f"clip{number:02}.wav" for number in range(10)] + ["long/clip00.wav", "long/clip01.wav"]
        return {name for name in names if (row := journal.last(name)) is not None and row.status == "ok"}


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_file_that_may_not_grow_ends_the_run_and_keeps_what_is_finished(
    tmp_path: Path, order: dict[str, Any]
) -> None:
    """Under a limit of file size the long clips do not fit: the error says so, the short clips are not done again."""
    refused = _run(command(**order, file_limit=40_000))
    run = tmp_path / "runs" / "plain" / "clips"
    assert refused.returncode == 1
    assert refused.stderr.startswith("no space to write ")
    assert "free space and run it again" in refused.stderr
    finished = _finished(run)
    assert len(finished) >= 9
    assert not list(run.rglob(".part-*"))
    resumed = _run(command(**order))
    assert resumed.returncode == 0, resumed.stderr
    assert f"started plain on clips 12 {len(finished)}" in resumed.stdout
    assert main(order | {"out": str(tmp_path / "other")}) == 0
    assert contents(run) == contents(tmp_path / "other" / "plain" / "clips")


TINY_DISK = r"""
set -e
mount -t tmpfs -o size=$3 tmpfs "$1"
"$4" "$5" "$6" && exit 90
[ $? = 1 ] || exit 91
find "$1" -name '.part-*' | grep -q . && exit 92
mount -o remount,size=20m "$1"
"$4" "$5" "$6"
cp -r "$1"/. "$2"
"""
"""Run a stage on a tiny disk, in a mount namespace of its own; then give it room, run it again and copy it out."""


def _on_a_tiny_disk(place: Path, kept: Path, size: str, order: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Fill a tmpfs of ``size``; where nobody may mount one, a limit of file size stands in for it."""
    for folder in (place, kept):
        folder.mkdir(exist_ok=True)
    namespace = ["unshare", "--map-root-user", "--mount"]
    if _run([*namespace, "mount", "-t", "tmpfs", "tmpfs", str(place)]).returncode == 0:
        return _run([*namespace, "sh", "-c", TINY_DISK, "sh", str(place), str(kept), size, *command(**order)])
    first = _run(command(**order, file_limit=3000))
    assert first.returncode == 1
    second = _run(command(**(order | {"out": str(kept)})))
    return subprocess.CompletedProcess(second.args, second.returncode, second.stdout, first.stderr + second.stderr)


@pytest.mark.sample(2, among="what is killed or has no room")
@pytest.mark.sample(1)
@pytest.mark.parametrize("size", ["32k", "100k"])
def test_resynth_on_a_tiny_disk_goes_on_when_there_is_room(tmp_path: Path, order: dict[str, Any], size: str) -> None:
    """Whatever does not fit, audio, journal or table: a clear error, no half file, then the undisturbed rows."""
    place, kept = tmp_path / "disk", tmp_path / "kept"
    done = _on_a_tiny_disk(place, kept, size, order | {"out": str(place)})
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no space to write ") == 1
    assert "Traceback" not in done.stderr
    assert main(order) == 0
    assert contents(kept / "plain" / "clips") == contents(tmp_path / "runs" / "plain" / "clips")
