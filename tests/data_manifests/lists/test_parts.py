"""Lists of parts: merged in order, whatever their number and order; what is not finished does not count."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.data_manifests.clip_list import ClipRecord, ObjectPart
from codec_superb.data_manifests.lists import parts
from codec_superb.data_manifests.lists.parts import PartLists
from codec_superb.data_manifests.manifest import ManifestLabels


def _record(name: str) -> ClipRecord:
    return ClipRecord(
        id=name, path="a.tar", category="audio", licence="CC0-1.0", attribution="A", sampling_rate=8000, frames=3,
        sha256="0" * 64, sha256_of="samples", object=ObjectPart(version='"1"', size=7, start=len(name), suffix=".flac"),
        labels=ManifestLabels(text=name, extra={"a": "b"}),
    )  # fmt: skip


@examples(60)
@given(st.lists(st.lists(st.text("aé😀_", min_size=1, max_size=6), max_size=9), max_size=9))
def test_parts_are_merged_to_what_sorting_gives(
    tmp_path_factory: pytest.TempPathFactory, names: list[list[str]]
) -> None:
    """However clips are divided into parts and tables, all of them come in the order of ids, as they were written."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(parts, "HELD", 3)
    monkeypatch.setattr(parts, "AT_ONCE", 2)
    folder = tmp_path_factory.mktemp("parts")
    try:
        lists = PartLists(folder)
        for number, part in enumerate(names):
            mark = lists.write(str(number), map(_record, part), lambda number=number: {"n": number})
            assert lists.mark(str(number)) == mark == (-(-len(part) // 3), len(part), {"n": number})
        found = list(lists.merged(map(str, range(len(names)))))
        wanted = [_record(name) for part in names for name in part]
        assert found == sorted(wanted, key=lambda record: record.id)
        assert not list(folder.glob(".merge-*"))
    finally:
        monkeypatch.undo()


def test_a_part_that_was_cut_off_is_read_again(tmp_path: Path) -> None:
    """What a reader gave before it failed is no part; other parts go when they are no longer asked for."""
    lists = PartLists(tmp_path)

    def cut_off() -> object:
        yield _record("a")
        raise OSError("the end")

    with pytest.raises(OSError, match="the end"):
        lists.write("1", cut_off(), list)  # type: ignore[arg-type]
    assert lists.mark("1") is None
    lists.write("1", [_record("b")], list)
    lists.write("2", [_record("c")], list)
    (tmp_path / ".merge-killed").mkdir()
    lists.keep_only(["2"])
    assert lists.mark("1") is None
    assert [record.id for record in lists.merged(["1", "2"])] == ["c"]
    assert len(list(tmp_path.iterdir())) == 2
