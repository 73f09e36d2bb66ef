"""Collections: what is written is read again, its hash is that of the rows alone, and a bad row is refused first."""

from __future__ import annotations

import hashlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from support.profile import amount, examples

from codec_superb.data_manifests.collections import (
    MAX_TEXT_BYTES,
    Collection,
    CollectionRow,
    collection_path,
    named_collection,
    open_collection,
    writing_collections,
)
from codec_superb.data_manifests.errors import DatasetError, ManifestError

ROME = CollectionRow("p1", "", "Rome", "Rome was not built in a day.")
TERMS = [
    CollectionRow("0", "utt_1", "", "Rome", 0.25, 0.5),
    CollectionRow("1", "utt_1", "", "built", 0.5, 0.75, 2.0),
    CollectionRow("0", "utt_2", "", "दिन", 0.0, 1.0),
]


def _write(folder: Path, rows: list[CollectionRow], name: str = "passages") -> Collection:
    with writing_collections(folder, {name: rows}) as hashes:
        pass
    return open_collection(folder, name, hashes[name])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Rows in their order, columns, lists by their keys, and the number of rows."""
    terms = _write(tmp_path, TERMS, "terms")
    assert list(terms.rows()) == TERMS
    assert len(terms) == 3
    assert (terms.ids, terms.titles, terms.texts) == (["0", "1", "0"], ["", "", ""], ["Rome", "built", "दिन"])
    assert dict(terms.lists()) == {"utt_1": TERMS[:2], "utt_2": TERMS[2:]}
    assert list(_write(tmp_path, [], "terms").rows()) == []


def test_the_hash_is_that_of_its_lines(tmp_path: Path) -> None:
    """One line of JSON a row, its seven values in order, worked out here without the module."""
    lines = (
        '["0","utt_1","","Rome",0.25,0.5,null]\n["1","utt_1","","built",0.5,0.75,2.0]\n'
        '["0","utt_2","","दिन",0.0,1.0,null]\n'
    )
    assert _write(tmp_path, TERMS).sha256 == hashlib.sha256(lines.encode()).hexdigest()
    whole = [TERMS[1]._replace(start=0, end=1, weight=2)]
    assert _write(tmp_path, whole).sha256 == hashlib.sha256(b'["1","utt_1","","built",0.0,1.0,2.0]\n').hexdigest()


def test_the_hash_does_not_depend_on_how_parquet_is_written(tmp_path: Path) -> None:
    """Another compression, other row groups and another format version hold the same rows."""
    terms = _write(tmp_path, TERMS)
    table = pq.read_table(terms.path)
    key = {b"codec_superb.sha256": terms.sha256.encode()}
    pq.write_table(table.replace_schema_metadata(key), terms.path, compression="none", row_group_size=1, version="1.0")
    again = open_collection(tmp_path, "passages", terms.sha256)
    again.verify()
    assert list(again.rows()) == TERMS


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_ID = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30).map(str.strip).filter(bool)
_TIME = st.none() | st.floats(0.0, allow_nan=False, allow_infinity=False)
_NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def _rows(draw: st.DrawFn) -> list[CollectionRow]:
    rows = []
    for key in draw(st.lists(_TEXT, unique=True, max_size=4)):
        for name in draw(st.lists(_ID, unique=True, max_size=4)):
            start, end = sorted([draw(_TIME), draw(_TIME)], key=lambda n: (n is not None, n or 0.0))
            text = draw(_TEXT.filter(str.strip))
            rows.append(CollectionRow(name, key, draw(_TEXT), text, start, end, draw(_NUMBER)))
    return rows


@given(rows=_rows())
@examples(100)
def test_every_right_row_comes_back(rows: list[CollectionRow], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Texts of any script and numbers of any size, bit for bit; and only the same rows have the same hash."""
    folder = tmp_path_factory.mktemp("rows")
    stored = _write(folder, rows)
    assert [json.dumps(row) for row in stored.rows()] == [json.dumps(row) for row in rows]
    stored.verify()
    assert [row for rows_of in stored.lists().values() for row in rows_of] == list(stored.rows())
    if rows:
        assert _write(folder, rows[1:]).sha256 != stored.sha256


BAD = {
    "empty id": (CollectionRow("", text="x"), "the id is empty; give every row one"),
    "blank id": (CollectionRow(" \t", text="x"), "the id is empty"),
    "id of two lines": (CollectionRow("a\nb", text="x"), "expected the id on one line"),
    "doubled id": (ROME, "the id 'p1' is given twice; give every row its own"),
    "no text": (CollectionRow("p2", title="Bonn"), "'p2'): the text is empty; write one, or leave the row out"),
    "blank text": (CollectionRow("p2", text=" \n"), "the text is empty"),
    "long text": (CollectionRow("p2", text="é" * (MAX_TEXT_BYTES // 2 + 1)), "the text has 1048578 bytes, more than"),
    "no Unicode": (CollectionRow("p2", text="a\udc80"), "the text is no Unicode text at character 1"),
    "number for a text": (CollectionRow("p2", text=7), "expected the text to be text, got '7'"),  # type: ignore[arg-type]
    "none for a title": (CollectionRow("p2", title=None, text="x"), "expected the title to be text"),  # type: ignore[arg-type]
    "NaN": (CollectionRow("p2", text="x", start=float("nan")), "expected start to be a finite number or none, got nan"),
    "infinity": (CollectionRow("p2", text="x", end=float("inf")), "expected end to be a finite number"),
    "NaN weight": (CollectionRow("p2", text="x", weight=float("nan")), "expected weight to be a finite number"),
    "truth value": (CollectionRow("p2", text="x", weight=True), "expected weight to be a finite number"),
    "ends before it starts": (
        CollectionRow("p2", text="x", start=2.0, end=1.5),
        "ends at 1.5 s, before its start at 2.0",
    ),
}


@pytest.mark.parametrize(("row", "complaint"), BAD.values(), ids=BAD)
def test_a_bad_row_is_refused_before_the_long_work(tmp_path: Path, row: CollectionRow, complaint: str) -> None:
    """One sentence names the collection, the row and what to do; what was stored before stays, without leftovers."""
    before = _write(tmp_path, TERMS)
    with pytest.raises(ManifestError) as caught, writing_collections(tmp_path, {"passages": [ROME, row]}):
        pytest.fail("the body is the long work")
    assert str(caught.value).startswith("collection passages, row 2")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(open_collection(tmp_path, "passages", before.sha256).rows()) == TERMS
    assert [path.name for path in before.path.parent.iterdir()] == ["passages.parquet"]


def test_the_rows_of_a_list_stand_together(tmp_path: Path) -> None:
    """An id may come again in another list; a list that begins again is an error."""
    with pytest.raises(ManifestError, match=r"row 4: the list 'utt_1' begins again; put the rows of a list together"):
        _write(tmp_path, [*TERMS, TERMS[0]._replace(id="2")])


def test_a_weight_stands_for_a_text(tmp_path: Path) -> None:
    """An IDF table maps tokens to weights and has no texts; the longest text that is allowed is taken."""
    rows = [CollectionRow("rome", weight=7.5), CollectionRow("long", text="x" * MAX_TEXT_BYTES)]
    assert list(_write(tmp_path, rows, "idf").rows()) == rows


def test_stale_collections_go_and_an_interrupted_writing_changes_nothing(tmp_path: Path) -> None:
    """Other collections, and files of killed processes, are gone after the next success and not before."""
    terms = _write(tmp_path, TERMS, "terms")
    (terms.path.parent / ".part-1-abcd.parquet").write_bytes(b"half")
    with pytest.raises(KeyboardInterrupt), writing_collections(tmp_path, {"passages": [ROME]}):
        raise KeyboardInterrupt
    terms.verify()
    passages = _write(tmp_path, [ROME])
    assert list(passages.path.parent.iterdir()) == [passages.path]


def test_a_file_of_another_indexing_is_noticed(tmp_path: Path) -> None:
    """Replaced, cut off, missing or of other columns: the error names the file and what to do."""
    terms = _write(tmp_path, TERMS)
    other = _write(tmp_path, [ROME])
    with pytest.raises(
        ManifestError, match=rf"SHA-256 {terms.sha256}, got {other.sha256}: an indexing was interrupted"
    ):
        open_collection(tmp_path, "passages", terms.sha256)
    pq.write_table(pa.table({"id": ["p1"]}), other.path)
    with pytest.raises(ManifestError, match=r"lacking: list, title, text, start, end, weight$"):
        open_collection(tmp_path, "passages", other.sha256)
    other.path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ManifestError, match=r"is no Parquet file; index or prepare the dataset again"):
        open_collection(tmp_path, "passages", other.sha256)
    other.path.unlink()
    with pytest.raises(ManifestError, match=r"passages.parquet is missing"):
        open_collection(tmp_path, "passages", other.sha256)


def test_rows_that_were_changed_in_place_are_found(tmp_path: Path) -> None:
    """A file that only says the right hash is told from one that has it by reading it."""
    stored = _write(tmp_path, [ROME])
    rows = pa.Table.from_pylist([ROME._replace(text="Rome was.")._asdict()], schema=pq.read_schema(stored.path))
    pq.write_table(rows.replace_schema_metadata({b"codec_superb.sha256": stored.sha256.encode()}), stored.path)
    with pytest.raises(ManifestError, match=f"expected rows with the SHA-256 {stored.sha256}"):
        open_collection(tmp_path, "passages", stored.sha256).verify()


def test_an_unknown_name_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    """And a collection travels to another process as its place."""
    stored = _write(tmp_path, [ROME])
    known = {"passages": stored.sha256}
    with pytest.raises(DatasetError, match=r"^svq has no collection 'pages' \(it has: passages\)"):
        named_collection("svq", tmp_path, "pages", known)
    assert stored.texts == [ROME.text]
    assert pickle.loads(pickle.dumps(stored)) == stored
    assert len(pickle.dumps(stored)) < 1000


_LARGE = """
import resource, sys
from pathlib import Path
from codec_superb.data_manifests.collections import CollectionRow, open_collection, writing_collections
import pyarrow.parquet
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count, folder = int(sys.argv[1]), Path(sys.argv[2])
words = " ".join(f"word{n}" for n in range(100))
rows = (CollectionRow(f"english-{n}", "", f"Title {n}", f"{n} {words}") for n in range(count))
with writing_collections(folder, {"passages": rows}) as hashes:
    pass
stored = open_collection(folder, "passages", hashes["passages"])
stored.verify()
assert sum(1 for _ in stored.rows()) == len(stored) == count
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)
"""


@pytest.mark.parametrize(
    "count",
    [pytest.param(30_000, id="part"), pytest.param(amount(100_000, 271_711), id="svq", marks=pytest.mark.slow)],
)
def test_a_large_collection_takes_little_memory(tmp_path: Path, count: int) -> None:
    """Less than 300 MB above what the imports take, for as many passages of 700 bytes as SVQ's index has."""
    command = [sys.executable, "-c", _LARGE, str(count), str(tmp_path)]
    assert int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) < 300
    assert collection_path(tmp_path, "passages").is_file()
