"""Simple Voice Questions: both published layouts give the same dataset of one locale, and its ten public recordings."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.datasets.package_files import IndexServer
from support.datasets.svq import (
    PASSAGES,
    Row,
    array_record,
    build_v1,
    build_v2,
    recordings,
    tasks,
    tone,
    write_parquet,
    write_table,
)

from codec_superb.data_manifests import check, load_manifest, open_dataset
from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.data_manifests.errors import DatasetError, LayoutError, ManifestError
from codec_superb.data_manifests.home import HOME_VARIABLE, datasets_home
from codec_superb.data_manifests.indexers.svq.recordings import ENVIRONMENTS
from codec_superb.data_manifests.indexers.svq.tables import Folder, groups_of, open_parquet
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.manifest import FilesSource, IndexedSource
from codec_superb.data_manifests.preparation import prepare_manifest

REAL = Path(__file__).parents[4] / "shared" / "real" / "svq"
ENGLISH = tuple(sorted(f"utt_{90 - n}" for n in range(4)))


def _tables(root: Path, rows: dict[str, list[Row]]) -> None:
    for name, table in rows.items():
        write_table(root / f"{name}.jsonl", table)


def test_a_locale_has_its_recordings_and_their_labels(tmp_path: Path) -> None:
    """As published: an answer that was not given is no gender, and digits are text."""
    build_v1(tmp_path)
    report = index("svq_en_us", tmp_path)
    dataset = open_dataset("svq_en_us")
    assert tuple(dataset.clip_ids()) == ENGLISH
    first, fourth = dataset.clip("utt_90"), dataset.clip("utt_87")
    assert (first.labels.text, first.labels.language, first.labels.speaker) == (
        "How old is Rome?",
        "en-US",
        "speaker_0",
    )
    assert (first.slice, fourth.slice) == ("clean", "media_noise")
    assert first.cluster == dataset.clip("utt_89").cluster != fourth.cluster
    known, other = dict(first.labels.extra), dict(fourth.labels.extra)
    assert (known["gender"], known.get("age"), other.get("gender"), other["age"]) == ("female", None, None, "23")
    assert (known["passage"], known["page"], known["span"], other["span"]) == (
        "english-0", "Rome", "753 BC", "No Answer",
    )  # fmt: skip
    assert not {name for name in known if name.endswith("_en")}
    audio, rate = first.load()
    expected, _ = soundfile.read(_file(tmp_path / "tone.wav", tone(0)), dtype="float32")
    np.testing.assert_array_equal(audio[0], expected)
    assert (rate, report.missing, report.extra, report.unreadable) == (16_000, 0, 0, 0)


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_lists_and_documents_are_collections_that_labels_name(tmp_path: Path) -> None:
    """Recordings of a text share its list; documents come by id, once; what is empty is left out."""
    build_v1(tmp_path)
    index("svq_en_us", tmp_path)
    dataset = open_dataset("svq_en_us")
    assert set(dataset.collections) == {
        "passages",
        "pages",
        "candidates",
        "spans",
        "contexts",
        "terms",
        "term_candidates",
    }
    labels = {name: dict(dataset.clip(name).labels.extra) for name in ENGLISH}
    passages = dataset.collection("passages")
    assert [(row.id, row.title, row.text) for row in passages.rows()] == [tuple(row.values()) for row in PASSAGES]
    assert dataset.collection("pages").ids == ["Rome", "Wall"]
    candidates = dataset.collection("candidates").lists()
    assert labels["utt_90"]["candidates"] == labels["utt_89"]["candidates"] != labels["utt_88"]["candidates"]
    assert [row.text for row in candidates[labels["utt_90"]["candidates"]]] == [
        "How old is Rome?", "how old is rome?", "How old is Rome",
    ]  # fmt: skip
    assert len(candidates) == 2
    spans = dataset.collection("spans").lists()[labels["utt_90"]["spans"]]
    assert [(row.id, row.text) for row in spans] == [("0", "753 BC"), ("1", "Hadrian")]
    contexts = {row.id: row for row in dataset.collection("contexts").rows()}
    assert contexts[labels["utt_87"]["context"]].text == PASSAGES[1]["context"]
    terms = dataset.collection("terms").lists()[labels["utt_90"]["terms"]]
    assert [(row.text, row.start, row.end) for row in terms] == [("old", 0.25, 0.45), ("is", 0.5, 0.7)]
    assert len(dataset.collection("term_candidates").lists()["utt_90"]) == 4
    assert check("svq_en_us").corrupt == ()


def test_cross_language_tasks_have_labels_and_collections_of_their_own(tmp_path: Path) -> None:
    """Finnish questions about English texts; what is shared by both ways is not doubled."""
    build_v1(tmp_path)
    index("svq_fi_fi", tmp_path)
    dataset = open_dataset("svq_fi_fi")
    extra = dict(dataset.clip(dataset.clip_ids()[0]).labels.extra)
    assert {"passage_en", "page_en", "spans_en", "span_en", "context_en", "candidates", "terms"} <= set(extra)
    assert not {"passage", "page", "spans", "span", "context"} & set(extra)
    assert {"passages_en", "pages_en", "spans_en", "contexts_en"} <= set(dataset.collections)
    assert not {"passages", "pages", "spans", "contexts"} & set(dataset.collections)


@pytest.mark.parametrize(
    "build", [lambda root: build_v1(root, suffix=".parquet"), build_v2], ids=["Parquet", "version 2"]
)
def test_every_layout_gives_the_same_dataset(tmp_path: Path, build: Callable[[Path], None]) -> None:
    """Audio, labels and collections have one hash, whatever files they come in and in whatever order."""
    build_v1(tmp_path / "v1")
    build(tmp_path / "other")
    first = index("svq_en_us", tmp_path / "v1")
    collections = dict(open_dataset("svq_en_us").collections)
    second = index("svq_en_us", tmp_path / "other")
    assert second.manifest_hash == first.manifest_hash
    assert dict(open_dataset("svq_en_us").collections) == collections
    assert second.notes == first.notes


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    """Recordings are found by their ids: a shuffled file with other row groups is the same dataset."""
    rows = recordings()
    for name, order in (("a", rows), ("b", rows[::-1])):
        write_parquet(tmp_path / name / "audio" / "x.parquet", order, 3)
        _tables(tmp_path / name, {table: lines[:: 1 if name == "a" else -1] for table, lines in tasks(rows).items()})
    first = index("svq_en_us", tmp_path / "a")
    collections = dict(open_dataset("svq_en_us").collections)
    assert index("svq_en_us", tmp_path / "b").manifest_hash == first.manifest_hash
    assert dict(open_dataset("svq_en_us").collections) == collections


def test_only_the_row_groups_of_the_locale_are_read(tmp_path: Path) -> None:
    """24 GB of 26 locales lie in files of all: the statistics of the column tell what to skip."""
    write_parquet(tmp_path / "a.parquet", recordings(), 2)
    file = open_parquet(tmp_path / "a.parquet")
    assert groups_of(file, "en_us") == [0, 1]
    assert groups_of(file, "fi_fi") == [2, 3]
    assert groups_of(file, "sw") == []
    assert groups_of(file, None) == [0, 1, 2, 3]
    capitals = [row | {"locale": row["locale"].replace("_us", "-US")} for row in recordings()]
    write_parquet(tmp_path / "b.parquet", capitals, 2)
    assert {0, 1} <= set(groups_of(open_parquet(tmp_path / "b.parquet"), "en_us"))
    assert index("svq_fi_fi", _only(tmp_path, "a.parquet")).clips == 4


def _only(root: Path, name: str) -> Path:
    folder = root / "only"
    folder.mkdir()
    (root / name).rename(folder / name)
    return folder


def test_the_report_compares_the_queries_of_each_task(tmp_path: Path) -> None:
    """With the numbers that the manifest carries over, and says what an index lacks and which commit was downloaded."""
    build_v1(tmp_path)
    (tmp_path / "salient_term.jsonl").unlink()
    rows = [row for row in PASSAGES if row["id"] != "english-1"]
    write_table(tmp_path / "passage_retrieval_in_lang_index.jsonl", rows)
    noted = tmp_path / ".cache" / "huggingface" / "download" / "audio" / "x.parquet.metadata"
    noted.parent.mkdir(parents=True)
    noted.write_text("0123456789abcdef0123456789abcdef01234567\netag\n1.0\n")
    lines = index("svq_en_us", tmp_path).lines()
    assert "  passage_retrieval_in_lang: 4 queries (3519 published)" in lines
    assert "  query_reranking: 4 queries (3873 published)" in lines
    assert "  passage_retrieval_in_lang_index lacks 1 of 2 relevant documents, the first english-1" in lines
    assert "  downloaded at commit 0123456789abcdef0123456789abcdef01234567 of the hub" in lines
    assert any(line.startswith("  collections: ") and "passages 2" in line for line in lines)
    assert not any("salient_term" in line for line in lines)


def test_the_published_numbers_of_queries_are_carried_over() -> None:
    """26 locales, each with its numbers, which add up to those of the specification."""
    options = [
        source.options
        for name in manifest_names()
        if name.startswith("svq_") and name != "svq_ten"
        for source in [load_manifest(name).source]
        if isinstance(source, IndexedSource)
    ]
    assert len(options) == len({option["locale"] for option in options}) == 26
    sums = [
        sum(int(str(o.get(f"queries_{way}", 0))) for o in options) for way in ("in_lang", "cross_lang", "reranking")
    ]
    assert sums == [73_848, 55_916, 131_923]


def test_what_a_table_names_and_is_not_there_is_missing(tmp_path: Path) -> None:
    """By name; a recording that is no audio is missing too, with the reason."""
    rows = recordings()
    rows[1]["waveform"] = {"bytes": b"RIFF and no more", "path": None}
    write_parquet(tmp_path / "audio.parquet", rows[1:])
    _tables(tmp_path, tasks(rows))
    report = index("svq_en_us", tmp_path)
    assert set(report.missing_names) == {"utt_90", "utt_89"}
    assert any("recording utt_89 is no audio" in note for note in report.notes)


def _spoil(name: str, number: int, **changes: object) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        path = root / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for key, value in changes.items():
            if value is ...:
                del rows[number][key]
            else:
                rows[number][key] = value
        write_table(path, rows)

    return spoil


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "no column": (
        _spoil("query_reranking", 0, candidates=...),
        r"query_reranking.jsonl line 1: .* lacking: candidates",
    ),
    "text for a list": (
        _spoil("query_reranking", 1, candidates="a"),
        "row 2: expected candidates to be a list of texts",
    ),
    "list for a text": (
        _spoil("passage_retrieval_in_lang", 0, passage_id=["a"]),
        "row 1: expected passage_id to be text",
    ),
    "another label": (
        _spoil("query_reranking", 1, utt_id="utt_90", candidates=["x"]),
        "utt_90 is given twice, with another",
    ),
    "one time": (
        _spoil("salient_term", 0, topk_salient_terms_timestamps=[[0.1], [0.2]]),
        "a start and an end in seconds",
    ),
    "backwards": (
        _spoil("salient_term", 0, topk_salient_terms_timestamps=[[0.5, 0.1], [0.2, 0.3]]),
        r"collection terms, row \d+ .*it ends at 0.1 s, before its start at 0.5 s",
    ),
    "NaN time": (
        _spoil("salient_term", 0, topk_salient_terms_timestamps=[[float("nan"), 0.1], [0.2, 0.3]]),
        "expected start to be a finite number or none, got nan",
    ),
    "two texts of one id": (
        _spoil("passage_retrieval_in_lang_index", 0, id="english-0"),
        "collection passages, row 2: the id 'english-0' is given twice",
    ),
    "long text": (
        _spoil("passage_retrieval_in_lang_index", 0, context="x" * (2**20 + 1)),
        "collection passages, row 3: the text has 1048577 bytes, more than 1048576",
    ),
    "no JSON": (lambda root: _append(root / "query_reranking.jsonl", b"{"), "query_reranking.jsonl line 9: no JSON"),
    "no object": (
        lambda root: _append(root / "query_reranking.jsonl", b"[1]"),
        "line 9: expected an object with utt_id",
    ),
    "no UTF-8": (
        lambda root: _append(root / "query_reranking.jsonl", b"\xff\n"),
        "query_reranking.jsonl is no UTF-8 text",
    ),
    "deep JSON": (lambda root: _append(root / "query_reranking.jsonl", b"[" * 100_000), "line 9: no JSON"),
    "no Parquet": (
        lambda root: _append(root / "new.parquet", b"PAR1"),
        "new.parquet is no Parquet file that can be read",
    ),
    "two versions": (build_v2, "the recording utt_.* is in .* and in .*: give a folder with one version"),
}


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.mark.parametrize(("spoil", "complaint"), HOSTILE.values(), ids=HOSTILE)
def test_a_bad_table_is_refused_before_any_audio(tmp_path: Path, spoil: Callable[[Path], None], complaint: str) -> None:
    """One sentence with the file and the row; nothing is stored, and the dataset is not said to be here."""
    build_v1(tmp_path)
    spoil(tmp_path)
    with pytest.raises(DatasetError, match=complaint) as caught:
        index("svq_en_us", tmp_path)
    assert isinstance(caught.value, LayoutError | ManifestError)
    assert len(str(caught.value).splitlines()) == 1
    assert not list((datasets_home() / "svq_en_us").rglob("*.flac"))
    assert not (datasets_home() / "svq_en_us" / "index.json").exists()


def test_an_index_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Nor is a recording that lies elsewhere taken for one of this dataset."""
    (tmp_path / "secret.array_record").write_bytes(array_record([tone(0)]))
    root = tmp_path / "root"
    row = {key: value for key, value in recordings()[0].items() if key != "waveform"}
    places = ("../secret:0", f"{tmp_path}/secret:0", "inside:0", "inside:x", "")
    (root / "x").mkdir(parents=True)
    write_table(root / "utt_index.jsonl", [row | {"utt_id": f"u{n}", "index": p} for n, p in enumerate(places)])
    (root / "inside.array_record").write_bytes(array_record([tone(1)]))
    report = index("svq_en_us", root)
    assert list(open_dataset("svq_en_us").clip_ids()) == ["u2"]
    assert report.missing_names == ("u0", "u1", "u3", "u4")


def test_a_folder_without_the_locale_says_what_was_expected(tmp_path: Path) -> None:
    """Also an empty one."""
    with pytest.raises(
        LayoutError, match="has no recording of sw: expected Parquet files with the columns utt_id, locale"
    ):
        index("svq_sw", tmp_path)
    build_v1(tmp_path)
    with pytest.raises(LayoutError, match="has no recording of sw"):
        index("svq_sw", tmp_path)
    assert Folder(tmp_path).named("utt_index")


_INDEX = """
import sys
from codec_superb.data_manifests.indexing.index import index
index("svq_en_us", sys.argv[1], lambda update: print(update.stage, update.done, flush=True))
"""


@pytest.mark.sample(2, among="what is killed or has no room")
@pytest.mark.parametrize("stage", ["cut 2", "check 4"])
def test_a_killed_indexing_leaves_what_the_next_one_goes_on_with(tmp_path: Path, home: Path, stage: str) -> None:
    """SIGKILL while audio is stored and while it is hashed: no dataset, or the whole one, and no leftovers after."""
    build_v1(tmp_path)
    environment = os.environ | {HOME_VARIABLE: str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _INDEX, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == stage:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    folder = datasets_home() / "svq_en_us"
    if (folder / "index.json").exists():
        assert check("svq_en_us").right
    report = index("svq_en_us", tmp_path)
    assert (report.clips, report.missing) == (4, 0)
    assert check("svq_en_us").right
    assert not [path for path in folder.rglob(".part-*") if path.parent.name == "collections"]
    assert sorted(path.stem for path in (folder / "collections").iterdir()) == sorted(report.collections)


def test_the_ten_public_recordings(index: IndexServer) -> None:
    """The real recordings, served as the repository serves them: the dataset has the hash that its manifest says."""
    if not REAL.is_dir():
        pytest.skip(f"the ten public recordings are not in {REAL}")
    manifest = load_manifest("svq_ten")
    assert isinstance(manifest.source, FilesSource)
    with (REAL / "labels.csv").open(encoding="utf-8", newline="") as file:
        labels = list(csv.DictReader(file))
    rows = [
        {"utt_id": row["path"].removesuffix(".wav"), "speaker_id": row["speaker"], "locale": "en_us",
         "text": row["text"], "speaker_gender": row["speaker_gender"], "speaker_age": int(row["speaker_age"]),
         "environment": row["environment"], "index": f"audio/mini_utts:{number}"}
        for number, row in enumerate(labels)
    ]  # fmt: skip
    contents = {
        "utt_index.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "audio/mini_utts.array_record": array_record([(REAL / row["path"]).read_bytes() for row in labels]),
    }
    served = tuple(index.pin(file.path, contents[file.path]) for file in manifest.source.files)
    source = manifest.source.model_copy(update={"files": served})
    report = prepare_manifest(manifest.model_copy(update={"source": source}))
    assert report.manifest_hash == manifest.source.manifest_hash
    assert (report.clips, report.made, report.seconds) == (10, 10, pytest.approx(46.02))
    dataset = open_dataset("svq_ten")
    assert sum(len((dataset.clip(name).labels.text or "").split()) for name in dataset.clip_ids()) == 60
    assert len({dataset.clip(name).cluster for name in dataset.clip_ids()}) == 3
    assert {dataset.clip(name).slice for name in dataset.clip_ids()} == set(ENVIRONMENTS)
