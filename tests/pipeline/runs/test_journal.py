"""Journals: what was written whole counts, what was torn does not, memory holds offsets only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.journal import Journal, read_journal, read_new
from codec_superb.pipeline.tables.rows import ScoreLine


def test_lines_survive_reopening(tmp_path: Path) -> None:
    """All lines of a clip come back in order, the last one as the last."""
    with Journal(tmp_path / "new" / "j.jsonl", dict) as journal:
        for number in range(3):
            journal.append({"clip": "a/é\n", "number": number})
        journal.append({"clip": "b", "number": 9})
    with Journal(tmp_path / "new" / "j.jsonl", dict) as journal:
        assert [entry["number"] for entry in journal.entries("a/é\n")] == [0, 1, 2]
        assert journal.last("a/é\n") == {"clip": "a/é\n", "number": 2}
        assert "b" in journal
        assert journal.last("c") is None


def test_every_torn_end_is_cut_off_and_written_over(tmp_path: Path) -> None:
    """Wherever the last line was torn, the lines before it stay and a new one can follow."""
    whole = tmp_path / "whole.jsonl"
    with Journal(whole, dict) as journal:
        journal.append({"clip": "a", "text": "first"})
        keep = whole.stat().st_size
        journal.append({"clip": "b", "text": "second"})
    content = whole.read_bytes()
    for cut in range(keep, len(content)):
        torn = tmp_path / f"{cut}.jsonl"
        torn.write_bytes(content[:cut])
        with Journal(torn, dict) as journal:
            assert "b" not in journal
            journal.append({"clip": "c", "text": "third"})
        lines = [json.loads(line)["clip"] for line in torn.read_text().splitlines()]
        assert lines == ["a", "c"]


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path: Path) -> None:
    """The search for the last newline goes back as far as it must."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"clip": "a"}\n' + b"x" * 20_000)
    with Journal(path, dict) as journal:
        assert journal.last("a") == {"clip": "a"}
    assert path.read_bytes() == b'{"clip": "a"}\n'


def test_a_line_of_another_kind_is_named(tmp_path: Path) -> None:
    """A line that is whole, and not what this version writes, says where it differs and what to do."""
    path = tmp_path / "j.jsonl"
    path.write_text('{"clip": "a", "sha256": null, "metrics": {"mel": {"status": "ok", "value": 1}}}\n')
    with Journal(path, ScoreLine) as journal, pytest.raises(RunFolderError, match=r"'a'.*mel\.version.*--overwrite"):
        journal.last("a")


@pytest.mark.parametrize("damage", [b"\0" * 40 + b"\n", b'{"clip": \n', b"[1]\n", b'{"clip": 3}\n', b"\xff\n"])
def test_the_journal_ends_before_the_first_damaged_line(tmp_path: Path, damage: bytes) -> None:
    """What a power loss garbled, and what follows it, is cut off; new lines follow what is whole."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"clip": "a"}\n' + damage + b'{"clip": "b"}\n')
    with Journal(path, dict) as journal:
        assert "a" in journal
        assert "b" not in journal
        journal.append({"clip": "c"})
        assert journal.last("c") == {"clip": "c"}
    assert path.read_bytes() == b'{"clip": "a"}\n{"clip": "c"}\n'


def test_a_line_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    """A row with many metrics and reasons is longer than one read."""
    with Journal(tmp_path / "j.jsonl", dict) as journal:
        journal.append({"clip": "a", "text": "y" * 10_000})
        assert journal.last("a") == {"clip": "a", "text": "y" * 10_000}


def test_a_line_that_does_not_fit_leaves_no_part_behind(tmp_path: Path) -> None:
    """A file that may not grow refuses a line with an error, and holds whole lines only."""
    path = tmp_path / "j.jsonl"
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from codec_superb.pipeline.runs.journal import Journal\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "journal = Journal(Path(sys.argv[1]), dict)\n"
        "try:\n"
        "    for n in range(100): journal.append({'clip': str(n), 'text': 'z' * 90})\n"
        "except OSError as error: print(n, error.errno)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, path], check=True, capture_output=True, text=True, env=environment
    )
    refused, number = map(int, done.stdout.split())
    lines = path.read_text().splitlines()
    assert [json.loads(line)["clip"] for line in lines] == [str(n) for n in range(refused)]
    assert 0 < refused < 100
    assert os.strerror(number) == "File too large"


def test_nan_is_refused(tmp_path: Path) -> None:
    """Journals are strict JSON."""
    with Journal(tmp_path / "j.jsonl", dict) as journal, pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"clip": "a", "value": float("nan")})
    assert (tmp_path / "j.jsonl").read_bytes() == b""


def test_memory_of_a_journal_is_far_below_its_size(tmp_path: Path) -> None:
    """Ten thousand rows of two kilobytes cost a few megabytes, since only places are remembered."""
    path = tmp_path / "j.jsonl"
    filler = "w" * 2000
    with path.open("w") as file:
        file.writelines(json.dumps({"clip": f"clip{n}", "text": filler}) + "\n" for n in range(10_000))
    tracemalloc.start()
    with Journal(path, dict) as journal:
        assert "clip9999" in journal
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 5


def test_reading_beside_a_writer_changes_nothing(tmp_path: Path) -> None:
    """A line that is being written is passed over and stays; a journal that is not there is not made."""
    path = tmp_path / "j.jsonl"
    with Journal(path, dict) as journal:
        journal.append({"clip": "a", "number": 1})
        journal.append({"clip": "a", "number": 2})
    with path.open("ab") as file:
        file.write(b'{"clip": "b", "nu')
    before = path.read_bytes()
    assert list(read_journal(path, dict)) == [{"clip": "a", "number": 1}, {"clip": "a", "number": 2}]
    first, end = read_new(path, dict, 0, most=1)
    second, end = read_new(path, dict, end, most=9)
    assert ([one["number"] for one in (*first, *second)], end) == ([1, 2], before.index(b'{"clip": "b"'))
    assert read_new(tmp_path / "none.jsonl", dict, 0, most=9) == ([], 0)
    assert path.read_bytes() == before
    assert list(read_journal(tmp_path / "none.jsonl", dict)) == []
    assert not (tmp_path / "none.jsonl").exists()


def test_lines_of_another_journal_are_taken_as_they_are(tmp_path: Path) -> None:
    """All in one write, of which a kill leaves whole lines; they are found at once and when it is opened again."""
    clips = ["b", "a/é\n", "b"]
    with Journal(tmp_path / "one.jsonl", dict) as one:
        for number, clip in enumerate(clips):
            one.append({"clip": clip, "number": number})
        lines = [(["a/é\n", "b"][place], line) for place, line, _ in one.lines(["a/é\n", "b"])]
    path = tmp_path / "other.jsonl"
    with Journal(path, dict) as other:
        assert not other
        other.append({"clip": "c", "number": 9})
        other.append_lines(*zip(*lines, strict=True))
        assert [content["number"] for _, content in other.contents(["a/é\n", "b", "c"])] == [1, 0, 2, 9]
    path.write_bytes(path.read_bytes()[:-3])
    with Journal(path, dict) as other:
        assert [content["number"] for _, content in other.contents(["a/é\n", "b", "c"])] == [1, 0, 9]
