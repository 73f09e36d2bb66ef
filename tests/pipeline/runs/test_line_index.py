"""The index of a journal: each line is found, whatever its clip, and as often as there are lines."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from codec_superb.pipeline.runs import line_index
from codec_superb.pipeline.runs.journal import Journal

_IDS = st.lists(st.sampled_from(["a", "b/c", "d\n", "é", "\ud800", '"', "f" * 20_000]), max_size=30)


@given(_IDS, _IDS, st.integers(1, 5))
def test_lines_of_many_clips_are_those_of_each(before: list[str], after: list[str], few: int) -> None:
    """In blocks and one by one, before and behind opening it again, the same lines in the order they were written."""
    with TemporaryDirectory() as place, patch.object(line_index, "_FEW", few):
        path = Path(place) / "j.jsonl"
        for part in (before, after):
            with Journal(path, dict) as journal:
                for number, clip in enumerate(part):
                    journal.append({"clip": clip, "number": number})
        clips = sorted({*before, *after, "nobody"})
        with Journal(path, dict) as journal:
            known = {clip: list(journal.contents([clip])) for clip in clips}
            together = list(journal.contents(clips))
            newest = journal.newest(clips)
    expected = {clip: [n for part in (before, after) for n, one in enumerate(part) if one == clip] for clip in clips}
    assert {clip: [line["number"] for _, line in found] for clip, found in known.items()} == expected
    assert [(clips[at], line["number"]) for at, line in together] == [(c, n) for c in clips for n in expected[c]]
    assert [line and line["number"] for line in newest] == [expected[c][-1] if expected[c] else None for c in clips]


def test_clips_of_one_hash_are_told_apart(tmp_path: Path) -> None:
    """Where all clips have one hash, what is read decides."""
    with patch.object(line_index, "hash", lambda _: 7, create=True), Journal(tmp_path / "j.jsonl", dict) as journal:
        for number, clip in enumerate("abab"):
            journal.append({"clip": clip, "number": number})
        assert [line["number"] for line in journal.entries("a")] == [0, 2]
        assert [line and line["number"] for line in journal.newest(["a", "b", "c"])] == [2, 3, None]
        assert "c" not in journal
