"""Vectors of collections and transcripts: made once, the same after any interruption, failures told."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.pipeline.drive import start
from support.pipeline.killing import finish, killed
from support.pipeline.text_encoders import GIVES_NAN, KILLS, LETTERS, RECORD, REFUSES, vectors_of
from support.profile import amount
from support.timing import PATIENCE_S

from codec_superb.applications.text.tokens import MAX_CHARACTERS
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.predictions import Failure
from codec_superb.pipeline.probing.text_vectors import BLOCK

ROWS = 2 * BLOCK + 3


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty home, and a file that notes each text that is embedded."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(RECORD, str(tmp_path / "record"))
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a dataset of one clip with a collection of documents."""
    place = tmp_path / "set"
    place.mkdir()
    soundfile.write(place / "clip.wav", np.zeros(800), 8000)
    write(place, "pages", [("a page", f"text {word(row)}") for row in range(ROWS)])
    return place


def word(number: int) -> str:
    """Spell a number in letters."""
    return "".join(LETTERS[int(digit)] for digit in str(number))


def write(folder: Path, name: str, documents: list[tuple[str, str]]) -> None:
    """Write a collection of titles and texts."""
    (folder / "collections").mkdir(exist_ok=True)
    with (folder / "collections" / f"{name}.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "title", "text"))
        rows.writerows((str(number), *document) for number, document in enumerate(documents))


def counted(text: str, role: float) -> list[float]:
    """Return what the encoder of the tests must answer."""
    return [*(float(text.lower().count(letter)) for letter in LETTERS), role]


def embedded(home: Path) -> list[str]:
    """Return the texts that any process embedded."""
    record = home.with_name("record")
    return record.read_text().splitlines() if record.exists() else []


@pytest.mark.sample(1, among="vectors of texts")
def test_rows_are_in_the_order_of_the_collection(folder: Path) -> None:
    """Several blocks and a rest; of documents the encoder takes the title along, of others not."""
    with vectors_of(folder, workers=2) as vectors:
        found = vectors.of_collection("pages", "document")
        assert isinstance(found, np.memmap)
        assert found.dtype == np.float32
        expected = [counted(f"a page: text {word(row)}", 2) for row in range(ROWS)]
        np.testing.assert_array_equal(found, expected)
        sentences = vectors.of_collection("pages", "sentence")
        np.testing.assert_array_equal(sentences[7], counted(f"text {word(7)}", 3))


@pytest.mark.sample(2, among="kept vectors of texts")
def test_a_second_codec_embeds_no_document_again(folder: Path, home: Path) -> None:
    """Nor the next command; the transcripts that it shares with the first are not embedded again either."""
    with vectors_of(folder) as vectors:
        first = np.array(vectors.of_collection("pages", "document"))
        vectors.of_texts(["heard", "", "heard"], "query")
        vectors.of_collection("pages", "document")
        assert len(embedded(home)) == ROWS + 2
    with vectors_of(folder) as vectors:
        np.testing.assert_array_equal(vectors.of_collection("pages", "document"), first)
        found = vectors.of_texts(["new", "heard", ""], "query")
        np.testing.assert_array_equal(found, [counted(text, 1) for text in ("new", "heard", "")])
    assert embedded(home)[ROWS + 2 :] == ["new"]


@pytest.mark.sample(2, among="kept vectors of texts")
def test_roles_and_models_are_kept_apart(folder: Path, home: Path) -> None:
    """A text as a query is another input than as a sentence, and another variant is another model."""
    with vectors_of(folder) as vectors:
        assert vectors.of_texts(["x"], "query")[0, -1] == 1
        assert vectors.of_texts(["x"], "sentence")[0, -1] == 3
    with vectors_of(folder, "letters:other") as vectors:
        vectors.of_texts(["x"], "query")
    assert embedded(home) == ["x"] * 3


@pytest.mark.sample(2, among="kept vectors of texts")
def test_a_changed_collection_invalidates_itself_alone(folder: Path, home: Path) -> None:
    """The other one and the transcripts stay."""
    write(folder, "passages", [("", "one"), ("", "two")])
    with vectors_of(folder) as vectors:
        for name in ("pages", "passages"):
            vectors.of_collection(name, "document")
        vectors.of_texts(["heard"], "query")
    before = len(embedded(home))
    write(folder, "passages", [("", "one"), ("", "three")])
    with vectors_of(folder) as vectors:
        np.testing.assert_array_equal(
            vectors.of_collection("passages", "document"), [counted(": one", 2), counted(": three", 2)]
        )
        vectors.of_collection("pages", "document")
        vectors.of_texts(["heard"], "query")
    assert embedded(home)[before:] == [": one", ": three"]


@pytest.mark.sample(2, among="what is killed or has no room")
def test_killed_at_any_moment_it_goes_on_with_the_same_rows(folder: Path, home: Path) -> None:
    """Blocks that were finished are not made again, and nothing is left over."""
    order = {
        "stage": "embed", "out": str(folder), "encoder": "letters:slow", "collection": "pages",
        "texts": [f"heard {word(number)}" for number in range(BLOCK + 5)],
    }  # fmt: skip
    moments = random.Random(5)
    for _ in range(amount(2, 20)):
        killed(order, moments, 0.4)
    finish(order)
    with vectors_of(folder, "letters:slow") as vectors:
        count = len(embedded(home))
        expected = [counted(f"a page: text {word(row)}", 2) for row in range(ROWS)]
        np.testing.assert_array_equal(vectors.of_collection("pages", "document"), expected)
        np.testing.assert_array_equal(
            vectors.of_texts(order["texts"], "query"), [counted(text, 1) for text in order["texts"]]
        )
        assert len(embedded(home)) == count
    left = [path.name for path in (home / "text_vectors").rglob("*") if path.is_dir() or ".part-" in path.name]
    assert sorted(name for name in left if not name.startswith("texts-"))[1:] == []


@pytest.mark.sample(1, among="vectors of texts")
def test_two_processes_at_once_embed_each_text_once(folder: Path, home: Path) -> None:
    """The second one waits for the first and takes its vectors."""
    order = {
        "stage": "embed", "out": str(folder), "encoder": "letters:slow", "collection": "pages", "texts": ["a", "b"],
    }  # fmt: skip
    with start(**order) as one, start(**order) as other:
        for process in (one, other):
            _, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, errors
    assert len(embedded(home)) == len(set(embedded(home))) == ROWS + 2


@pytest.mark.sample(2, among="kept vectors of texts")
def test_a_damaged_file_is_made_again(folder: Path) -> None:
    """Cut off as by a full disk, or of another format: never a wrong row, never a pickle."""
    with vectors_of(folder) as vectors:
        first = np.array(vectors.of_collection("pages", "document"))
        vectors.of_texts(["heard"], "query")
    files = sorted((codec_superb_home() / "text_vectors").rglob("*.npy"))
    assert len(files) == 2
    for number, file in enumerate(files):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if number else b"no array")
    with vectors_of(folder) as vectors:
        np.testing.assert_array_equal(vectors.of_collection("pages", "document"), first)
        np.testing.assert_array_equal(vectors.of_texts(["heard"], "query"), [counted("heard", 1)])


@pytest.mark.sample(1, among="vectors of texts")
@pytest.mark.sample(1)
@pytest.mark.parametrize("spec", ["letters", "largeletters"])
def test_a_text_that_fails_costs_itself_alone(folder: Path, home: Path, spec: str) -> None:
    """Refused, not a number, too long, half a pair, or deadly for the worker: the others have their vectors."""
    bad = [f"x {REFUSES}", f"x {GIVES_NAN}", "x" * 10_000_000, "half \ud83d", f"x {KILLS}"]
    with vectors_of(folder, spec) as vectors:
        answers = vectors.answers(["one", *bad, "", "two"], "query")
        np.testing.assert_array_equal(answers[0], counted("one", 1))
        np.testing.assert_array_equal(answers[-2:], [counted("", 1), counted("two", 1)])
        reasons = [answer.reason for answer in answers[1:-2] if isinstance(answer, Failure)]
        assert reasons[:2] == [
            "PredictionFailed: refused for a test",
            "PredictionFailed: expected finite numbers from the model, got 1 NaN or infinite of 27",
        ]
        assert f"at most {MAX_CHARACTERS} characters, got 10000000" in reasons[2]
        assert "half a surrogate pair" in reasons[3]
        assert "SIGKILL" in reasons[4]
        before = len(embedded(home))
        vectors.answers(["one", "two", ""], "query")
        assert len(embedded(home)) == before
        with pytest.raises(PipelineError, match=r"has no vector of 'x refused': .*refused for a test"):
            vectors.of_texts(["one", bad[0]], "query")


@pytest.mark.sample(1, among="vectors of texts")
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "reason"), [(REFUSES, "refused for a test"), (GIVES_NAN, "got 1 NaN"), (KILLS, "SIGKILL")]
)
def test_a_document_without_a_vector_is_named(folder: Path, text: str, reason: str) -> None:
    """A search without it would give other ranks: an error that says which."""
    write(folder, "pages", [("", "fine")] * 3 + [("", f"is {text}")] + [("", "fine")] * 3)
    with vectors_of(folder) as vectors, pytest.raises(PipelineError, match=rf"no vector of '3' in .*pages: .*{reason}"):
        vectors.of_collection("pages", "document")


@pytest.mark.sample(2, among="kept vectors of texts")
def test_vectors_of_two_lengths_are_refused(folder: Path) -> None:
    """Between blocks, and between today and before."""
    write(folder, "pages", [("", "one")] * BLOCK + [("", "one two")])
    with vectors_of(folder, "lengths") as vectors:
        with pytest.raises(PipelineError, match="expected 257 vectors of one length, got lengths"):
            vectors.of_collection("pages", "sentence")
        vectors.of_texts(["one"], "query")
        with pytest.raises(PipelineError, match="expected vectors of 1 numbers, as the model gave before, got 2"):
            vectors.of_texts(["one two"], "query")
