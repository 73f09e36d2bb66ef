"""Submissions in parts: the same numbers as one file, and nothing of a part can be changed, left out or exchanged."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import card, draw_rows, failed, write_run
from support.profile import examples

from codec_superb.pipeline.comparison.codecs import compare, compare_results, load_one
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.check import check, check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.parts import reading, writing
from codec_superb.pipeline.submission.parts.writing import files_of
from codec_superb.pipeline.submission.schema import Part, Submission, clips_digest
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

ROWS = [*draw_rows(1, 20)[::-1], failed("mini/broken")]
OTHERS = [
    row.model_copy(update={"cluster": f"{number // 3:012x}"})
    for number, row in enumerate(draw_rows(2, 8, dataset="ears"))
]
Members = dict[str, bytes]


@lru_cache
def _packed(most_rows: int, seed: int = 0) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        rows = ROWS if not seed else [*draw_rows(seed, 20), ROWS[-1]]
        runs = [write_run(root, rows, card=card()), write_run(root, OTHERS, card=card())]
        out = pack(runs, root / "a.zip", most_rows=most_rows)
        return {path.name: path.read_bytes() for path in files_of(out)}


def written(folder: Path, most_rows: int, seed: int = 0) -> Path:
    """Write a submission of two datasets into a folder; return the file that describes it."""
    for name, data in _packed(most_rows, seed).items():
        (folder / name).write_bytes(data)
    return folder / "a.zip"


@examples(12)
@given(st.integers(1, 40))
def test_parts_have_the_numbers_of_one_file(most_rows: int) -> None:
    """However rows are cut, every aggregate is that of the file that holds all of them, to the last bit."""
    with TemporaryDirectory() as one, TemporaryDirectory() as several:
        whole, parts = load_results(written(Path(one), 1000)), written(Path(several), most_rows)
        found = load_results(parts)
        assert len(files_of(parts)) == (1 if most_rows >= 29 else 1 + -(-29 // most_rows))
        assert found.aggregates == whole.aggregates
        assert sorted(found.rows, key=_place) == sorted(whole.rows, key=_place)
        slim = check_and_open(parts, slim=True)[1]
        assert slim is not None
        assert slim.aggregates == whole.aggregates


def test_parts_are_compared_as_whole_rows_are(tmp_path: Path) -> None:
    """Of submissions that alone is held which numbers follow from, without messages; the report is the same."""
    for name in ("whole", "parts", "other"):
        (tmp_path / name).mkdir()
    whole, parts = written(tmp_path / "whole", 1000), written(tmp_path / "parts", 8)
    other = written(tmp_path / "other", 7, seed=3)
    found = compare(parts, other)
    assert found == compare_results(load_results(whole), load_results(other), tests=True)
    assert found.datasets
    rows = load_one(parts).rows
    assert isinstance(rows, StoredRows)
    assert rows.table["resynthesis_sha256"].null_count == len(rows) == 29


def _place(row: ClipRow) -> tuple[str, str]:
    return row.dataset, row.clip


def test_the_same_runs_give_the_same_parts_and_leave_no_others(tmp_path: Path) -> None:
    """Names say which part of how many; what was packed before in another number is gone."""
    run = write_run(tmp_path, ROWS, card=card())
    first = pack([run], tmp_path / "a.zip", most_rows=8)
    names = [path.name for path in files_of(first)]
    assert names == ["a.zip", *(f"a.part-000{number}-of-0003.zip" for number in (1, 2, 3))]
    before = [path.read_bytes() for path in files_of(first)]
    second = pack([run], tmp_path / "b.zip", most_rows=8)
    assert [path.read_bytes() for path in files_of(second)] == before
    pack([run], first, most_rows=11)
    assert [path.name[2:] for path in files_of(first)[1:]] == ["part-0001-of-0002.zip", "part-0002-of-0002.zip"]
    assert check(first).ok
    assert files_of(pack([run], first)) == [first]
    assert not list(tmp_path.glob(".part-*"))


def test_parts_are_cut_smaller_where_their_bytes_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of fewer rows than allowed may have too many bytes: then there are more parts, up to a number."""
    run = write_run(tmp_path, ROWS, card=card())
    largest = max(path.stat().st_size for path in files_of(pack([run], tmp_path / "a.zip", most_rows=11))[1:])
    monkeypatch.setattr(writing, "FILE_LIMIT", largest - 1)
    found = files_of(pack([run], tmp_path / "a.zip", most_rows=11))
    assert len(found) == 5
    assert check(found[0]).ok
    monkeypatch.undo()
    sizes = [path.stat().st_size for path in files_of(pack([run], tmp_path / "a.zip", most_rows=5))[1:]]
    assert sizes.index(max(sizes)) > 0  # parts are written before the one that is too large
    monkeypatch.setattr(writing, "FILE_LIMIT", max(sizes) - 1)
    monkeypatch.setattr(writing, "MOST_PARTS", 9)
    with pytest.raises(SubmissionError, match="at most 9 parts, got 10"):
        pack([run], tmp_path / "b.zip", most_rows=5)
    assert not list(tmp_path.glob("b.*"))
    monkeypatch.undo()
    monkeypatch.setattr(writing, "FILE_LIMIT", 1)
    with pytest.raises(SubmissionError, match="at most 50 parts"):
        pack([run], tmp_path / "b.zip", most_rows=11)
    monkeypatch.setattr(writing, "MOST_ROWS", 20)
    with pytest.raises(SubmissionError, match="at most 20 rows in all parts, got 21"):
        pack([run], tmp_path / "b.zip", most_rows=11)
    assert not list(tmp_path.glob("b.*"))


def test_a_part_alone_and_one_that_lacks_are_told_as_such(tmp_path: Path) -> None:
    """Neither is a damaged file: the way out is the file that describes them, with all of them beside it."""
    manifest, part, other, *_ = files_of(
        pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip", most_rows=8)
    )
    (alone,) = check(part).problems
    other.unlink()
    (lacking,) = check(manifest).problems
    assert (alone.path, lacking.path) == ("parts", "parts")
    assert "one part alone" in alone.got
    assert f"expected {other.name} beside a.zip, found none" in lacking.got
    assert "put its parts beside it" in alone.how_to_fix == lacking.how_to_fix


def _remove(folder: Path) -> None:
    files_of(folder / "a.zip")[2].unlink()


def _exchange(folder: Path) -> None:
    _, one, two, *_ = files_of(folder / "a.zip")
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)


def _of_another_run(folder: Path) -> None:
    """Take a part of other scores of the same clips, and name it in the document."""
    place = files_of(folder / "a.zip")[2]
    place.write_bytes(_packed(8, seed=5)[place.name])
    reseal(folder)


def _truncate(folder: Path) -> None:
    place = files_of(folder / "a.zip")[2]
    place.write_bytes(place.read_bytes()[:-30])


def _rows_beside(folder: Path) -> None:
    edit(folder / "a.zip", lambda members: members.update({"clips.parquet": b"PAR1"}))


def _no_parts(folder: Path) -> None:
    _edit_document(folder, lambda document: document.pop("parts"))


def _more_rows_said(folder: Path) -> None:
    _edit_document(folder, lambda document: document["parts"][1].update(rows=9))


def _in_another_order(folder: Path) -> None:
    edit_rows(folder, 2, lambda rows: rows.reverse())


def _a_clip_twice(folder: Path) -> None:
    last = list(table(files_of(folder / "a.zip")[1]))[-1]
    edit_rows(folder, 2, lambda rows: rows.__setitem__(0, last))


def _a_value(folder: Path) -> None:
    def change(rows: list[ClipRow]) -> None:
        rows[0] = rows[0].model_copy(update={"bits": (rows[0].bits or 0) + 1})

    edit_rows(folder, 3, change)


def _a_head(folder: Path) -> None:
    def change(members: Members) -> None:
        members["part.json"] = json.dumps(json.loads(members["part.json"]) | {"identity": "0" * 64}).encode()

    edit(files_of(folder / "a.zip")[1], change, part=True)
    reseal(folder)


TAMPERED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a part is not there": (_remove, "found none"),
    "two are exchanged": (_exchange, "SHA-256"),
    "one breaks off": (_truncate, "SHA-256"),
    "one is of another run": (_of_another_run, "aggregates"),
    "rows beside parts": (_rows_beside, "got both"),
    "neither rows nor parts": (_no_parts, "got neither"),
    "another number of rows": (_more_rows_said, "parts.1: rows"),
    "rows in another order": (_in_another_order, "sorted by dataset and clip"),
    "a clip in two parts": (_a_clip_twice, "each clip once"),
    "a value of a row": (_a_value, "bits"),
    "another identity": (_a_head, "part.json: identity"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_nothing_of_the_parts_can_be_changed(name: str, tmp_path: Path) -> None:
    """With all hashes made right again, what is missing, exchanged, repeated or altered is found and named."""
    change, told = TAMPERED[name]
    manifest = written(tmp_path, 8)
    change(tmp_path)
    report = check(manifest)
    assert not report.ok
    assert any(told in f"{found.path}: {found.expected} {found.got}" for found in report.problems), report.problems


def test_more_rows_than_the_whole_may_have_are_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document's numbers are enough, and a file that came without its parts says so."""
    manifest = written(tmp_path, 8)
    report = check(io.BytesIO(manifest.read_bytes()))
    assert "the file that describes them alone" in report.problems[0].got
    monkeypatch.setattr("codec_superb.pipeline.submission.check.MOST_ROWS", 28)
    monkeypatch.setattr(reading, "read_archive", None)
    assert "at most 28 rows in all parts, got 29" in check(manifest).problems[0].got


def table(place: Path) -> Any:
    """Open the rows of a part."""
    return open_table(io.BytesIO(read_archive(place, part=True)["clips.parquet"]))


def edit(place: Path, change: Callable[[Members], object], *, part: bool = False) -> None:
    """Change the members of a file."""
    members = read_archive(place, part=part)
    change(members)
    with place.open("wb") as out:
        write_archive(out, members)


def _edit_document(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    def edited(members: Members) -> None:
        document = json.loads(members["submission.json"])
        change(document)
        members["submission.json"] = Submission.model_validate_json(json.dumps(document)).seal().to_json()

    edit(folder / "a.zip", edited)


def edit_rows(folder: Path, number: int, change: Callable[[list[ClipRow]], object]) -> None:
    """Change the rows of a part, and make the hashes right."""
    place = files_of(folder / "a.zip")[number]

    def edited(members: Members) -> None:
        found = table(place)
        rows, out = list(found), io.BytesIO()
        change(rows)
        write_table(out, rows, found.metrics)
        members["clips.parquet"] = out.getvalue()

    edit(place, edited, part=True)
    reseal(folder)


def reseal(folder: Path) -> None:
    """Name the parts that lie there in the document."""

    def described(document: dict[str, Any]) -> None:
        parts = []
        for place in files_of(folder / "a.zip")[1:]:
            data, clips = place.read_bytes(), read_archive(place, part=True)["clips.parquet"]
            sums = [hashlib.sha256(found).hexdigest() for found in (data, clips)]
            parts.append(Part(sha256=sums[0], size=len(data), rows=len(table(place)), clips_sha256=sums[1]))
        document |= {"parts": [part.model_dump() for part in parts], "clips_sha256": clips_digest(parts)}

    _edit_document(folder, described)
