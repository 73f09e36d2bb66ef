"""The publisher's task tables as labels of recordings and rows of collections.

What belongs to one recording is a label; lists that recordings share (candidates, spans) and texts (contexts) are rows
of collections that a label names. Labels and collections of cross-language tasks end in ``_en``: they look things up in
English texts.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.svq.documents import Documents
from codec_superb.data_manifests.indexers.svq.recordings import Recording
from codec_superb.data_manifests.indexers.svq.tables import Folder, Row, text_of, texts_of

NO_ANSWER = "No Answer"
"""The publisher's span of a question that its passage does not answer."""
WAYS = (("in_lang", ""), ("cross_lang", "_en"))
"""The publisher's name of each way, and the end of its labels and collections."""
_TERMS = {"terms": "topk_salient_terms", "term_candidates": "candidate_salient_terms"}
"""The publisher's column of each collection; its times are in a column of that name with `_timestamps` after it."""
_PAIR = 2


@dataclass(slots=True)
class Tasks:
    """What the tables of one locale say."""

    labels: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Labels by recording."""
    lists: dict[str, dict[str, list[CollectionRow]]] = field(default_factory=lambda: defaultdict(dict))
    """Rows by collection and list; of contexts each list is one row."""
    shared: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    """Texts by collection and list: hundreds of thousands for a locale, which become rows only one by one."""
    documents: dict[str, Documents] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Transcripts of recordings, for those whose own table has none."""
    queries: dict[str, int] = field(default_factory=dict)
    """Recordings of each table, for tables that are there."""
    absent: set[str] = field(default_factory=set)
    """Recordings of the locale that a table names and that are not there."""
    notes: list[str] = field(default_factory=list)

    def collections(self) -> dict[str, Iterable[CollectionRow]]:
        """Return the rows of each collection: lists in the order of their keys, documents in that of their ids."""
        rows: dict[str, Iterable[CollectionRow]] = dict(self.documents)
        rows |= {name: TextLists(lists) for name, lists in self.shared.items()}
        for name, lists in self.lists.items():
            rows[name] = [row for key in sorted(lists) for row in lists[key]]
        return rows


@dataclass(frozen=True, slots=True)
class TextLists(Iterable[CollectionRow]):
    """Lists of texts as rows: the id is the place in the publisher's list; empty texts are left out."""

    lists: Mapping[str, list[str]]

    def __iter__(self) -> Iterator[CollectionRow]:
        """Yield the rows in the order of keys."""
        for key in sorted(self.lists):
            yield from (CollectionRow(str(n), key, "", text) for n, text in enumerate(self.lists[key]) if text.strip())


Take = Callable[[Tasks, str, Row, str], bool]
"""Takes one row of a table, of the recording named second; the last is the row's place, for errors. Returns False for a
row without what the task needs."""


class Table(NamedTuple):
    """One task table of the publisher."""

    name: str
    columns: tuple[str, ...]
    take: Take
    more: tuple[str, ...] = ()
    """Columns that it need not have."""


def _tables() -> Iterator[Table]:
    for way, end in WAYS:
        passage = partial(_relevant, "passage_id", f"passage{end}")
        yield Table(f"passage_retrieval_{way}", ("passage_id",), passage)
        page = partial(_relevant, "page_title", f"page{end}")
        yield Table(f"document_retrieval_{way}", ("page_title",), page)
        spans = ("spans", "span", "page_title", "passage_text")
        yield Table(f"span_reasoning_{way}", spans, partial(_reasoning, end))
    yield Table("query_reranking", ("candidates",), _candidates)
    yield Table("speech_transcription", ("transcript_truth",), _transcript)
    times = tuple(f"{column}_timestamps" for column in _TERMS.values())
    yield Table("salient_term", (_TERMS["terms"], times[0]), _terms, (_TERMS["term_candidates"], times[1]))


def read_tasks(folder: Folder, locale: str, recordings: Mapping[str, Recording]) -> Tasks:
    """Read every task table and index below the folder. Raises LayoutError for a row that makes no sense."""
    tasks = Tasks()
    for table in _tables():
        if folder.named(table.name):
            _read(tasks, folder, locale, recordings, table)
    for way, end in WAYS:
        _take_documents(tasks, folder, f"passage_retrieval_{way}_index", f"passages{end}", "id", f"passage{end}")
        _take_documents(tasks, folder, f"document_retrieval_{way}_small_index", f"pages{end}", "title", f"page{end}")
    return tasks


def _read(tasks: Tasks, folder: Folder, locale: str, recordings: Mapping[str, Recording], table: Table) -> None:
    seen: set[str] = set()
    without = 0
    for _, where, row in folder.rows(table.name, ("utt_id", *table.columns), ("text", *table.more), locale=locale):
        name = text_of(row["utt_id"], where, "utt_id")
        recording = recordings.get(name)
        if recording is None and row.get("locale") is None:
            continue  # of another locale, as its recording says
        seen.add(name)
        if recording is None or recording.file is None:
            tasks.absent.add(name)
            continue
        if text := text_of(row.get("text"), where, "text"):
            tasks.texts.setdefault(name, text)
        without += not table.take(tasks, name, row, where)
    tasks.queries[table.name] = len(seen)
    if without:
        tasks.notes.append(f"{table.name}: {without} rows without what the task needs are left out")


def _relevant(column: str, label: str, tasks: Tasks, name: str, row: Row, where: str) -> bool:
    """Note the relevant document; a recording with several has them one to a line."""
    given = text_of(row[column], where, column)
    known = tasks.labels[name].get(label, "").split("\n")
    if given and given not in known:
        tasks.labels[name][label] = "\n".join([*filter(None, known), given])
    return bool(given)


def _reasoning(end: str, tasks: Tasks, name: str, row: Row, where: str) -> bool:
    title, context = (text_of(row[column], where, column) for column in ("page_title", "passage_text"))
    spans = texts_of(row["spans"], where, "spans")
    if not context.strip() or not any(map(str.strip, spans)):
        return False
    key = _key([title, context])
    _label(tasks, name, f"span{end}", text_of(row["span"], where, "span") or NO_ANSWER, where)
    _label(tasks, name, f"spans{end}", _shared(tasks, f"spans{end}", spans), where)
    _label(tasks, name, f"context{end}", key, where)
    tasks.lists[f"contexts{end}"][key] = [CollectionRow(id=key, title=title, text=context)]
    return True


def _candidates(tasks: Tasks, name: str, row: Row, where: str) -> bool:
    texts = texts_of(row["candidates"], where, "candidates")
    if any(map(str.strip, texts)):
        _label(tasks, name, "candidates", _shared(tasks, "candidates", texts), where)
    return any(map(str.strip, texts))


def _transcript(tasks: Tasks, name: str, row: Row, where: str) -> bool:
    text = text_of(row["transcript_truth"], where, "transcript_truth")
    if text:
        _label(tasks, name, "transcript", text, where)
        tasks.texts.setdefault(name, text)
    return bool(text)


def _terms(tasks: Tasks, name: str, row: Row, where: str) -> bool:
    """Note the terms of one recording, which have their times in it and so belong to no other."""
    for collection, column in _TERMS.items():
        terms = texts_of(row.get(column), where, column)
        times = row.get(f"{column}_timestamps") or []
        # the publisher's own loader leaves out a recording whose terms and times are not as many
        if len(terms) != len(times) or not any(map(str.strip, terms)):
            continue
        pairs = enumerate(zip(terms, times, strict=True))
        rows = [
            CollectionRow(str(n), name, "", term, *_times(pair, where)) for n, (term, pair) in pairs if term.strip()
        ]
        _label(tasks, name, collection, name, where)
        tasks.lists[collection][name] = rows
    return "terms" in tasks.labels[name]


def _times(pair: object, where: str) -> tuple[float, float]:
    if not isinstance(pair, list | tuple) or len(pair) != _PAIR or not all(isinstance(t, int | float) for t in pair):
        raise LayoutError(f"{where}: expected a start and an end in seconds for each term, got {str(pair)[:60]}")
    return float(pair[0]), float(pair[1])


def _label(tasks: Tasks, name: str, label: str, value: str, where: str) -> None:
    """Note a label that a recording has once; the same twice is no harm."""
    if tasks.labels[name].setdefault(label, value) != value:
        raise LayoutError(
            f"{where}: the recording {name} is given twice, with another {label}; download the table again"
        )


def _shared(tasks: Tasks, collection: str, texts: list[str]) -> str:
    """Keep a list of texts, once for all recordings that share it; return its key."""
    key = _key(texts)
    tasks.shared[collection].setdefault(key, texts)
    return key


def _key(texts: list[str]) -> str:
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _take_documents(tasks: Tasks, folder: Folder, table: str, collection: str, id_column: str, label: str) -> None:
    """Take an index whose documents are relevant to a recording of this locale."""
    relevant = {name for labels in tasks.labels.values() if label in labels for name in labels[label].split("\n")}
    if not relevant or not folder.named(table):
        return
    documents = tasks.documents[collection] = Documents(folder, table, id_column)
    if lacking := relevant - documents.ids():
        tasks.notes.append(
            f"{table} lacks {len(lacking)} of {len(relevant)} relevant documents, the first {min(lacking)}"
        )
    if documents.without_text:
        tasks.notes.append(f"{table}: {documents.without_text} documents without text are left out")
