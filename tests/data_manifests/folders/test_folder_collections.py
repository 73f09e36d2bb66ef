"""A folder of audio brings its collections as tables: read by their columns, checked, stored once."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets.layouts import Tree

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.collections import MAX_TEXT_BYTES, CollectionRow
from codec_superb.data_manifests.errors import DatasetError, ManifestError
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset

TERMS = 'list,id,text,start,end\nbeep,0,"a ""beep""",0.5,1\nbeep,1,दिन,,\n'


@pytest.fixture
def folder(tree: Tree) -> Path:
    """One clip, and whatever a test adds."""
    tree.audio("beep.wav")
    return tree.root


def _add(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / "collections" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_table_is_a_collection(folder: Path) -> None:
    """Columns in any order, quotes, no value for an empty cell; the files are no strangers among the audio."""
    _add(folder, "terms.csv", TERMS)
    dataset = open_dataset(folder)
    assert isinstance(dataset, FolderDataset)
    assert list(dataset.collections) == ["terms"]
    assert list(dataset.collection("terms").rows()) == [
        CollectionRow("0", "beep", "", 'a "beep"', 0.5, 1.0),
        CollectionRow("1", "beep", "", "दिन"),
    ]
    assert (dataset.ignored, len(dataset)) == (0, 1)
    dataset.collection("terms").verify()


def test_without_collections_there_are_none(folder: Path) -> None:
    """And no file is written for it; what is no table in that folder is one of the other files."""
    dataset = FolderDataset(folder)
    assert dict(dataset.collections) == {}
    with pytest.raises(DatasetError, match=r"has no collection 'passages' \(it has: none\)"):
        dataset.collection("passages")
    _add(folder, "notes.txt", "hello")
    assert FolderDataset(folder).ignored == 1


def test_csv_and_parquet_of_the_same_rows_are_one_collection(folder: Path) -> None:
    """The hash is that of the rows; dictionaries, large strings and integers as Parquet knows them are taken."""
    _add(folder, "terms.csv", TERMS)
    first = dict(FolderDataset(folder).collections)
    (folder / "collections" / "terms.csv").unlink()
    table = pa.table({
        "text": pa.array(['a "beep"', "दिन"], pa.large_string()),
        "list": pa.array(["beep", "beep"]).dictionary_encode(),
        "id": ["0", "1"],
        "start": pa.array([0.5, None], pa.float32()),
        "end": pa.array([1, None], pa.int8()),
    })  # fmt: skip
    pq.write_table(table, folder / "collections" / "terms.parquet")
    assert dict(FolderDataset(folder).collections) == first


def test_a_table_is_read_again_only_when_it_was_changed(folder: Path) -> None:
    """The stored copy is kept; a change of one table, and a copy that is gone or cut off, make it anew."""
    path = _add(folder, "pages.csv", "id,text\nrome,Rome.\n")
    first = FolderDataset(folder).collection("pages")
    stamp = first.path.stat().st_mtime_ns
    assert FolderDataset(folder).collection("pages").path.stat().st_mtime_ns == stamp
    first.path.write_bytes(b"PAR1")
    assert FolderDataset(folder).collection("pages").texts == ["Rome."]
    path.write_text("id,text\nrome,Rome.\nbonn,Bonn.\n")
    second = FolderDataset(folder).collection("pages")
    assert second.texts == ["Rome.", "Bonn."]
    assert second.sha256 != first.sha256
    _add(folder, "terms.csv", TERMS)
    assert sorted(FolderDataset(folder).collections) == ["pages", "terms"]
    path.unlink()
    assert list(FolderDataset(folder).collections) == ["terms"]


def test_a_changed_collection_is_no_other_set_of_clips(folder: Path) -> None:
    """The hash of the clips stays: what rests on the clips alone stays valid."""
    before = FolderDataset(folder).manifest_hash
    _add(folder, "pages.csv", "id,text\nrome,Rome.\n")
    assert FolderDataset(folder).manifest_hash == before


def test_a_long_text_fits_into_a_cell(folder: Path) -> None:
    """The csv module's own limit is an eighth of ours."""
    _add(folder, "pages.csv", f"id,text\nrome,{'x' * MAX_TEXT_BYTES}\n")
    assert FolderDataset(folder).collection("pages").texts == ["x" * MAX_TEXT_BYTES]


BAD: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "expected the columns id and text, and any of id, list, title, text, start, end, weight; got none"),
    "no id": ("text\nRome\n", "expected the columns id and text, and any of .*; got text"),
    "no text": ("id,title\na,Rome\n", "expected the columns id and text"),
    "misspelt": ("id,text,titel\na,b,c\n", "expected columns of .*, each once; got id, text, titel"),
    "twice": ("id,text,text\na,b,c\n", "each once; got id, text, text"),
    "cells": ("id,text\na,b\nc\n", "row 2: expected 2 cells, got 1"),
    "quotes": ('id,text\na,"b\n', "row 1: no CSV .unexpected end of data.: close every quote"),
    "no UTF-8": (b"id,text\na,\xff\n", "row 1: expected UTF-8, got byte 0xff; save it as UTF-8"),
    "number": (
        "id,text,start\na,b,soon\n",
        "row 1, column start: expected a number with a decimal point, or nothing, got 'soon'",
    ),
    "NaN": ("id,text,start\na,b,nan\n", "row 1 .*expected start to be a finite number or none, got nan"),
    "infinity": ("id,text,end\na,b,1e999\n", "expected end to be a finite number or none, got inf"),
    "doubled": ("id,text\na,b\na,c\n", "row 2: the id 'a' is given twice; give every row its own"),
    "empty id": ("id,text\n,b\n", "row 1: the id is empty; give every row one"),
    "empty text": ("id,text\na,\n", r"row 1 \('a'\): the text is empty"),
    "long": (f"id,text\na,{'x' * (MAX_TEXT_BYTES + 1)}\n", "row 1: the text has 1048577 bytes, more than 1048576"),
    "huge cell": (f"id,text\na,{'x' * (3 * MAX_TEXT_BYTES)}\n", "row 1: no CSV .field larger .*keep texts below 1 MiB"),
    "zero byte": (b"id,text\n\x00,\x00\n", "row 1: expected the id on one line, without control characters"),
}


@pytest.mark.parametrize(("content", "complaint"), BAD.values(), ids=BAD)
def test_a_bad_table_is_refused_with_its_file_and_row(folder: Path, content: str | bytes, complaint: str) -> None:
    """In one sentence; the dataset's clips are still there for what needs no collection."""
    path = _add(folder, "pages.csv", content)
    dataset = FolderDataset(folder)
    if complaint:
        with pytest.raises(ManifestError, match=complaint) as caught:
            dataset.collection("pages")
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
    else:
        assert len(dataset.collection("pages")) == 1
    assert dataset.clip_ids() == ["beep.wav"]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"id": [1, 2], "text": ["a", "b"]}, "row 1: expected the id to be text, got '1'"),
        ({"id": ["a", None], "text": ["a", "b"]}, "row 2: the id is empty"),
        ({"id": ["a"], "text": [b"\xff"]}, "row 1: expected the text to be text"),
        (
            {"id": ["a"], "text": ["x"], "start": ["0.5s"]},
            "column start: expected a number with .* got '0.5s'",
        ),
        ({"id": ["a"], "text": ["x"], "start": [float("nan")]}, "expected start to be a finite number"),
        ({"id": ["a"], "text": ["x"], "weight": [True]}, "expected weight to be a finite number or none, got True"),
        ({"name": ["a"]}, "expected the columns id and text"),
    ],
)
def test_parquet_is_held_to_the_same(folder: Path, columns: dict[str, list[Any]], complaint: str) -> None:
    """Other types are not converted in silence."""
    (folder / "collections").mkdir()
    pq.write_table(pa.table(columns), folder / "collections" / "pages.parquet")
    with pytest.raises(ManifestError, match=complaint):
        FolderDataset(folder).collection("pages")


def test_what_is_no_parquet_or_has_a_bad_name_is_refused(folder: Path) -> None:
    """Before anything is read: names become names of files and settings."""
    path = _add(folder, "pages.parquet", b"PAR1 no more")
    with pytest.raises(ManifestError, match=r"pages.parquet is no Parquet file: "):
        FolderDataset(folder).collection("pages")
    _add(folder, "pages.csv", "id,text\na,b\n")
    with pytest.raises(ManifestError, match=r"pages.parquet and pages.csv are one collection; remove one of them"):
        FolderDataset(folder)
    path.unlink()
    for name in ("Pages.csv", "my pages.csv", f"{'p' * 65}.csv"):
        bad = _add(folder, name, "id,text\na,b\n")
        with pytest.raises(ManifestError, match=r"expected a name of lower-case letters, digits and _; rename it"):
            FolderDataset(folder)
        bad.unlink()


def test_a_table_of_a_spreadsheet_is_read(folder: Path) -> None:
    """With a byte order mark, carriage returns and blank lines."""
    _add(folder, "pages.csv", "\ufeffid,text\r\n\r\na,Rome\r\n")
    assert FolderDataset(folder).collection("pages").texts == ["Rome"]
    with (folder / "collections" / "pages.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), ("a", "two\nlines")])
    assert FolderDataset(folder).collection("pages").texts == ["two\nlines"]
