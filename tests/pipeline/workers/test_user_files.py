"""Files of the user on several machines: another version than where the command was called runs nothing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from support.pipeline.workers import squares

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.ray_slot import pickled, run_pickled
from codec_superb.pipeline.workers.user_files import user_files
from codec_superb.plugins import import_file


def sha256(file: Path) -> str:
    """Give the hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_another_file_on_the_machine_of_a_task_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hashes are named, of the given file and of a module beside it; a missing file is left to the import."""
    monkeypatch.syspath_prepend(str(tmp_path))
    given, beside = tmp_path / "given.py", tmp_path / "beside_the_given.py"
    given.write_text("import beside_the_given\n")
    beside.write_text("GAIN = 1\n")
    import_file(given)
    files = user_files()
    assert {name: files[name] for name in map(str, (given, beside))} == {
        str(file): sha256(file) for file in (given, beside)
    }
    task = pickled(squares, (3,), files)
    assert len(list(run_pickled(task))) == 1
    for file in (beside, given):
        kept, here = file.read_text(), sha256(file)
        file.write_text("raise SystemExit  # another version\n")
        words = f"{file} has SHA-256 {here}, on "
        with pytest.raises(PipelineError, match=f"{re.escape(words)}.* {sha256(file)}: copy it there"):
            list(run_pickled(task))
        file.write_text(kept)
    given.unlink()
    assert len(list(run_pickled(task))) == 1
